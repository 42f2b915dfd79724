#include "config/guard.h"

#include <charconv>

#include "base/time.h"
#include "config/reader.h"

namespace hookd::config {
namespace {

constexpr int64_t kMost = 1'000'000;
constexpr Duration kShortest = std::chrono::seconds(1);
constexpr Duration kLongest = std::chrono::hours(24);
constexpr std::string_view kExpected = "expected COUNT/TIME such as 20/1m";

}  // namespace

Result<Guard::Rate> parse_rate(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos)
    return fail(Errc::kConfig, "\"{}\" does not say within which time; {}", text, kExpected);
  const std::string_view number = text.substr(0, slash);
  Guard::Rate rate;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rate.count);
  if (error != std::errc() || end != number.data() + number.size())
    return fail(Errc::kConfig, "\"{}\" is no number of operations; {}", number, kExpected);
  if (rate.count == 0)
    return fail(Errc::kConfig, "0 would let nothing through; what a hook may do at all stands in `allow`; {}",
                kExpected);
  if (rate.count < 0 || rate.count > kMost)
    return fail(Errc::kConfig, "{} is out of range; expected a count from 1 to {}", rate.count, kMost);
  const auto per = parse_duration(text.substr(slash + 1));
  if (!per)
    return fail(Errc::kConfig, "\"{}\" is no time: {}; {}", text.substr(slash + 1), per.error().what, kExpected);
  if (*per < kShortest || *per > kLongest)
    return fail(Errc::kConfig, "{} is out of range; expected a time from {} to {}", text.substr(slash + 1),
                format_duration(kShortest), format_duration(kLongest));
  rate.per = *per;
  return rate;
}

namespace {

void read_rate(Reader& r, std::string_view key, std::optional<Guard::Rate>& out) {
  const Node* node = r.raw(key);
  if (node == nullptr) return;
  if (node->kind != Node::Kind::kString && node->kind != Node::Kind::kInt)
    return r.problem(key, fmt::format("{}, found {}", kExpected, node->describe()));
  auto rate = parse_rate(node->text);
  if (rate)
    out = *rate;
  else
    r.problem(key, rate.error().what);
}

}  // namespace

void read_guard(Reader& section, Guard& out) {
  auto r = section.map("guard");
  if (!r) return;
  read_rate(*r, "deletes", out.deletes);
  read_rate(*r, "writes", out.writes);
  if (r->is_map() && !r->has("deletes") && !r->has("writes"))
    r->problem_here("sets no limit; give deletes or writes, or take the guard away");
  r->finish();
}

}  // namespace hookd::config
