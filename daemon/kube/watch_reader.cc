#include "kube/watch_reader.h"

#include "base/json_read.h"

namespace hookd::kube {

Result<void> WatchReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (value_.empty()) {
      const size_t skip = bytes.find_first_not_of(" \t\r\n");
      if (skip == std::string_view::npos) return {};
      bytes.remove_prefix(skip);
      scanner_.reset();
    }
    const auto used = scanner_.feed(bytes);
    if (!used)
      return fail(Errc::kDecode, "the watch stream is not JSON after {} events: {}: \"{}\"", events_, used.error().what,
                  bytes.substr(0, 60));
    if (value_.size() + *used > max_event_bytes_)
      return fail(Errc::kTooLarge, "a watch event is over {} bytes", max_event_bytes_);
    value_ += bytes.substr(0, *used);
    bytes.remove_prefix(*used);
    if (scanner_.done()) {
      HOOKD_CHECK(event_read());
      if (value_.capacity() > (1u << 20))
        value_ = {};  // one huge event must not cost its memory for ever
      else
        value_.clear();
    }
  }
  return {};
}

Result<void> WatchReader::event_read() {
  static constexpr std::pair<std::string_view, WatchEvent::Type> kTypes[] = {
      {"\"ADDED\"", WatchEvent::Type::kAdded},
      {"\"MODIFIED\"", WatchEvent::Type::kModified},
      {"\"DELETED\"", WatchEvent::Type::kDeleted},
      {"\"BOOKMARK\"", WatchEvent::Type::kBookmark},
      {"\"ERROR\"", WatchEvent::Type::kError}};
  const auto type = json_raw_at(value_, {"type"});
  const auto object = json_raw_at(value_, {"object"});
  if (!type || !object || object->empty() || object->front() != '{')
    return fail(Errc::kDecode, "not a watch event: {}", std::string_view(value_).substr(0, 200));
  const auto known = std::ranges::find(kTypes, *type, [](const auto& entry) { return entry.first; });
  if (known == std::end(kTypes)) return fail(Errc::kDecode, "unknown watch event type {}", type->substr(0, 40));
  ++events_;
  WatchEvent event;
  event.type = known->second;
  event.object.reserve(object->size() + 128);  // room for what read_object puts in and for simdjson's padding
  event.object = *object;
  return on_event_(std::move(event));
}

}  // namespace hookd::kube
