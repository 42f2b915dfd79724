// Checks that several groups of kinds share. Thread: any.
#pragma once

#include "embedded/resources/fields.h"

namespace hookd::embedded {

// 3 or "30%", not negative.
void check_count_or_percent(const json::value* value, const std::string& path, Complaints& complaints);
// The spec of a PersistentVolumeClaim, also as a template.
void check_claim_spec(const json::object& spec, const std::string& path, Complaints& complaints);
// The spec of a Job, also as a CronJob's template.
void check_job_spec(const json::object& spec, const std::string& path, bool is_template, Complaints& complaints);

}  // namespace hookd::embedded
