#include "base/log.h"

#include <fmt/chrono.h>
#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/json_writer.h"
#include "base/log_ring.h"
#include "base/log_room.h"
#include "base/time.h"

namespace hookd::log {
namespace {

std::atomic<Level> g_level{Level::kInfo};
std::atomic<Format> g_format{Format::kText};
std::shared_ptr<spdlog::logger> g_logger;
std::mutex g_tap_mutex;
Tap g_tap;
Ring* g_ring = nullptr;  // under the mutex too
std::atomic<uint64_t> g_left_out{0};
std::atomic<uint64_t> g_told{0};

constexpr std::string_view kNames[] = {"debug", "info", "warn", "error"};

std::string_view name_of(Level level) { return kNames[static_cast<size_t>(level)]; }

std::string json_line(Level level, std::string_view message, std::span<const Field> fields) {
  JsonWriter out;
  out.begin_object();
  out.key("time").string(format_rfc3339(std::chrono::system_clock::now(), 3));
  out.key("level").string(name_of(level));
  out.key("msg").string(message);
  for (const Field& field : fields) {
    out.key(field.key);
    if (auto* text = std::get_if<std::string>(&field.value))
      out.string(*text);
    else if (auto* number = std::get_if<int64_t>(&field.value))
      out.number(*number);
    else if (auto* real = std::get_if<double>(&field.value))
      out.number(*real);
    else if (auto* flag = std::get_if<bool>(&field.value))
      out.boolean(*flag);
    else
      out.raw(std::get<Field::Raw>(field.value).json);
  }
  out.end_object();
  return std::move(out).take();
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](unsigned char c) {
           return c <= 0x20 || c == 0x7f || c == '"' || c == '=' || c == '\\';
         });
}

// A message may have lines of its own; whatever else could steer a terminal is shown, not sent.
void append_message(std::string& line, std::string_view message) {
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
}

std::string_view hook_of(std::span<const Field> fields) {
  for (const Field& field : fields)
    if (field.key == "hook")
      if (const auto* text = std::get_if<std::string>(&field.value)) return *text;
  return {};
}

std::string text_line(Level level, std::string_view message, std::span<const Field> fields) {
  std::string line = fmt::format("{} {:5} ", format_rfc3339(std::chrono::system_clock::now(), 3), name_of(level));
  append_message(line, message);
  for (const Field& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    if (auto* text = std::get_if<std::string>(&field.value)) {
      if (needs_quotes(*text))
        append_json_string(line, *text);
      else
        line += *text;
    } else if (auto* number = std::get_if<int64_t>(&field.value)) {
      line += std::to_string(*number);
    } else if (auto* real = std::get_if<double>(&field.value)) {
      line += fmt::format("{:.6g}", *real);
    } else if (auto* flag = std::get_if<bool>(&field.value)) {
      line += *flag ? "true" : "false";
    } else {
      line += std::get<Field::Raw>(field.value).json;
    }
  }
  return line;
}

uint64_t say_lost() {
  const uint64_t lost = lost_lines();
  const uint64_t news = lost - g_told.exchange(lost);
  if (news > 0)
    warn("log lines are missing here: they came faster than stderr takes them",
         {{"lines", news}, {"room", kQueueRecords}});
  return news;
}

}  // namespace

bool room_for_chatter() {
  if (!g_logger || spdlog::thread_pool()->queue_size() < kQueueRecords / 2) return true;
  ++g_left_out;
  return false;
}

uint64_t lost_lines() { return g_left_out + (g_logger ? spdlog::thread_pool()->overrun_counter() : 0); }

uint64_t tell_lost() { return g_logger && spdlog::thread_pool()->queue_size() < kQueueRecords / 4 ? say_lost() : 0; }

void start(const Options& options) {
  g_level = options.level;
  g_format = options.format;
  g_left_out = g_told = 0;
  spdlog::init_thread_pool(kQueueRecords, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  g_logger = std::make_shared<spdlog::async_logger>("hookd", std::move(sink), spdlog::thread_pool(),
                                                    spdlog::async_overflow_policy::overrun_oldest);
  g_logger->set_pattern("%v");
  g_logger->flush_on(spdlog::level::trace);
}

void shutdown() {
  say_lost();
  g_logger.reset();
  spdlog::shutdown();  // joins the writer after it has written what is queued
}

void set_level(Level level) { g_level = level; }

void set_tap(Tap tap) {
  std::lock_guard lock(g_tap_mutex);
  g_tap = std::move(tap);
}

void set_ring(Ring* ring) {
  std::lock_guard lock(g_tap_mutex);
  g_ring = ring;
}

void write(Level level, std::string_view message, std::span<const Field> fields) {
  if (level < g_level) return;
  const std::string line =
      g_format == Format::kJson ? json_line(level, message, fields) : text_line(level, message, fields);
  {
    std::lock_guard lock(g_tap_mutex);
    if (g_ring) g_ring->add(g_format == Format::kJson ? line : json_line(level, message, fields), hook_of(fields));
    if (g_tap) {
      g_tap(level, line);
      return;
    }
  }
  if (g_logger)
    g_logger->info("{}", line);
  else
    fmt::print(stderr, "{}\n", line);
}

bool parse_level(std::string_view text, Level& level) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "warning") lower = "warn";
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (lower == kNames[i]) {
      level = static_cast<Level>(i);
      return true;
    }
  }
  return false;
}

}  // namespace hookd::log
