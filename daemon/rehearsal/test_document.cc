#include "rehearsal/test_document.h"

#include <filesystem>

#include "base/time.h"

namespace hookd::rehearsal {
namespace {

namespace fs = std::filesystem;
using config::Node;
using config::Problems;
using config::Reader;

void read_head(Reader& r, std::string_view kind, std::string* name, config::Position* at) {
  std::string version, seen;
  if (r.required_string("apiVersion", version) && version != "hookd/v1") r.problem("apiVersion", "expected hookd/v1");
  if (r.required_string("kind", seen) && seen != kind) r.problem("kind", fmt::format("expected {}", kind));
  if (name) r.require("metadata");
  if (auto metadata = r.map("metadata")) {
    std::string any;
    if (name ? metadata->required_string("name", *name) : metadata->string("name", any))
      if (at) *at = metadata->at("name");
    metadata->finish();
  }
}

void read_now(Reader& r, WallTime& now) {
  std::string text;
  if (!r.string("now", text)) return;
  if (auto time = parse_rfc3339(text))
    now = *time;
  else
    r.problem("now", "expected a time like 2026-01-01T00:00:00Z");
}

TestDocument read_test(const Node& node, const std::string& file, bool update, Problems& problems) {
  TestDocument test;
  test.file = file;
  test.folder = fs::path(file).parent_path().string();
  Reader r(node, "", problems);
  read_head(r, "HookTest", &test.name, &test.at);
  std::vector<std::string> hooks;
  if (r.string_list("hooks", hooks)) {
    for (size_t i = 0; i < hooks.size(); ++i) {
      const std::string path = (fs::path(test.folder) / hooks[i]).lexically_normal().string();
      std::error_code error;
      if (!fs::exists(path, error)) r.problem("hooks", i, fmt::format("no such file or folder: {}", path));
      test.hooks.push_back(path);
    }
  } else if (!r.has("hooks")) {
    test.hooks.push_back(test.folder);
  }
  read_now(r, test.now);
  r.duration("timeout", test.timeout, std::chrono::seconds(1), std::chrono::hours(1));
  test.given_at = r.at("given");
  test.given = read_manifests(r, "given", apply::Verb::kApply, test.folder);
  r.require("steps");
  test.steps = read_steps(r, "steps", {.test = true, .update = update, .folder = test.folder});
  if (r.is_map() && r.has("steps") &&
      std::ranges::none_of(test.steps, [](const Step& step) { return step.kind == Step::Kind::kExpect; }) &&
      problems.empty())
    r.problem("steps", "no step is an `expect`: such a test cannot fail");
  r.finish();
  return test;
}

}  // namespace

std::vector<TestDocument> read_tests(std::string_view text, const std::string& file, bool update, Problems& problems) {
  std::vector<TestDocument> tests;
  for (const Node& document : config::parse_yaml(text, problems)) {
    if (document.kind == Node::Kind::kNull) continue;
    TestDocument test = read_test(document, file, update, problems);
    test.index = tests.size();
    tests.push_back(std::move(test));
  }
  if (tests.empty() && problems.empty()) problems.add({}, "", "holds no test; expected a document with kind: HookTest");
  return tests;
}

Scenario read_scenario(std::string_view text, const std::string& file, Problems& problems) {
  const auto documents = config::parse_yaml(text, problems);
  if (documents.size() != 1) {
    if (problems.empty()) problems.add({}, "", "expected one document with kind: Scenario, found {}", documents.size());
    return {};
  }
  Reader r(documents.front(), "", problems);
  read_head(r, "Scenario", nullptr, nullptr);
  r.require("steps");
  Scenario scenario;
  scenario.steps = read_steps(r, "steps", {.folder = fs::path(file).parent_path().string()});
  r.boolean("sources", scenario.sources);
  r.finish();
  return scenario;
}

}  // namespace hookd::rehearsal
