#include "reconcile/warning.h"

namespace hookd::reconcile {

apply::EventNote warning(std::string_view hook, const kube::ResourceType& type, const cache::Identity& parent,
                         std::string_view reason, std::string message) {
  apply::EventNote note;
  note.api_version = type.api_version();
  note.kind = type.kind;
  note.ns = parent.ns;
  note.name = parent.name;
  note.uid = parent.uid;
  note.reason = std::string(reason);
  note.message = std::move(message);
  note.type = "Warning";
  note.hook = std::string(hook);
  return note;
}

}  // namespace hookd::reconcile
