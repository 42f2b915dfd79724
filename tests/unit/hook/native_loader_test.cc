#include "hook/native_loader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "unit/support/scratch_folder.h"

namespace hookd::hook {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kGolden = HOOKD_SOURCE_DIR "/tests/golden/hooks";

// Stands for trigger/cron, which is a room below: the loader only passes its words on.
Result<void> cron_stub(std::string_view cron, std::string_view zone) {
  if (cron.starts_with("61 ")) return fail(Errc::kConfig, "\"{}\": the minute 61 is over 59", cron);
  if (zone.starts_with("Mars")) return fail(Errc::kConfig, "\"{}\" is no time zone", zone);
  return {};
}

LoadOptions options() {
  LoadOptions out;
  out.cron_check = cron_stub;
  out.path = "/usr/bin:/bin";
  return out;
}

std::string lines_of(const std::vector<LoadError>& errors, const std::string& folder) {
  std::string out;
  for (const LoadError& error : errors) {
    std::string line = error.text();
    for (size_t at = line.find(folder + "/"); at != std::string::npos; at = line.find(folder + "/"))
      line.erase(at, folder.size() + 1);
    out += line + "\n";
  }
  return out;
}

std::string file_text(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> samples(const std::string& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

// Issue 3: broken YAML, unknown key, bad jq, bad cron, missing script, script without run bit, and more.
// HOOKD_UPDATE_GOLDEN=1 writes the files anew, to be read before they are kept.
TEST(NativeLoader, SaysExactlyWhatIsWrongWithEveryInvalidSample) {
  const std::string folder = kGolden + "/invalid";
  const auto files = samples(folder);
  ASSERT_GT(files.size(), 40u);
  for (const fs::path& file : files) {
    LoadResult result;
    load_hook_text(file_text(file), file.string(), options(), result);
    const std::string lines = lines_of(result.errors, folder);
    EXPECT_NE(lines, "") << file << " was taken";
    fs::path expected = file;
    expected.replace_extension(".expected");
    if (std::getenv("HOOKD_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << lines;
    EXPECT_EQ(lines, file_text(expected)) << file;
  }
}

TEST(NativeLoader, TakesEveryValidSample) {
  for (const fs::path& file : samples(kGolden + "/valid")) {
    LoadResult result;
    load_hook_text(file_text(file), file.string(), options(), result);
    EXPECT_EQ(lines_of(result.errors, kGolden), "") << file;
    EXPECT_THAT(result.hooks, testing::Not(IsEmpty())) << file;
  }
}

std::shared_ptr<const Hook> load_one(const std::string& name) {
  LoadResult result;
  load_hook_text(file_text(kGolden + "/valid/" + name), kGolden + "/valid/" + name, options(), result);
  EXPECT_EQ(lines_of(result.errors, kGolden), "");
  return result.hooks.empty() ? std::make_shared<const Hook>() : result.hooks[0];
}

TEST(NativeLoader, AWorkersConcurrencyIsWhatThereIsRoomFor) {
  const auto concurrency = [](const std::string& run, const std::string& spec = "") {
    LoadResult result;
    load_hook_text("apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: h}\nspec:\n  run: {command: [sh], " + run +
                       "}\n  startup: {}\n" + spec,
                   "/x/hook.yaml", options(), result);
    EXPECT_EQ(lines_of(result.errors, ""), "");
    return result.hooks.empty() ? 0 : result.hooks[0]->concurrency;
  };
  EXPECT_EQ(concurrency("mode: once"), 1);
  EXPECT_EQ(concurrency("mode: worker"), 8);
  EXPECT_EQ(concurrency("mode: worker, workers: 3, callsAtOnce: 5"), 15);
  EXPECT_EQ(concurrency("mode: worker, workers: 1000, callsAtOnce: 10000"), 1000);
  EXPECT_EQ(concurrency("mode: worker", "  concurrency: 2\n"), 2);
}

TEST(NativeLoader, FillsEveryField) {
  const auto hook = load_one("every-key.yaml");
  EXPECT_EQ(hook->name, "every-key");
  EXPECT_EQ(hook->path, kGolden + "/valid/every-key.yaml");
  EXPECT_THAT(hook->run.command, ElementsAre(kGolden + "/valid/ok.sh", "--flag", ""));
  EXPECT_EQ(hook->run.directory, kGolden + "/valid");
  EXPECT_EQ(hook->run.timeout, 90s);
  EXPECT_EQ(hook->run.grace, 0s);
  EXPECT_EQ(hook->run.mode, Run::Mode::kWorker);
  EXPECT_EQ(hook->run.worker.processes, 4);
  EXPECT_EQ(hook->run.worker.calls_at_once, 16);
  EXPECT_TRUE(hook->run.worker.says_ready);
  EXPECT_EQ(hook->run.worker.ready_timeout, 1min);
  EXPECT_EQ(hook->run.worker.max_calls, 10'000);
  EXPECT_EQ(hook->run.worker.max_memory_bytes, 200u << 20);
  EXPECT_EQ(hook->run.env.at("LOG"), "info");
  EXPECT_FALSE(hook->run.inherit_all);
  EXPECT_THAT(hook->run.inherit_only, ElementsAre("PATH", "HOME"));
  EXPECT_EQ(hook->run.user, "1000:1000");
  EXPECT_EQ(hook->run.limits.memory_bytes, 256u << 20);
  EXPECT_EQ(hook->run.limits.cpu, 10s);
  EXPECT_EQ(hook->run.limits.open_files, 64u);
  EXPECT_EQ(hook->run.limits.processes, 32u);
  EXPECT_EQ(hook->concurrency, 4);
  EXPECT_EQ(hook->retry.initial, 500ms);
  EXPECT_EQ(hook->retry.max, 10min);
  EXPECT_EQ(hook->retry.attempts, 5);
  EXPECT_EQ(hook->retry.on_give_up, Retry::GiveUp::kDrop);

  ASSERT_THAT(hook->watches, SizeIs(3));
  const WatchBinding& stuck = hook->watches[0];
  EXPECT_EQ(stuck.name, "stuck");
  EXPECT_EQ(stuck.api_version, "v1");
  EXPECT_EQ(stuck.kind, "Pod");
  EXPECT_THAT(stuck.namespaces.names, ElementsAre("a", "b"));
  EXPECT_EQ(stuck.namespaces.label_selector->to_string(), "env,team=x");
  EXPECT_THAT(stuck.names, ElementsAre("web-0", "system:node"));
  EXPECT_EQ(stuck.label_selector, *cache::LabelSelector::parse("app=web,tier in (front,back),!old"));
  EXPECT_EQ(stuck.field_selector, "spec.nodeName=n1,status.phase!=Failed,metadata.name==x");
  EXPECT_TRUE(stuck.added && stuck.modified && stuck.deleted);
  EXPECT_EQ(stuck.existing, WatchBinding::Existing::kSync);
  EXPECT_FALSE(stuck.metadata_only);
  ASSERT_TRUE(stuck.when && stuck.since && stuck.value);
  EXPECT_EQ(stuck.when->expression(), ".metadata.deletionTimestamp != null");
  EXPECT_EQ(stuck.hold_for, 30s);
  EXPECT_EQ(stuck.keep, WatchBinding::Keep::kValue);
  EXPECT_TRUE(stuck.ignore_own_writes);
  EXPECT_EQ(hook->guard.deletes->count, 20);
  EXPECT_EQ(hook->guard.deletes->per, 1min);
  EXPECT_EQ(hook->guard.writes->count, 600);
  EXPECT_FALSE(stuck.coalesce);
  EXPECT_THAT(stuck.include, ElementsAre("nodes", "stuck"));
  EXPECT_EQ(stuck.line, 27);
  EXPECT_TRUE(hook->watches[1].snapshot_only());
  EXPECT_EQ(hook->watches[2].name, "deploy") << "the kind is the name where there is none";
  EXPECT_EQ(hook->find_watch("nodes"), &hook->watches[1]);
  EXPECT_EQ(hook->find_watch("none"), nullptr);

  ASSERT_THAT(hook->schedules, SizeIs(2));
  EXPECT_EQ(hook->schedules[0].every, 10s);
  EXPECT_EQ(hook->schedules[0].jitter, 10s);
  EXPECT_EQ(hook->schedules[0].overlap, ScheduleBinding::Overlap::kQueue);
  EXPECT_EQ(hook->schedules[0].missed, ScheduleBinding::Missed::kSkip);
  EXPECT_FALSE(hook->schedules[1].every);
  EXPECT_EQ(hook->schedules[1].cron, "0 3 * * *");
  EXPECT_EQ(hook->schedules[1].time_zone, "Europe/Berlin");
  EXPECT_EQ(hook->startup->order, -10);
  ASSERT_TRUE(hook->allow);
  EXPECT_EQ(hook->allow->at(1).api_version, "apps/*");
  EXPECT_THAT(hook->allow->at(0).verbs, ElementsAre("delete", "patch"));
}

TEST(NativeLoader, TakesTheExamples) {
  const LoadResult result = load_hooks({HOOKD_SOURCE_DIR "/hooks-examples"}, options());
  EXPECT_EQ(lines_of(result.errors, HOOKD_SOURCE_DIR), "");
  EXPECT_THAT(result.hooks, testing::Not(IsEmpty()));
}

TEST(NativeLoader, HasTheDefaultsOfTheContract) {
  const auto hook = load_one("minimal.yaml");
  EXPECT_EQ(hook->run.timeout, 30s);
  EXPECT_EQ(hook->run.grace, 5s);
  EXPECT_TRUE(hook->run.inherit_all);
  EXPECT_EQ(hook->concurrency, 1);
  EXPECT_EQ(hook->retry.initial, 1s);
  EXPECT_EQ(hook->retry.max, 5min);
  EXPECT_EQ(hook->retry.attempts, 0);
  EXPECT_EQ(hook->retry.on_give_up, Retry::GiveUp::kPark);
  EXPECT_FALSE(hook->allow) << "absent = everything, [] = nothing";
  EXPECT_THAT(*load_one("inherit-nothing.yaml")->allow, IsEmpty());
}

TEST(NativeLoader, ReadsSeveralDocumentsAsSeveralHooks) {
  LoadResult result;
  load_hook_text(file_text(kGolden + "/valid/several-documents.yaml"), kGolden + "/valid/x.yaml", options(), result);
  ASSERT_THAT(result.hooks, SizeIs(2));
  EXPECT_EQ(result.hooks[1]->name, "second");
}

TEST(NativeLoader, KeepsTheGoodHookBesideABrokenOne) {
  LoadResult result;
  load_hook_text(file_text(kGolden + "/invalid/second-document-broken.yaml"), kGolden + "/x.yaml", options(), result);
  ASSERT_THAT(result.hooks, SizeIs(1));
  EXPECT_EQ(result.hooks[0]->name, "good-one");
  EXPECT_THAT(result.errors, SizeIs(1));
}

class HookFolder : public testing::Test {
 protected:
  void write(const std::string& path, std::string_view text, unsigned mode = 0644) { scratch_.file(path, text, mode); }
  void write_hook(const std::string& path, std::string_view name) {
    write(path, fmt::format("apiVersion: hookd/v1\nkind: Hook\nmetadata: {{name: {}}}\nspec:\n  run: {{command: "
                            "[sh]}}\n  startup: {{}}\n",
                            name));
  }
  std::vector<std::string> names(const std::vector<std::string>& folders) {
    result_ = load_hooks(folders, options());
    std::vector<std::string> out;
    for (const auto& hook : result_.hooks) out.push_back(hook->name);
    return out;
  }
  std::string errors() { return lines_of(result_.errors, folder_); }
  const test::ScratchFolder scratch_;
  const std::string& folder_ = scratch_.path();
  LoadResult result_;
};

TEST_F(HookFolder, IsWalkedInTheOrderOfNamesForHookFilesOnly) {
  write_hook("b/hook.yaml", "b");
  write_hook("a/deep/er/x.hook.yml", "x");
  write_hook("a/hook.yml", "a");
  write_hook("a/other.yaml", "no-hook-file");
  write_hook("a/xhook.yaml", "no-hook-file-either");
  write_hook("a/.hook.yaml", "no-name-before-the-dot");
  EXPECT_THAT(names({folder_}), ElementsAre("x", "a", "b"));
  EXPECT_EQ(errors(), "");
}

// A ConfigMap mount: hook.yaml -> ..data/hook.yaml, ..data -> ..2026_01_01/.
TEST_F(HookFolder, ReadsAConfigMapMountOnceAndByItsOwnName) {
  write_hook("..2026_01_01/hook.yaml", "mounted");
  fs::create_directory_symlink("..2026_01_01", folder_ + "/..data");
  fs::create_symlink("..data/hook.yaml", folder_ + "/hook.yaml");
  EXPECT_THAT(names({folder_}), ElementsAre("mounted"));
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(result_.hooks[0]->path, folder_ + "/hook.yaml");
  EXPECT_EQ(result_.hooks[0]->run.directory, folder_);
}

TEST_F(HookFolder, EndsLoopsOfLinksAndReadsNothingTwice) {
  write_hook("a/hook.yaml", "a");
  fs::create_directory_symlink("..", folder_ + "/a/up");
  fs::create_directory_symlink(folder_ + "/a", folder_ + "/same");
  EXPECT_THAT(names({folder_, folder_ + "/a", folder_ + "/./"}), ElementsAre("a"));
  EXPECT_EQ(errors(), "");
}

TEST_F(HookFolder, ReportsASecondHookOfOneNameAndKeepsTheFirst) {
  write_hook("a/hook.yaml", "twin");
  write_hook("b/hook.yaml", "twin");
  write_hook("c/hook.yaml", "single");
  EXPECT_THAT(names({folder_}), ElementsAre("twin", "single"));
  EXPECT_EQ(
      errors(),
      "b/hook.yaml:3:18: metadata.name: \"twin\" is the name of the hook in a/hook.yaml already; names are unique\n");
}

TEST_F(HookFolder, ReportsASecondHookWithTheFinalizerOfAnother) {
  const auto reconciler = [](std::string_view name, std::string_view kind, std::string_view finalizer) {
    return fmt::format(
        "apiVersion: hookd/v1\nkind: Hook\nmetadata: {{name: {}}}\nspec:\n  run: {{command: [sh]}}\n  reconcile: "
        "{{for: "
        "{{apiVersion: v1, kind: {}}}, finalizer: {}}}\n",
        name, kind, finalizer);
  };
  write("a/hook.yaml", reconciler("a", "Pod", "x.dev/f"));
  write("b/hook.yaml", reconciler("b", "Node", "x.dev/f"));
  write("c/hook.yaml", reconciler("c", "Pod", "true"));
  write("d/hook.yaml", reconciler("d", "Pod", "x.dev/f"));
  EXPECT_THAT(names({folder_}), ElementsAre("a", "b", "c"));
  EXPECT_EQ(
      errors(),
      "d/hook.yaml:3:18: spec.reconcile.finalizer: x.dev/f on Pod is that of the hook \"a\" already; give each its "
      "own\n");
  EXPECT_THAT(result_.hooks[2]->holds, ElementsAre(HeldKind{"hookd.dev/c", "v1", "Pod"}));
}

// Each would delete the other's children. (A selector on both may tell them apart, one on either does not.)
TEST_F(HookFolder, ReportsASecondHookThatOwnsTheSameChildren) {
  const auto reconciler = [](std::string_view name, std::string_view parent, std::string_view child) {
    return fmt::format(
        "apiVersion: hookd/v1\nkind: Hook\nmetadata: {{name: {}}}\nspec:\n  run: {{command: [sh]}}\n  reconcile: "
        "{{for: {{apiVersion: x.io/v1, kind: Widget{}}}, children: [{{apiVersion: apps/v1, kind: {}}}]}}\n",
        name, parent, child);
  };
  write("a/hook.yaml", reconciler("a", "", "Deployment"));
  write("b/hook.yaml", reconciler("b", "", "Deployment"));
  write("c/hook.yaml", reconciler("c", ", labelSelector: x=1", "Deployment"));
  write("d/hook.yaml", reconciler("d", "", "StatefulSet"));
  write("e/hook.yaml", reconciler("e", "", "DaemonSet, labelSelector: by=e"));
  write("f/hook.yaml", reconciler("f", "", "DaemonSet, labelSelector: by=f"));
  write("g/hook.yaml", reconciler("g", "", "DaemonSet"));
  EXPECT_THAT(names({folder_}), ElementsAre("a", "d", "e", "f"));
  const std::string found = errors();
  for (const std::string_view hook : {"b", "c"})
    EXPECT_THAT(found,
                testing::HasSubstr(fmt::format(
                    "{}/hook.yaml:3:18: spec.reconcile.children: Deployment below Widget are children of the hook "
                    "\"a\" already, and each would delete what the other makes",
                    hook)));
  EXPECT_THAT(found, testing::HasSubstr("g/hook.yaml:3:18: spec.reconcile.children: DaemonSet below Widget are"));
}

TEST_F(HookFolder, ReportsWhatCannotBeReadAndGoesOn) {
  write_hook("good/hook.yaml", "good");
  fs::create_symlink("nowhere", folder_ + "/hook.yaml");
  fs::create_symlink("nowhere", folder_ + "/unrelated");
  write("big.hook.yaml", std::string(2u << 20, '#'));
  EXPECT_THAT(names({folder_ + "/gone", folder_, folder_ + "/unrelated"}), ElementsAre("good"));
  EXPECT_THAT(errors(), HasSubstr("gone: cannot be read: No such file or directory\n"));
  EXPECT_THAT(errors(), HasSubstr("\nhook.yaml: cannot be read: No such file or directory\n"));
  EXPECT_THAT(errors(), HasSubstr("big.hook.yaml: "));
  EXPECT_THAT(result_.errors, SizeIs(4));
}

TEST_F(HookFolder, GivesANewHashOnlyForWhatMatters) {
  const std::string text =
      "apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: a}\nspec:\n  run: {command: [./a.sh]}\n  startup: {}\n";
  write("a.sh", "#!/bin/sh\n", 0755);
  write("hook.yaml", text);
  const auto hash = [&] {
    EXPECT_THAT(names({folder_}), ElementsAre("a")) << errors();
    return result_.hooks.empty() ? 0 : result_.hooks[0]->content_hash;
  };
  const uint64_t first = hash();
  EXPECT_EQ(hash(), first);
  write("hook.yaml", "# a comment\n" + text);
  EXPECT_EQ(hash(), first) << "layout and comments restart nothing";
  write("hook.yaml", text + "  concurrency: 2\n");
  EXPECT_NE(hash(), first);
  write("hook.yaml", text);
  write("a.sh", "#!/bin/sh\n:\n", 0755);
  EXPECT_NE(hash(), first) << "the script was exchanged";
}

TEST_F(HookFolder, LooksProgramsUpInThePathOfTheHooksOwnEnvironment) {
  write("bin/tool", "#!/bin/sh\n", 0755);
  write("hook.yaml", fmt::format("apiVersion: hookd/v1\nkind: Hook\nmetadata: {{name: a}}\nspec:\n  run: {{command: "
                                 "[tool], env: {{PATH: \"/bin:{}/bin\"}}}}\n  startup: {{}}\n",
                                 folder_));
  EXPECT_THAT(names({folder_}), ElementsAre("a")) << errors();
  EXPECT_THAT(result_.hooks[0]->run.command, ElementsAre("tool"));
}

}  // namespace
}  // namespace hookd::hook
