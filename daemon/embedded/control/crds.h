// CustomResourceDefinitions come and go: their names are accepted, their kinds served, and when one is deleted its
// objects go first. Thread: loop only.
// Source: API docs "Custom resources: CustomResourceDefinition"; conditions, reasons and the order of writes as
// apiextensions-apiserver 1.36 makes them.
//
//   created     ─► NamesAccepted True, Established False (Installing) ─► Established True ─► served
//   a name used ─► NamesAccepted False, its accepted names stay as they were
//   deleted     ─► Terminating True, objects deleted ─► none left: finalizer taken away ─► not served
#pragma once

#include <functional>
#include <map>
#include <string>

#include "embedded/control/context.h"
#include "embedded/control/work_queue.h"

namespace hookd::embedded::control {

class Crds {
 public:
  // Told when the versions that serve a kind were removed or replaced: open watches of it end.
  using KindChanged = std::function<void(std::string_view storage_key)>;

  Crds(const Context& context, KindChanged kind_changed);

  void run_all() { queue_.run_all(); }
  bool settled() const { return queue_.settled(); }

 private:
  struct Served {
    std::string group, plural;
    std::string look;                            // everything of the CRD that matters to what is served, as text
    std::map<std::string, std::string> schemas;  // by version
    bool coerce = false;
  };

  void on_event(const StoreEvent& event);
  void sync(const std::string& name);
  // Each returns the CRD as it is after what it did; an empty one if it is gone.
  json::object accept_names(const std::string& name, json::object crd);
  json::object establish(const std::string& name, json::object crd);
  void finish(const std::string& name, const json::object& crd);
  void serve(const std::string& name, const json::object& crd);
  void stop_serving(const std::string& name);
  void reconsider_group(const std::string& name, std::string_view group);
  json::object write_status(const std::string& name, const json::object& status);

  Context context_;
  KindChanged kind_changed_;
  std::map<std::string, Served> served_;       // by the CRD's name
  std::map<std::string, std::string> ending_;  // storage key -> name of a CRD whose objects are being deleted
  std::map<std::string, std::string> groups_;  // name -> group, also of what is gone
  WorkQueue<std::string> queue_;
  Store::Subscription events_;
};

}  // namespace hookd::embedded::control
