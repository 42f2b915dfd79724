#include "hook/worker_line.h"

#include <algorithm>

#include "apply/json_text.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace hookd::hook {
namespace {

constexpr size_t kErrorBytes = 1000;  // of a worker's own text, in log and status
constexpr size_t kKeepBytes = 1u << 20;

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

Reply failed(std::string why) {
  Reply reply;
  reply.why = std::move(why);
  return reply;
}

// `later`: true, or the least delay as a text. Errors: kInvalid.
Result<Duration> read_later(std::string_view value) {
  if (value == "true") return Duration::zero();
  const auto text = apply::json_text_of(value);
  if (!text)
    return fail(Errc::kInvalid, "\"later\" must be true or a text such as \"20s\", not {}", value.substr(0, 80));
  return parse_duration(*text);
}

// A line with an `error`, `later` or `permanent` that counts: no answer.
Reply no_answer(const std::vector<apply::Member>& members) {
  const auto value = [&](std::string_view key) {
    const apply::Member* member = apply::find_member(members, key);
    return member ? member->value : std::string_view();
  };
  for (const auto& [key, unused] : members)
    if (key != "id" && key != "error" && key != "later" && key != "permanent")
      return failed(fmt::format(
          "the worker's line has both an error and \"{}\", nothing was applied: an answer has no error, later or "
          "permanent",
          key));
  Reply reply;
  const std::string_view error = value("error");
  if (!error.empty() && error != "null")
    reply.why = apply::json_text_of(error).value_or(std::string(error)).substr(0, kErrorBytes);
  const std::string_view later = value("later"), permanent = value("permanent");
  if (permanent == "true") {
    reply.kind = Reply::Kind::kRefused;
    reply.result = "refused";
    reply.why = "the hook gave up on this event for good" + (reply.why.empty() ? "" : ": " + reply.why);
  } else if (!later.empty() && later != "false" && later != "null") {
    const auto delay = read_later(later);
    if (!delay) return failed(delay.error().what);
    reply.kind = Reply::Kind::kLater;
    reply.result = "later";
    reply.at_least = *delay;
    reply.why = "the hook asked to be called again later" + (reply.why.empty() ? "" : ": " + reply.why);
  } else if (reply.why.empty()) {
    reply.why = "the worker answered with an error without a text";
  }
  return reply;
}

bool counts(std::string_view value) { return !value.empty() && value != "null" && value != "false"; }

}  // namespace

WorkerLine read_worker_line(std::string_view line) {
  using Kind = WorkerLine::Kind;
  WorkerLine read;
  line = trim(line);
  if (line.empty()) {
    read.kind = Kind::kEmpty;
    return read;
  }
  if (line.front() != '{') {
    read.kind = line.front() == '[' ? Kind::kBroken : Kind::kText;
    if (line.front() == '[') read.problem = "a list is no answer: one object a line was expected";
    return read;
  }
  read.kind = Kind::kBroken;
  const auto members = apply::json_members(line);
  if (!members) {
    read.problem = members.error().what;
    read.id = leading_id(line);
    return read;
  }
  const apply::Member* id = apply::find_member(*members, "id");
  const apply::Member* ready = apply::find_member(*members, "ready");
  if (!id) {
    if (ready && members->size() == 1 && ready->value == "true")
      read.kind = Kind::kReady;
    else
      read.problem = R"(it has no "id": an answer carries the id of its call)";
    return read;
  }
  const auto text = apply::json_text_of(id->value);
  if (!text) {
    read.problem = "its \"id\" is no text";
    return read;
  }
  read.kind = Kind::kReply;
  read.id = *text;
  bool error = false;
  for (const auto& [key, value] : *members)
    error |= (key == "error" && value != "null") || ((key == "later" || key == "permanent") && counts(value));
  if (error) {
    read.reply = no_answer(*members);
    return read;
  }
  read.reply.kind = Reply::Kind::kAnswered;
  JsonWriter out;
  out.begin_object();
  for (const auto& [key, value] : *members)
    if (key != "id" && key != "error" && key != "later" && key != "permanent") out.key(key).raw(value);
  out.end_object();
  read.reply.text = std::move(out).take();
  return read;
}

std::string leading_id(std::string_view beginning) {
  const auto take = [&](std::string_view what) {
    const size_t first = beginning.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || !beginning.substr(first).starts_with(what)) return false;
    beginning.remove_prefix(first + what.size());
    return true;
  };
  if (!take("{") || !take("\"id\"") || !take(":") || !take("\"")) return {};
  const size_t end = beginning.find('"');
  if (end == std::string_view::npos) return {};
  const std::string_view id = beginning.substr(0, end);
  return id.find('\\') == std::string_view::npos ? std::string(id) : std::string();
}

void WorkerLines::feed(std::string_view piece, const Sink& line, const Sink& too_long) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    const bool whole = end != std::string_view::npos;
    piece.remove_prefix(whole ? end + 1 : part.size());
    if (skipping_) {
      skipping_ = !whole;
      continue;
    }
    if (pending_.size() + part.size() > limit_) {
      std::string beginning = std::exchange(pending_, {});
      beginning.resize(std::min(beginning.size(), kBeginning));
      beginning += part.substr(0, kBeginning - beginning.size());
      skipping_ = !whole;
      if (!too_long(beginning)) return;
      continue;
    }
    if (!whole) {
      pending_ += part;
    } else if (pending_.empty()) {
      if (!line(part)) return;
    } else {
      std::string all = std::exchange(pending_, {});
      all += part;
      if (!line(all)) return;
      all.clear();
      if (all.capacity() <= kKeepBytes && pending_.empty()) pending_ = std::move(all);
    }
  }
}

}  // namespace hookd::hook
