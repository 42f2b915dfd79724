// The structured log: one line a record, JSON or text, on stderr. Writing never blocks the loop: a full queue
// drops the oldest records and counts them. Thread: any.
//   log::warn("watch failed", {{"hook", name}, {"error", error.what}});
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace hookd::log {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Field {
  struct Raw {
    std::string json;  // spliced in as it is: must be a JSON value
  };
  template <class T>
  Field(std::string_view k, T&& v) : key(k), value(make(std::forward<T>(v))) {}
  std::string_view key;
  std::variant<std::string, int64_t, double, bool, Raw> value;

 private:
  template <class T>
  static decltype(value) make(T&& v) {
    using U = std::decay_t<T>;
    if constexpr (std::is_same_v<U, bool> || std::is_same_v<U, Raw>)
      return std::forward<T>(v);
    else if constexpr (std::is_floating_point_v<U>)
      return static_cast<double>(v);
    else if constexpr (std::is_integral_v<U>)
      return static_cast<int64_t>(v);
    else
      return std::string(std::forward<T>(v));
  }
};

enum class Format { kText, kJson };

struct Options {
  Level level = Level::kInfo;
  Format format = Format::kText;
};

// Starts the writer; before it (and in tests) records go to stderr at once. shutdown() writes what is queued.
void start(const Options& options);
void shutdown();
void set_level(Level level);

// Tests look at records through this; an empty function takes it away.
using Tap = std::function<void(Level, std::string_view line)>;
void set_tap(Tap tap);

// What was logged last, for those who ask a running daemon (base/log_ring.h); nullptr takes it away. It hears what the
// level lets through, as JSON whatever the format, and of every record, tapped or not.
void set_ring(class Ring* ring);

using Fields = std::initializer_list<Field>;
void write(Level level, std::string_view message, std::span<const Field> fields);
inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::kDebug, message, {fields.begin(), fields.size()});
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::kInfo, message, {fields.begin(), fields.size()});
}
inline void warn(std::string_view message, Fields fields = {}) {
  write(Level::kWarn, message, {fields.begin(), fields.size()});
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::kError, message, {fields.begin(), fields.size()});
}

// "debug", "info", "warn" (or "warning"), "error" in any case; false if it is none of them.
bool parse_level(std::string_view text, Level& level);

}  // namespace hookd::log
