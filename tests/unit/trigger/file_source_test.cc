#include "trigger/file_source.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/inotify.h"
#include "base/json_read.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/scratch_folder.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

void write(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::trunc | std::ios::binary) << content;
}

std::string state_of(const std::string& path, uint64_t limit = 1u << 20) {
  FileState state(path, limit);
  auto done = state.step();
  while (done && !*done) done = state.step();
  return done ? state.take() : "error: " + done.error().what;
}

TEST(FileState, TellsFilesAndWhatIsNotThere) {
  const test::ScratchFolder folder;
  const std::string file = folder.path() + "/a.txt";
  EXPECT_EQ(state_of(file), "{\"path\":\"" + file + "\",\"exists\":false}");
  write(file, "x: \"1\"\n");
  EXPECT_EQ(state_of(file), "{\"path\":\"" + file + "\",\"exists\":true,\"content\":\"x: \\\"1\\\"\\n\"}");
  write(file, "\xff\xfe\x01");
  EXPECT_THAT(state_of(file), HasSubstr("\"contentBase64\":\"//4B\""));
}

TEST(FileState, TellsSizeAndHashOfWhatIsTooLarge) {
  const test::ScratchFolder folder;
  const std::string file = folder.path() + "/a";
  write(file, "0123456789a");
  // printf 0123456789a | sha256sum
  EXPECT_THAT(
      state_of(file, 10),
      HasSubstr("\"size\":11,\"sha256\":\"73ceda67679033f468e81fc709c07fdb6bc02e0b6df5edf314dac5f4f6931b27\"}"));
}

TEST(FileState, TellsTheFilesOfAFolderWithoutTheTwinsOfAMount) {
  const test::ScratchFolder folder;
  EXPECT_EQ(state_of(folder.path()), "{\"path\":\"" + folder.path() + "\",\"exists\":true,\"files\":{}}");
  fs::create_directory(folder.path() + "/..one");
  fs::create_directory(folder.path() + "/below");
  write(folder.path() + "/..one/b", "B");
  fs::create_directory_symlink("..one", folder.path() + "/..data");
  fs::create_symlink("..data/b", folder.path() + "/b");
  write(folder.path() + "/a", "A");
  ::mkfifo((folder.path() + "/pipe").c_str(), 0600);
  EXPECT_THAT(state_of(folder.path()), HasSubstr("\"files\":{\"a\":{\"content\":\"A\"},\"b\":{\"content\":\"B\"}}}"));
}

TEST(FileState, WhatIsNeitherFileNorFolderIsAnError) {
  const test::ScratchFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  ::mkfifo(pipe.c_str(), 0600);
  EXPECT_EQ(state_of(pipe), "error: " + pipe + ": neither a file nor a folder");
}

TEST(FileState, AFolderOfTooManyFilesIsAnError) {
  const test::ScratchFolder folder;
  for (size_t i = 0; i <= FileState::kMaxFiles; ++i) write(folder.path() + "/f" + std::to_string(i), "");
  EXPECT_THAT(state_of(folder.path()), HasSubstr("more than 1000 files"));
}

