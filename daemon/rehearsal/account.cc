#include "rehearsal/account.h"

#include "apply/json_diff.h"
#include "base/json_read.h"
#include "base/time.h"

namespace hookd::rehearsal {
namespace {

constexpr size_t kMostDiffLines = 15;

std::string text_at(std::string_view json, std::initializer_list<std::string_view> path) {
  return json_string_at(json, path).value_or("");
}

std::string name_of(const std::string& ns, const std::string& name) { return ns.empty() ? name : ns + "/" + name; }

std::string why(const CallRecord& call) {
  std::string text = events_text(call.events, call.reason == "reconcile");
  if (call.attempt > 1) text += fmt::format(", attempt {}", call.attempt);
  return text;
}

// Real time, whatever the speed.
std::string took(const CallRecord& call) {
  return format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(call.wall));
}

std::string without_control(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') c = '?';
  return out;
}

}  // namespace

Account::Account(Scheduler& scheduler, bool colour, std::function<void(std::string_view)> print)
    : scheduler_(scheduler), start_(scheduler.now()), colour_(colour), print_(std::move(print)) {}

std::string Account::painted(std::string_view text, Paint paint) const {
  static constexpr std::string_view kCodes[] = {"", "2", "1", "32", "31", "33", "36"};
  const auto code = kCodes[static_cast<size_t>(paint)];
  return colour_ && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Account::line(std::string_view text, Paint paint) {
  const double seconds = std::chrono::duration<double>(scheduler_.now() - start_).count();
  const std::string clock = fmt::format("{:>7.1f}s", seconds);
  print_(fmt::format("{}  {}\n", painted(clock, Paint::kDim), painted(text, paint)));
}

void Account::below(std::string_view text, Paint paint) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view one = text.substr(0, end);
    // Lines of a diff tell their colour by themselves.
    const Paint own = paint != Paint::kNone   ? paint
                      : one.starts_with("+ ") ? Paint::kGreen
                      : one.starts_with("- ") ? Paint::kRed
                      : one.starts_with("~ ") ? Paint::kYellow
                                              : Paint::kNone;
    if (!one.empty()) print_(fmt::format("            {}\n", painted(without_control(one), own)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void Account::note(std::string_view text) { line(text, Paint::kDim); }
void Account::say(std::string_view text) {
  print_("\n");
  line(text, Paint::kBold);
}
void Account::step(std::string_view text) { line(fmt::format("── {}", text), Paint::kCyan); }
void Account::problem(std::string_view text) {
  const size_t end = std::min(text.find('\n'), text.size());
  line(fmt::format("✘ {}", text.substr(0, end)), Paint::kRed);
  below(text.substr(std::min(end + 1, text.size())), Paint::kRed);
}
void Account::output(std::string_view text) { below(text); }

void Account::change(const embedded::StoreEvent& event) {
  using Type = embedded::StoreEvent::Type;
  const std::string& text = event.object->text;
  const std::string kind = text_at(text, {"kind"});
  if (kind == "Lease") return;
  if (kind == "Event") {
    if (event.type == Type::kDeleted) return;
    return line(
        fmt::format("Event about {} {}: {} {}: {}", text_at(text, {"involvedObject", "kind"}),
                    name_of(text_at(text, {"involvedObject", "namespace"}), text_at(text, {"involvedObject", "name"})),
                    text_at(text, {"type"}), text_at(text, {"reason"}), text_at(text, {"message"})),
        Paint::kYellow);
  }
  const std::string name = kind + " " + name_of(event.object->ns, event.object->name);
  if (event.type == Type::kAdded) return line(name + " is there", Paint::kGreen);
  if (event.type == Type::kDeleted) return line(name + " is gone", Paint::kRed);
  const std::string diff = apply::json_diff(event.previous ? event.previous->text : "", text, kMostDiffLines);
  if (diff.empty()) return;
  line(name + " changed", Paint::kYellow);
  below(diff);
}

void Account::follow(Recorder& recorder) {
  recorder.on_started = [this](const CallRecord& call) { started(call); };
  recorder.on_said = [this](const CallRecord& call, std::string_view said) {
    line(fmt::format("  {} says: {}", call.hook, without_control(said)), Paint::kDim);
  };
  recorder.on_operation = [this](const CallRecord&, const OperationRecord& operation) {
    const auto kind = operation.outcome.kind;
    using Kind = apply::Outcome::Kind;
    line(fmt::format("  {}", operation.outcome.text.empty() ? operation.describe : operation.outcome.text),
         kind == Kind::kRefused ? Paint::kRed
         : kind == Kind::kRetry ? Paint::kYellow
                                : Paint::kNone);
  };
  recorder.on_answered = [this](const CallRecord& call) {
    const std::vector<std::string> now(call.answered.begin() + static_cast<std::ptrdiff_t>(call.answered_before),
                                       call.answered.end());
    const std::string answer = now.empty() ? "nothing to do" : fmt::format("{}", fmt::join(now, ", "));
    if (call.answers > 1) return line(fmt::format("  {}, then: {}", call.hook, answer), Paint::kGreen);
    line(fmt::format("✔ {} answers after {}: {}", call.hook, took(call), answer), Paint::kGreen);
    for (const std::string& message : call.messages) below(message);
  };
  recorder.on_ended = [this](const CallRecord& call) { ended(call); };
}

void Account::started(const CallRecord& call) {
  line(fmt::format("▶ {} is called: {}", call.hook, why(call)), Paint::kBold);
}

void Account::ended(const CallRecord& call) {
  using Then = hook::CallResult::Then;
  // To reconcile: all is as wanted.
  if (call.then == Then::kDone && call.answers == 0 && !call.only_operations) {
    line(fmt::format("✔ {} answers after {}: nothing to do", call.hook, took(call)), Paint::kGreen);
    for (const std::string& message : call.messages) below(message);
  }
  if (call.requeue_after)
    line(fmt::format("  {} is to be called again after {}", call.hook, format_duration(*call.requeue_after)),
         Paint::kDim);
  if (call.then == Then::kDone) return;
  const std::string after = call.exit.empty() ? "" : " after " + took(call);
  problem(fmt::format("{}: {}{}, {}{}", call.hook, call.result, after,
                      call.then == Then::kGiveUp ? "given up" : "will be tried again",
                      call.error.empty() ? "" : "\n" + call.error));
}

}  // namespace hookd::rehearsal
