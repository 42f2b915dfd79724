// Checks that several groups of kinds share. Thread: any.
#pragma once

#include "embedded/resources/fields.h"
#include "embedded/resources/resource.h"

namespace hookd::embedded {

// 3 or "30%", not negative.
void check_count_or_percent(const json::value* value, const std::string& path, Complaints& complaints);
// The spec of a PersistentVolumeClaim, also as a template.
void check_claim_spec(const json::object& spec, const std::string& path, Complaints& complaints);
// The spec of a Job, also as a CronJob's template.
void check_job_spec(const json::object& spec, const std::string& path, bool is_template, Complaints& complaints);
// The name of the class that is taken where none is named: of those with one of the annotations "true" the newest, of
// those the first by name. "" = there is none.
std::string default_class(std::string_view storage_key, std::initializer_list<std::string_view> annotations,
                          const WriteContext& context);

}  // namespace hookd::embedded
