// A hook's stderr lines in the daemon's log. Thread: loop only. Source: product.md section 3.
#pragma once

#include <string>
#include <string_view>

namespace hookd::hook {

struct LogContext {
  std::string hook;
  std::string binding;  // "" = of several calls, or of none: not in the log then
  std::string call_id;
};

// A line that is a JSON object keeps its level (`level` or `severity`: debug, info, warn, error, fatal, …), its message
// (`msg` or `message`) and its other fields; any other line is a message of level info.
void log_hook_line(const LogContext& context, std::string_view line);
// Each line of a text, the first kMaxTextLines of them.
void log_hook_text(const LogContext& context, std::string_view text);
void note_left_out(const LogContext& context, size_t lines);  // more than kMaxTextLines: said once

inline constexpr size_t kMaxTextLines = 1000;  // of one call, to the log

}  // namespace hookd::hook
