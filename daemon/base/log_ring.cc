#include "base/log_ring.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::log {

void Ring::add(std::string json, std::string_view hook) {
  if (json.size() > limits_.line_bytes) {
    JsonWriter out;
    out.begin_object();
    for (const char* key : {"time", "level"}) out.key(key).string(json_string_at(json, {key}).value_or(""));
    out.key("msg").string(fmt::format("(a line of {} bytes, which is in the daemon's own log alone)", json.size()));
    if (!hook.empty()) out.key("hook").string(hook);
    json = std::move(out.end_object()).take();
  }
  std::lock_guard lock(mutex_);
  bytes_ += json.size() + hook.size();
  lines_.push_back({++number_, std::move(json), std::string(hook)});
  while (lines_.size() > limits_.lines || (bytes_ > limits_.bytes && lines_.size() > 1)) {
    bytes_ -= lines_.front().json.size() + lines_.front().hook.size();
    lines_.pop_front();
  }
}

std::vector<Ring::Line> Ring::after(uint64_t number, size_t most) const {
  std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(lines_, number, {}, &Line::number);
  const auto count = std::min<size_t>(most, static_cast<size_t>(lines_.end() - first));
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Ring::Line> Ring::last(size_t count, std::string_view hook) const {
  std::lock_guard lock(mutex_);
  std::vector<Line> found;
  for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < count; ++line)
    if (hook.empty() || line->hook == hook) found.push_back(*line);
  std::ranges::reverse(found);
  return found;
}

uint64_t Ring::newest() const {
  std::lock_guard lock(mutex_);
  return number_;
}

}  // namespace hookd::log