// The real inotify, in real time.
class FileSourceTest : public testing::Test {
 protected:
  FileSourceTest() {
    hook->name = "h";
    binding.name = "conf";
    binding.file = folder.path() + "/conf";
    binding.settle = 30ms;
  }
  void start() {
    hook->sources = {binding};
    source = SourceTrigger::make(hook, hook->sources.front(),
                                 {scheduler, random, metrics, launcher, &inotify, nullptr, nullptr, "", {}},
                                 [this](const std::string& key, hook::Event event, bool) {
                                   EXPECT_EQ(key, "source conf");
                                   data.push_back(*event.data);
                                   old.push_back(event.old_data ? *event.old_data : "");
                                   if (keep) events.push_back(std::move(event));
                                 });
    source->start();
  }
  // The content of the next event; "gone", or "nothing came".
  std::string next() {
    if (data.empty()) run_until([this] { return !data.empty(); }, 5s);
    if (data.empty()) return "nothing came";
    last = data.front();
    last_old = old.front();
    data.erase(data.begin());
    old.erase(old.begin());
    return content(last);
  }
  static std::string content(const std::string& text) {
    if (text.empty()) return "";
    const auto value = *parse_json(text);
    if (!value.at("exists").as_bool()) return "gone";
    if (const auto* files = value.as_object().if_contains("files")) {
      std::string all;
      for (const auto& [name, file] : files->as_object())
        all += fmt::format("{}{}={}", all.empty() ? "" : " ", std::string_view(name),
                           file.at("content").as_string().c_str());
      return all;
    }
    return value.at("content").as_string().c_str();
  }
  bool nothing_comes() {
    run_until([this] { return !data.empty(); }, 300ms);
    return data.empty();
  }
  void run_until(const std::function<bool()>& there, Duration most) {
    const SteadyTime end = scheduler.now() + most;
    while (!there() && scheduler.now() < end) {
      context.restart();
      context.run_one_for(20ms);
    }
  }

  test::ScratchFolder folder;
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};
  SeededRandom random;
  metrics::Registry metrics;
  test::FakeLauncher launcher{scheduler};
  Inotify inotify{scheduler};
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  hook::SourceBinding binding;
  std::vector<std::string> data, old;
  std::vector<hook::Event> events;
  bool keep = false;
  std::string last, last_old;
  std::unique_ptr<SourceTrigger> source;
};

TEST_F(FileSourceTest, TellsWhatIsThereAndThenWhatChanged) {
  write(binding.file, "one");
  start();
  EXPECT_EQ(next(), "one");
  EXPECT_EQ(last_old, "");
  write(binding.file, "two");
  EXPECT_EQ(next(), "two");
  EXPECT_EQ(content(last_old), "one");
}

TEST_F(FileSourceTest, TheSameContentAgainIsNoEvent) {
  write(binding.file, "one");
  start();
  EXPECT_EQ(next(), "one");
  write(binding.file, "one");
  fs::permissions(binding.file, fs::perms::owner_all);
  EXPECT_TRUE(nothing_comes());
}

TEST_F(FileSourceTest, WithExistingNoneTheFirstEventIsTheFirstChange) {
  binding.existing = false;
  write(binding.file, "one");
  start();
  EXPECT_TRUE(nothing_comes());
  write(binding.file, "two");
  EXPECT_EQ(next(), "two");
  EXPECT_EQ(content(last_old), "one");
}

TEST_F(FileSourceTest, SeesReplacedRemovedAndRemadeFiles) {
  write(binding.file, "one");
  start();
  EXPECT_EQ(next(), "one");
  write(folder.path() + "/new", "two");
  fs::rename(folder.path() + "/new", binding.file);
  EXPECT_EQ(next(), "two");
  fs::remove(binding.file);
  EXPECT_EQ(next(), "gone");
  write(binding.file, "three");
  EXPECT_EQ(next(), "three");
  EXPECT_EQ(content(last_old), "gone");
}

TEST_F(FileSourceTest, SeesWritesToAFileThatStaysOpen) {
  std::ofstream file(binding.file);
  file << "a" << std::flush;
  start();
  EXPECT_EQ(next(), "a");
  file << "b" << std::flush;
  EXPECT_EQ(next(), "ab");
}

TEST_F(FileSourceTest, SeesFoldersOnTheWayComeAndGo) {
  binding.file = folder.path() + "/x/y/conf";
  start();
  EXPECT_EQ(next(), "gone");
  fs::create_directories(folder.path() + "/x/y");
  write(binding.file, "one");
  EXPECT_EQ(next(), "one");
  fs::rename(folder.path() + "/x", folder.path() + "/z");
  EXPECT_EQ(next(), "gone");
  fs::rename(folder.path() + "/z", folder.path() + "/x");
  EXPECT_EQ(next(), "one");
}

