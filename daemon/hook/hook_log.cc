#include "hook/hook_log.h"

#include <algorithm>
#include <vector>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/log_room.h"
#include "process/line_splitter.h"

namespace hookd::hook {
namespace {

constexpr size_t kMaxFields = 64;

log::Level level_of(std::string_view text) {
  log::Level level = log::Level::kInfo;
  if (log::parse_level(text, level)) return level;
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower == "fatal" || lower == "panic" || lower == "critical" || lower == "crit" || lower == "alert" ||
      lower.starts_with("emerg") || lower == "err")
    return log::Level::kError;
  if (lower == "trace") return log::Level::kDebug;
  return level;
}

// pino and bunyan write numbers: 10 trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal.
log::Level level_of_number(std::string_view raw) {
  if (raw == "10" || raw == "20") return log::Level::kDebug;
  if (raw == "40") return log::Level::kWarn;
  if (raw == "50" || raw == "60") return log::Level::kError;
  return log::Level::kInfo;
}

}  // namespace

void log_hook_line(const LogContext& context, std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  if (line.empty() || !log::room_for_chatter()) return;
  log::Level level = log::Level::kInfo;
  std::string message(line);
  std::vector<log::Field> fields{{"hook", context.hook}};
  if (!context.binding.empty()) fields.emplace_back("binding", context.binding);
  if (!context.call_id.empty()) fields.emplace_back("call", context.call_id);
  std::vector<apply::Member> members;
  if (line.front() == '{' && is_utf8(line))
    if (auto read = apply::json_members(line)) members = *std::move(read);
  if (!members.empty()) {
    const apply::Member* text = apply::find_member(members, "msg");
    if (!text) text = apply::find_member(members, "message");
    message = text ? apply::json_text_of(text->value).value_or(std::string(text->value)) : "(no message)";
    for (const auto& member : members) {
      const auto& [key, value] = member;
      if (key == "level" || key == "severity") {
        const auto word = apply::json_text_of(value);
        level = word ? level_of(*word) : level_of_number(value);
      } else if (&member == text || key == "msg" || key == "time" || key == "hook" || key == "binding" ||
                 key == "call") {
        continue;  // ours win
      } else if (fields.size() < kMaxFields) {
        fields.emplace_back(std::string_view(key), log::Field::Raw{std::string(value)});
      }
    }
  }
  log::write(level, message, fields);
}

void log_hook_text(const LogContext& context, std::string_view text) {
  if (text.empty()) return;
  size_t count = 0;
  process::LineSplitter lines([&](std::string_view line) {
    if (++count <= kMaxTextLines) log_hook_line(context, line);
  });
  lines.feed(text);
  lines.finish();
  note_left_out(context, count);
}

void note_left_out(const LogContext& context, size_t lines) {
  if (lines > kMaxTextLines)
    log::warn("too much text from a hook, the rest is not logged",
              {{"hook", context.hook}, {"call", context.call_id}, {"lines", lines}, {"limit", kMaxTextLines}});
}

}  // namespace hookd::hook
