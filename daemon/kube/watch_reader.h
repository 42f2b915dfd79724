// Takes a watch stream apart: concatenated JSON values in pieces of any size. Thread: loop only.
// Source: k8s-client.md R21-R24, R27.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json_scanner.h"
#include "base/result.h"

namespace hookd::kube {

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  std::string object;  // its text; for kError a Status
};

class WatchReader {
 public:
  // An error from `on_event` ends the reading.
  using OnEvent = std::function<Result<void>(WatchEvent event)>;
  WatchReader(OnEvent on_event, size_t max_event_bytes)
      : on_event_(std::move(on_event)), max_event_bytes_(max_event_bytes) {}

  // Errors: kDecode (not JSON, unknown type, no object), kTooLarge. A partial value at the end of the stream is a
  // normal disconnect and simply dropped.
  Result<void> feed(std::string_view bytes);
  size_t events() const { return events_; }

 private:
  Result<void> event_read();

  OnEvent on_event_;
  size_t max_event_bytes_;
  JsonScanner scanner_;
  std::string value_;
  size_t events_ = 0;
};

}  // namespace hookd::kube
