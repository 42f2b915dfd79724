// The parts of a native hook that say when it runs and what it may do. Every reader reports into its Reader's
// Problems; what it returns is only meant for use if nothing was reported. Thread: any.
#pragma once

#include <optional>
#include <vector>

#include "config/reader.h"
#include "hook/model.h"
#include "hook/native_loader.h"

namespace hookd::hook {

// The maps of a spec that declare bindings, each reported once if it is none.
struct BindingReaders {
  explicit BindingReaders(config::Reader& spec)
      : watch(spec.maps("watch")),
        schedule(spec.maps("schedule")),
        source(spec.maps("source")),
        startup(spec.map("startup")) {}
  std::vector<config::Reader> watch;
  std::vector<config::Reader> schedule;
  std::vector<config::Reader> source;  // read by native_source.h
  std::optional<config::Reader> startup;
};

void read_bindings(BindingReaders& readers, const CronCheck& cron_check, Hook& out);
std::optional<std::vector<apply::AllowRule>> read_allow(config::Reader& spec);

// ---- keys that several kinds of binding have
void read_binding_name(config::Reader& r, std::string& name);
// `apiVersion`: "v1", "apps/v1"; with `stars` also "apps/*" and "*".
void read_api_version(config::Reader& r, std::string& out, bool stars);
void read_kind(config::Reader& r, std::string& out, bool star);
void read_label_selector(config::Reader& r, std::optional<cache::LabelSelector>& out);
void read_namespaces(config::Reader& r, Namespaces& out);  // {names, labelSelector}
void read_object_names(config::Reader& r, std::string_view key, std::vector<std::string>& out, bool are_namespaces);
void read_filter(config::Reader& r, std::string_view key, std::shared_ptr<const filter::Filter>& out);

// Names are unique over all bindings and every include names a watch. For a hook from read_bindings.
void check_bindings(BindingReaders& readers, const Hook& hook);

}  // namespace hookd::hook
