#include "reconcile/warning.h"

namespace hookd::reconcile {

std::string cut_message(std::string message) {
  if (message.size() <= kMessageBytes) return message;
  size_t end = kMessageBytes;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0) == 0x80) --end;
  message.resize(end);
  return message + "…";
}

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
