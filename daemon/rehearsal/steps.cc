#include "rehearsal/steps.h"

#include <filesystem>
#include <set>

#include "base/json_read.h"
#include "base/time.h"
#include "rehearsal/manifests.h"

namespace hookd::rehearsal {
namespace {

using config::Node;
using config::Position;
using config::Problems;
using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Duration kLongest = hours(24 * 3660);

std::optional<Duration> duration_of(const Node& node, std::string_view path, Problems& problems) {
  auto duration = parse_duration(node.text);
  const bool scalar = node.kind == Node::Kind::kString || node.kind == Node::Kind::kInt;
  if (scalar && duration && *duration <= kLongest) return *duration;
  problems.add(node.at, path, "expected a duration like 29s or 1h30m, found {}", node.describe());
  return std::nullopt;
}

// kind, apiVersion, namespace, name, as they stand in a patch or delete step.
void read_subject(Reader& r, apply::Operation& op) {
  r.string("apiVersion", op.api_version);
  r.required_string("kind", op.kind);
  r.string("namespace", op.ns);
  r.required_string("name", op.name);
}

void read_patch(Reader& r, Step& step, Problems& problems) {
  apply::Operation op;
  read_subject(r, op);
  r.string("subresource", op.subresource);
  int kinds = 0;
  for (const auto& [key, verb] :
       {std::pair("merge", apply::Verb::kMergePatch), std::pair("strategic", apply::Verb::kStrategicMergePatch),
        std::pair("json", apply::Verb::kJsonPatch)}) {
    const Node* node = r.raw(key);
    if (!node) continue;
    ++kinds;
    op.verb = verb;
    const bool list = verb == apply::Verb::kJsonPatch;
    if (node->kind != (list ? Node::Kind::kList : Node::Kind::kMap))
      r.problem(key, list ? "expected a list of patch operations" : "expected a map: the patch");
    else if (auto json = json_of(*node, r.path_of(key), problems))
      op.patch = boost::json::serialize(*json);
  }
  if (kinds != 1) r.problem_here("needs exactly one of merge, strategic and json");
  r.finish();
  step.operations.push_back(std::move(op));
}

void read_delete(Reader& r, Step& step) {
  apply::Operation op;
  op.verb = apply::Verb::kDelete;
  read_subject(r, op);
  if (int64_t seconds = 0; r.integer<int64_t>("gracePeriodSeconds", seconds, 0, 1 << 30))
    op.grace_period_seconds = seconds;
  std::string policy;
  if (r.one_of("propagationPolicy", policy,
               {{"Foreground", "Foreground"}, {"Background", "Background"}, {"Orphan", "Orphan"}}))
    op.propagation_policy = policy;
  r.boolean("ignoreMissingObject", op.ignore_missing_object);
  r.finish();
  step.operations.push_back(std::move(op));
}

void read_wait(const Node& node, const std::string& path, Problems& problems, WaitFor& wait) {
  if (node.kind != Node::Kind::kMap) {
    if (const auto time = duration_of(node, path, problems)) wait.time = *time;
    return;
  }
  Reader r(node, path, problems);
  int conditions = 0;
  for (const auto& [key, what] :
       {std::pair("object", WaitFor::What::kObject), std::pair("absent", WaitFor::What::kAbsent)})
    if (const Node* inner = r.raw(key)) {
      ++conditions;
      wait.what = what;
      wait.object = read_wanted(*inner, r.path_of(key), problems);
    }
  if (const Node* called = r.raw("called")) {
    ++conditions;
    wait.what = WaitFor::What::kCalled;
    if (called->kind == Node::Kind::kMap) {
      Reader inner(*called, r.path_of("called"), problems);
      inner.required_string("hook", wait.hook);
      inner.integer("times", wait.times, 1, 1'000'000);
      inner.finish();
    } else {
      r.required_string("called", wait.hook);
    }
  }
  if (bool idle = false; r.boolean("idle", idle)) {
    ++conditions;
    wait.what = WaitFor::What::kIdle;
    if (!idle) r.problem("idle", "can only be true");
  }
  if (r.duration("for", wait.time, Duration(0), kLongest)) ++conditions;
  if (conditions != 1) r.problem_here("needs exactly one of for, object, absent, called and idle");
  r.duration("timeout", wait.timeout, milliseconds(1), kLongest);
  r.finish();
}

void read_fail(Reader& r, Failing& fail) {
  int kinds = 0;
  if (r.string("hook", fail.hook)) {
    ++kinds;
    r.integer("exit", fail.exit, 1, 255);
    r.integer("times", fail.times, 1, 1'000'000);
  }
  if (auto api = r.map("api")) {
    ++kinds;
    fail.what = Failing::What::kApi;
    api->integer("code", fail.code, 400, 599);
    api->integer("retryAfter", fail.retry_after_seconds, 0, 86'400);
    api->boolean("lostAnswer", fail.lost_answer);
    if ((fail.code == 0) == !fail.lost_answer)
      api->problem_here("needs either code (409, 429, 500, …) or lostAnswer: true");
    api->string("method", fail.method);
    api->string("path", fail.path);
    api->string("verb", fail.verb);
    api->string("resource", fail.resource);
    api->string("namespace", fail.ns);
    api->string("name", fail.name);
    api->integer("times", fail.times, 1, 1'000'000);
    api->finish();
  }
  if (std::string watch; r.string("watch", watch)) {
    ++kinds;
    fail.what = Failing::What::kWatch;
    fail.silent = watch == "silent";
    if (watch != "cut" && watch != "silent") r.problem("watch", "expected cut or silent");
  }
  if (kinds != 1) r.problem_here("needs exactly one of hook, api and watch");
  r.finish();
}

void read_source_event(Reader& r, SourceEvent& event) {
  r.required_string("hook", event.hook);
  r.required_string("binding", event.binding);
  if (const Node* content = r.raw("content")) {
    if (content->kind != Node::Kind::kString)
      r.problem("content", fmt::format("expected text: what the file holds, found {}", content->describe()));
    event.content = content->text;
  }
  bool exists = true;
  if (r.boolean("exists", exists) && exists)
    r.problem("exists", "can only be false: the file is gone; else say `content`");
  if (r.has("data") + r.has("content") + r.has("exists") != 1)
    r.problem_here("needs exactly one of data, content (of a file) and exists: false (of a file)");
  if (r.has("old") && !r.has("data"))
    r.problem("old", "has a meaning only with data: of a file it is what was told before");
  for (const char* key : {"data", "old"}) {
    const Node* node = r.raw(key);
    if (!node) continue;
    const auto json = json_of(*node, r.path_of(key), r.problems());
    if (!json) continue;
    if (key == std::string_view("data"))
      event.data = boost::json::serialize(*json);
    else
      event.old = boost::json::serialize(*json);
  }
  r.finish();
}

void read_command(const Node& node, const std::string& path, Problems& problems, Step& step) {
  if (node.kind == Node::Kind::kString) {
    step.command = {"sh", "-c", node.text};
    return;
  }
  bool good = node.kind == Node::Kind::kList && !node.items.empty();
  for (const Node& item : node.items) {
    good &= item.kind != Node::Kind::kList && item.kind != Node::Kind::kMap && item.kind != Node::Kind::kNull;
    step.command.push_back(item.text);
  }
  if (!good) problems.add(node.at, path, "expected a command: one text for sh, or a list of words");
}

void read_deletes(const Node& node, const std::string& path, Problems& problems, Step& step) {
  if (node.kind != Node::Kind::kList) {
    Reader r(node, path, problems);
    return read_delete(r, step);
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    Reader r(node.items[i], fmt::format("{}[{}]", path, i), problems);
    read_delete(r, step);
  }
}

const std::set<std::string, std::less<>>& step_names(bool test) {
  static const std::set<std::string, std::less<>> kScenario{"apply", "create",  "patch", "delete", "run", "wait",
                                                            "fail",  "restart", "say",   "source", "post"};
  static const std::set<std::string, std::less<>> kTest = [] {
    auto all = kScenario;
    all.insert({"advance", "expect"});
    return all;
  }();
  return test ? kTest : kScenario;
}

std::optional<Step> read_step(const Node& node, const std::string& path, const StepRules& rules, Problems& problems) {
  const auto& names = step_names(rules.test);
  if (node.kind != Node::Kind::kMap || node.entries.size() != 1) {
    problems.add(node.at, path, "expected a step: one key of {}", fmt::join(names, ", "));
    return std::nullopt;
  }
  const config::Entry& entry = node.entries.front();
  const std::string inner = path + "." + entry.key;
  if (!names.contains(entry.key)) {
    if (step_names(true).contains(entry.key))
      problems.add(entry.at, inner, "is a step of tests only");
    else
      problems.add(entry.at, inner, "no such step; expected one of {}", fmt::join(names, ", "));
    return std::nullopt;
  }
  Step step;
  step.at = entry.at;
  step.name = entry.key;
  const Node& value = entry.value;
  if (step.name == "apply" || step.name == "create") {
    step.kind = Step::Kind::kObjects;
    step.operations = manifests_of(value, inner, step.name == "apply" ? apply::Verb::kApply : apply::Verb::kCreate,
                                   rules.folder, problems, &step.files);
  } else if (step.name == "patch") {
    step.kind = Step::Kind::kObjects;
    Reader r(value, inner, problems);
    read_patch(r, step, problems);
  } else if (step.name == "delete") {
    step.kind = Step::Kind::kObjects;
    read_deletes(value, inner, problems, step);
  } else if (step.name == "run") {
    step.kind = Step::Kind::kRun;
    read_command(value, inner, problems, step);
  } else if (step.name == "wait") {
    step.kind = Step::Kind::kWait;
    read_wait(value, inner, problems, step.wait);
  } else if (step.name == "advance") {
    step.kind = Step::Kind::kAdvance;
    if (const auto time = duration_of(value, inner, problems)) step.time = *time;
  } else if (step.name == "fail") {
    step.kind = Step::Kind::kFail;
    Reader r(value, inner, problems);
    read_fail(r, step.fail);
  } else if (step.name == "source") {
    step.kind = Step::Kind::kSource;
    Reader r(value, inner, problems);
    read_source_event(r, step.source);
  } else if (step.name == "post") {
    step.kind = Step::Kind::kPost;
    Reader r(value, inner, problems);
    read_post(r, step.post, rules.folder);
  } else if (step.name == "expect") {
    step.kind = Step::Kind::kExpect;
    step.expect.at = entry.at;
    Reader r(value, inner, problems);
    read_expectation(r, step.expect, rules.update);
  } else if (step.name == "restart") {
    step.kind = Step::Kind::kRestart;
    if (!value.is_true()) problems.add(value.at, inner, "can only be true");
  } else {
    step.kind = Step::Kind::kSay;
    step.text = value.text;
    if (value.kind != Node::Kind::kString) problems.add(value.at, inner, "expected text, found {}", value.describe());
  }
  return step;
}

}  // namespace

std::optional<boost::json::value> json_of(const Node& node, std::string_view path, Problems& problems) {
  std::string text;
  if (auto good = config::append_json(text, node); !good) {
    problems.add(node.at, path, "{}", good.error().what);
    return std::nullopt;
  }
  auto json = parse_json(text);
  if (!json) {
    problems.add(node.at, path, "{}", json.error().what);
    return std::nullopt;
  }
  return *std::move(json);
}

std::vector<apply::Operation> manifests_of(const Node& node, std::string_view path, apply::Verb verb,
                                           const std::string& folder, Problems& problems,
                                           std::vector<std::string>* files) {
  std::vector<apply::Operation> all;
  const auto one = [&](const Node& source, const std::string& where) {
    Result<std::vector<apply::Operation>> operations;
    if (source.kind == Node::Kind::kString) {
      const std::filesystem::path file(source.text);
      const std::string name = (folder / file).lexically_normal().string();  // an absolute one stays as it is
      operations = manifests_in_file(name, verb);
      if (files) files->push_back(name);
    } else if (source.kind == Node::Kind::kMap) {
      operations = manifests_in_node(source, verb);
    } else {
      operations =
          fail(Errc::kConfig, "expected the name of a file with manifests, or a manifest; found {}", source.describe());
    }
    if (!operations) return problems.add(source.at, where, "{}", operations.error().what);
    std::ranges::move(*operations, std::back_inserter(all));
  };
  if (node.kind != Node::Kind::kList) {
    one(node, std::string(path));
  } else {
    for (size_t i = 0; i < node.items.size(); ++i) one(node.items[i], fmt::format("{}[{}]", path, i));
  }
  return all;
}

std::vector<apply::Operation> read_manifests(Reader& reader, std::string_view key, apply::Verb verb,
                                             const std::string& folder) {
  const Node* node = reader.raw(key);
  return node ? manifests_of(*node, reader.path_of(key), verb, folder, reader.problems())
              : std::vector<apply::Operation>{};
}

std::vector<Step> read_steps(Reader& top, std::string_view key, const StepRules& rules) {
  std::vector<Step> steps;
  const Node* node = top.raw(key);
  if (!node) return steps;
  if (node->kind != Node::Kind::kList) {
    top.problem(key, fmt::format("expected a list of steps, found {}", node->describe()));
    return steps;
  }
  for (size_t i = 0; i < node->items.size(); ++i)
    if (auto step = read_step(node->items[i], fmt::format("{}[{}]", top.path_of(key), i), rules, top.problems()))
      steps.push_back(*std::move(step));
  return steps;
}

std::string Step::describe() const {
  switch (kind) {
    case Kind::kObjects: {
      std::string line = name;
      for (size_t i = 0; i < std::min<size_t>(operations.size(), 5); ++i)
        line += (i ? ", " : " ") + operations[i].display();
      if (operations.size() > 5) line += fmt::format(" and {} more", operations.size() - 5);
      return line;
    }
    case Kind::kSource: {
      constexpr size_t kShown = 100;
      if (source.data.empty())
        return fmt::format("the file of source {} of {} {}", source.binding, source.hook,
                           source.content ? "has other content" : "is gone");
      const bool whole = source.data.size() <= kShown;
      return fmt::format("source {} of {} tells {}{}", source.binding, source.hook, source.data.substr(0, kShown),
                         whole ? "" : "…");
    }
    case Kind::kAdvance:
      return "advance " + format_duration(time);
    case Kind::kWait: {
      const auto patience = fmt::format(" (at most {})", format_duration(wait.timeout));
      switch (wait.what) {
        case WaitFor::What::kTime:
          return "wait " + format_duration(wait.time);
        case WaitFor::What::kObject:
          return "wait until there is " + (wait.object ? wait.object->display() : "") + patience;
        case WaitFor::What::kAbsent:
          return "wait until there is no " + (wait.object ? wait.object->display() : "") + patience;
        case WaitFor::What::kCalled:
          return fmt::format("wait until {} was called{}{}", wait.hook,
                             wait.times > 1 ? fmt::format(" {} times", wait.times) : "", patience);
        case WaitFor::What::kIdle:
          return "wait until everything is done" + patience;
      }
      return "wait";
    }
    case Kind::kExpect:
      return "expect";
    case Kind::kFail:
      if (fail.what == Failing::What::kHook)
        return fmt::format("the next {} call(s) of {} fail with exit code {}", fail.times, fail.hook, fail.exit);
      if (fail.what == Failing::What::kWatch) return fail.silent ? "watches fall silent" : "watches are cut";
      return fail.lost_answer ? "the next answer of the API server is lost"
                              : fmt::format("the API server answers {} ({} time(s))", fail.code, fail.times);
    case Kind::kPost:
      return post.display();
    case Kind::kRestart:
      return "hookd restarts";
    case Kind::kRun:
      return "run " +
             (command.size() == 3 && command[0] == "sh" ? command[2] : fmt::format("{}", fmt::join(command, " ")));
    case Kind::kSay:
      return text;
  }
  return name;
}

}  // namespace hookd::rehearsal