// A ConfigMap mount: files are links through ..data, which is swapped.
TEST_F(FileSourceTest, SeesTheSwapOfAConfigMapMount) {
  for (const char* version : {"/..one", "/..two"}) {
    fs::create_directory(folder.path() + version);
    write(folder.path() + version + "/conf", version);
  }
  fs::create_directory_symlink("..one", folder.path() + "/..data");
  fs::create_symlink("..data/conf", binding.file);
  start();
  EXPECT_EQ(next(), "/..one");
  fs::create_directory_symlink("..two", folder.path() + "/..tmp");
  fs::rename(folder.path() + "/..tmp", folder.path() + "/..data");
  fs::remove_all(folder.path() + "/..one");
  EXPECT_EQ(next(), "/..two");
  EXPECT_TRUE(nothing_comes());
}

TEST_F(FileSourceTest, AFolderIsOneEventWithAllItsFiles) {
  binding.file = folder.path() + "/dir";
  fs::create_directory(binding.file);
  write(binding.file + "/a", "1");
  start();
  EXPECT_EQ(next(), "a=1");
  write(binding.file + "/b", "2");
  EXPECT_EQ(next(), "a=1 b=2");
  EXPECT_EQ(content(last_old), "a=1");
  fs::rename(binding.file, folder.path() + "/away");
  EXPECT_EQ(next(), "gone");
}

TEST_F(FileSourceTest, ManyWritesAtOnceAreOneEvent) {
  binding.settle = 100ms;
  write(binding.file, "0");
  start();
  EXPECT_EQ(next(), "0");
  for (int i = 1; i <= 20; ++i) write(binding.file, std::to_string(i));
  EXPECT_EQ(next(), "20");
  EXPECT_TRUE(nothing_comes());
}

TEST_F(FileSourceTest, WhatChangesWhileTheBufferIsFullBecomesOneEvent) {
  binding.buffer = 1;
  keep = true;
  write(binding.file, "one");
  start();
  EXPECT_EQ(next(), "one");
  write(binding.file, "two");
  EXPECT_TRUE(nothing_comes());
  write(binding.file, "three");
  EXPECT_TRUE(nothing_comes());
  events.clear();
  EXPECT_EQ(next(), "three");
  EXPECT_EQ(content(last_old), "one");
}

TEST_F(FileSourceTest, WhatCannotBeReadIsTroubleAndKeepsWhatWasKnown) {
  write(binding.file, "one");
  start();
  EXPECT_EQ(next(), "one");
  fs::remove(binding.file);
  ::mkfifo(binding.file.c_str(), 0600);
  run_until([this] { return source->trouble().has_value(); }, 5s);
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, HasSubstr("neither a file nor a folder"));
  fs::remove(binding.file);
  write(binding.file, "one");
  run_until([this] { return !source->trouble().has_value(); }, 5s);
  EXPECT_FALSE(source->trouble());
  EXPECT_TRUE(data.empty() || content(data.front()) == "gone");  // it was away for a moment
}

TEST_F(FileSourceTest, StoppedItTellsNothing) {
  start();
  EXPECT_EQ(next(), "gone");
  source->stop();
  write(binding.file, "one");
  EXPECT_TRUE(nothing_comes());
}

// What an older version of the hook left is told first, and start() is before that.
TEST_F(FileSourceTest, TellsNothingFromInsideStart) {
  start();
  EXPECT_THAT(data, IsEmpty());
  EXPECT_EQ(next(), "gone");
}

TEST_F(FileSourceTest, StoppedItTellsWhatWasTouchedAndNotLookedAtYet) {
  binding.settle = 1h;
  binding.existing = false;
  write(binding.file, "one");
  start();
  EXPECT_TRUE(nothing_comes());
  write(binding.file, "two");
  EXPECT_TRUE(nothing_comes());
  source->stop();
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(next(), "two");
  EXPECT_EQ(content(last_old), "one");
  source->stop();
  EXPECT_TRUE(nothing_comes());
}

}  // namespace
}  // namespace hookd::trigger
