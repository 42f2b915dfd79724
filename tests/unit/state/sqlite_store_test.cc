#include "state/sqlite_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"

namespace hookd::state {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
namespace fs = std::filesystem;

class SqliteStoreTest : public testing::Test {
 protected:
  Result<void> open(uint64_t max_bytes = uint64_t{1} << 30) {
    store.reset();
    store = std::make_unique<SqliteStore>(scheduler, SqliteStore::Options{folder, max_bytes});
    return store->open();
  }
  std::vector<std::string> keys(std::string_view table, std::string_view prefix) const {
    std::vector<std::string> all;
    store->each(table, prefix, [&](std::string_view key, std::string_view) { all.emplace_back(key); });
    return all;
  }
  std::vector<std::string> broken_files() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder))
      if (const std::string name = entry.path().filename(); name.starts_with("hookd.db.broken-") && name.ends_with("Z"))
        all.push_back(name);
    std::ranges::sort(all);
    return all;
  }
  static unsigned mode(const std::string& path) {
    struct stat look{};
    EXPECT_EQ(::stat(path.c_str(), &look), 0) << path;
    return look.st_mode & 0777;
  }
  // By another connection, as `sqlite3 hookd.db` would.
  void by_hand(const char* sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((folder + "/hookd.db").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  ManualScheduler scheduler;
  const test::ScratchFolder scratch;
  const std::string& base = scratch.path();
  const std::string folder = base + "/new/state";
  std::unique_ptr<SqliteStore> store;
};

TEST_F(SqliteStoreTest, WhatWasFlushedIsThereAfterARestart) {
  ASSERT_TRUE(open());
  store->put("state", "a", "1");
  store->put("state", "b", R"({"text":"ä\u0000"})");
  store->put("state", "gone", "2");
  store->erase("state", "gone");
  store->put("paused", "a", "3");
  EXPECT_EQ(store->get("state", "a"), "1") << "seen at once";
  store->flush();
  EXPECT_TRUE(store->settled());
  ASSERT_TRUE(open());
  EXPECT_EQ(store->get("state", "a"), "1");
  EXPECT_EQ(store->get("state", "b"), R"({"text":"ä\u0000"})");
  EXPECT_EQ(store->get("state", "gone"), std::nullopt);
  EXPECT_THAT(keys("state", ""), ElementsAre("a", "b"));
  EXPECT_THAT(keys("paused", ""), ElementsAre("a"));
  EXPECT_TRUE(store->durable());
}

TEST_F(SqliteStoreTest, FolderAndFileAreForTheDaemonAlone) {
  ASSERT_TRUE(open());
  EXPECT_EQ(mode(folder), 0700u);
  EXPECT_EQ(mode(folder + "/hookd.db"), 0600u);
  EXPECT_EQ(mode(folder + "/hookd.db-wal"), 0600u);
  EXPECT_EQ(mode(folder + "/hookd.lock"), 0600u);
}

TEST_F(SqliteStoreTest, ChangesAreWrittenSoonByThemselves) {
  ASSERT_TRUE(open());
  store->put("state", "a", "1");
  EXPECT_FALSE(store->settled());
  scheduler.advance(49ms);
  EXPECT_FALSE(store->settled());
  scheduler.advance(1ms);
  EXPECT_TRUE(store->settled());
  EXPECT_TRUE(scheduler.idle()) << "nothing to do any more";
}

TEST_F(SqliteStoreTest, PagesMixWhatWaitsWithWhatIsInTheFile) {
  ASSERT_TRUE(open());
  for (const char* key : {"h\n1", "h\n3", "h\n5", "i\n1"}) store->put("known", key, "old");
  store->flush();
  store->put("known", "h\n2", "new");
  store->put("known", "h\n3", "newer");
  store->put("known", "h\n6", "new");
  store->erase("known", "h\n1");
  store->erase("known", "h\n7");
  store->put("other", "h\n4", "no");
  EXPECT_THAT(store->page("known", "h\n", "", 2), ElementsAre(Pair("h\n2", "new"), Pair("h\n3", "newer")));
  EXPECT_THAT(store->page("known", "h\n", "h\n3", 10), ElementsAre(Pair("h\n5", "old"), Pair("h\n6", "new")));
  EXPECT_THAT(store->page("known", "h\n", "h\n6", 10), IsEmpty());
  EXPECT_THAT(keys("known", ""), ElementsAre("h\n2", "h\n3", "h\n5", "h\n6", "i\n1"));
}

TEST_F(SqliteStoreTest, TenThousandRowsAreWrittenInSmallTransactions) {
  ASSERT_TRUE(open());
  for (size_t i = 0; i < 10'000; ++i) {
    store->put("known", fmt::format("h\npods\n{:05}", i), "1");
    EXPECT_EQ(store->settled(), (i + 1) % SqliteStore::kBatch == 0);
  }
  store->flush();
  ASSERT_TRUE(open());
  EXPECT_EQ(keys("known", "h\n").size(), 10'000u);
}

TEST_F(SqliteStoreTest, ASecondDaemonIsToldWhoHasTheFolder) {
  ASSERT_TRUE(open());
  SqliteStore other(scheduler, {folder});
  const auto opened = other.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kConfig);
  EXPECT_THAT(
      opened.error().what,
      AllOf(HasSubstr("used by another hookd (process " + std::to_string(::getpid()) + ")"), HasSubstr(folder)));
  store->put("state", "a", "1");
  store->flush();
  EXPECT_FALSE(store->trouble());
  store.reset();
  EXPECT_TRUE(other.open()) << "free again";
  EXPECT_EQ(other.get("state", "a"), "1");
}

TEST_F(SqliteStoreTest, ABrokenFileIsSetAsideAndTold) {
  fs::create_directories(folder);
  ASSERT_TRUE(write_file(folder + "/hookd.db", std::string(9000, 'x')));
  test::LogTap log;
  ASSERT_TRUE(open());
  EXPECT_EQ(log.count("broken and was set aside"), 1u);
  EXPECT_EQ(log.first("set aside").level, log::Level::kError);
  EXPECT_THAT(broken_files(), ElementsAre("hookd.db.broken-20260101T000000Z"));
  store->put("state", "a", "1");
  store->flush();
  ASSERT_TRUE(open());
  EXPECT_EQ(store->get("state", "a"), "1");
}

TEST_F(SqliteStoreTest, DamageInTheMiddleIsFoundAtTheStart) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 2000; ++i) store->put("state", fmt::format("{:05}", i), std::string(200, 'v'));
  store->flush();
  store.reset();
  {
    std::fstream file(folder + "/hookd.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 5);
    file << std::string(4096 * 20, '\x5a');
  }
  test::LogTap log;
  ASSERT_TRUE(open());
  EXPECT_EQ(log.count("broken and was set aside"), 1u);
  EXPECT_THAT(keys("state", ""), IsEmpty());
  EXPECT_EQ(broken_files().size(), 1u);
}

// "Cannot be read" must never be taken for "there is no such row".
TEST_F(SqliteStoreTest, DamageThatAReadMeetsIsAnErrorAndSeen) {
  ASSERT_TRUE(open());
  const std::string value(2000, 'v');
  for (int i = 0; i < 6000; ++i) store->put("state", fmt::format("{:05}", i), value);  // more than SQLite's cache holds
  ASSERT_TRUE(open());
  {
    std::fstream file(folder + "/hookd.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(11u << 20, '\x5a');
  }
  test::LogTap log;
  std::optional<Error> error;
  for (int i = 0; i < 6000 && !error; ++i)
    if (const auto row = store->read("state", fmt::format("{:05}", i)); !row) error = row.error();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what, HasSubstr("hookd.db: read: "));
  ASSERT_TRUE(store->trouble());
  EXPECT_EQ(log.count("the state cannot be read"), 1u);
  EXPECT_FALSE(store->each("state", "", [](std::string_view, std::string_view) {}));
  store->put("state", "new", "1");
  EXPECT_EQ(store->get("state", "new"), "1");  // what waits is in memory
}

// Names of one cluster mean nothing in another.
TEST_F(SqliteStoreTest, EachClusterHasItsOwnRows) {
  const auto use = [&](const std::string& cluster) {
    ASSERT_TRUE(open());
    const auto used = store->belong_to(cluster);
    ASSERT_TRUE(used) << used.error().what;
  };
  ASSERT_TRUE(open());
  store->put("state", "h", "\"of a\"");  // by an older version: of no cluster, so of the one that it is used with
  use("aaaa");
  EXPECT_EQ(store->get("state", "h"), "\"of a\"");
  test::LogTap log;
  use("bbbb");
  EXPECT_EQ(store->get("state", "h"), std::nullopt);
  EXPECT_EQ(log.count("another cluster than before"), 1u);
  store->put("state", "h", "\"of b\"");
  use("bbbb");
  EXPECT_EQ(store->get("state", "h"), "\"of b\"");
  use("aaaa");
  EXPECT_EQ(store->get("state", "h"), "\"of a\"");
  use("bbbb");
  EXPECT_EQ(store->get("state", "h"), "\"of b\"");
  for (int i = 0; i < 12; ++i) use(fmt::format("cc{:02}", i));
  size_t aside = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    aside += entry.path().filename().string().starts_with("hookd.db.cluster-") ? 1 : 0;
  EXPECT_EQ(aside, SqliteStore::kClusters);
  use("cc05");
  EXPECT_FALSE(store->trouble());
}

// What one cluster kept is never taken for another's, and comes back when it can be moved.
TEST_F(SqliteStoreTest, RowsThatCannotBeSetAsideAreNotTheNextClusters) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(store->belong_to("aaaa"));
  store->put("state", "h", "\"of a\"");
  fs::create_directories(folder + "/hookd.db.cluster-aaaa/in-the-way");
  for (int i = 0; i < 2; ++i) {
    const auto used = store->belong_to("bbbb");
    ASSERT_FALSE(used);
    EXPECT_THAT(used.error().what, HasSubstr("hookd.db.cluster-aaaa"));
  }
  fs::remove_all(folder + "/hookd.db.cluster-aaaa");
  ASSERT_TRUE(store->belong_to("bbbb"));
  EXPECT_EQ(store->get("state", "h"), std::nullopt);
  ASSERT_TRUE(store->belong_to("aaaa"));
  EXPECT_EQ(store->get("state", "h"), "\"of a\"");
}

TEST_F(SqliteStoreTest, OfBrokenFilesOnlyTheNewestStay) {
  fs::create_directories(folder);
  for (int i = 0; i < 5; ++i) {
    store.reset();
    ASSERT_TRUE(write_file(folder + "/hookd.db", std::string(9000, 'x')));
    fs::remove(folder + "/hookd.db-wal");
    ASSERT_TRUE(open());
    scheduler.advance(1s);
  }
  EXPECT_THAT(broken_files(), ElementsAre("hookd.db.broken-20260101T000002Z", "hookd.db.broken-20260101T000003Z",
                                          "hookd.db.broken-20260101T000004Z"));
}

TEST_F(SqliteStoreTest, AFileOfANewerHookdIsNotTouched) {
  ASSERT_TRUE(open());
  store->put("state", "a", "1");
  store.reset();
  by_hand("PRAGMA user_version = 7");
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("written by a newer hookd (schema 7, this one knows 1)"));
  EXPECT_THAT(broken_files(), IsEmpty());
}

TEST_F(SqliteStoreTest, AFolderThatCannotBeMadeIsAnError) {
  ASSERT_TRUE(write_file(base + "/new", "a file"));
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, AllOf(HasSubstr("stateDir " + folder), HasSubstr("cannot be made")));
}

TEST_F(SqliteStoreTest, AFullFileIsTroubleUntilThereIsRoom) {
  ASSERT_TRUE(open(64 << 10));
  store->put("state", "small", "1");
  store->flush();
  test::LogTap log;
  store->put("state", "large", std::string(200 << 10, 'x'));
  store->flush();
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what, AllOf(HasSubstr("hookd.db"), HasSubstr("full"), HasSubstr("make room")));
  EXPECT_EQ(log.count("goes on in memory"), 1u);
  EXPECT_TRUE(store->settled()) << "a stop does not wait for what cannot be";
  EXPECT_EQ(store->get("state", "large")->size(), size_t{200 << 10}) << "from memory";
  EXPECT_EQ(store->get("state", "small"), "1");
  store->put("state", "other", "2");
  store->erase("state", "large");
  scheduler.advance(4s);
  EXPECT_TRUE(store->trouble());
  scheduler.advance(1s);
  EXPECT_FALSE(store->trouble());
  EXPECT_EQ(log.count("can be written again"), 1u);
  ASSERT_TRUE(open());
  EXPECT_THAT(keys("state", ""), ElementsAre("other", "small"));
}

TEST_F(SqliteStoreTest, AnotherProgramThatHoldsTheFileIsWaitedFor) {
  ASSERT_TRUE(open());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((folder + "/hookd.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  store->put("state", "a", "1");
  store->flush();
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what, HasSubstr("another program holds it"));
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  scheduler.advance(SqliteStore::kRetry);
  EXPECT_FALSE(store->trouble());
  ASSERT_TRUE(open());
  EXPECT_EQ(store->get("state", "a"), "1");
}

// The WAL grows past the size at which it is moved into the file, by its own thread, while rows go on being written.
TEST_F(SqliteStoreTest, CheckpointsLoseNothing) {
  ASSERT_TRUE(open());
  const std::string value(2000, 'v');
  for (int i = 0; i < 6000; ++i) store->put("state", fmt::format("{:05}", i), value);
  store->flush();
  EXPECT_LT(fs::file_size(folder + "/hookd.db-wal"), 40u << 20);
  ASSERT_TRUE(open());
  EXPECT_EQ(keys("state", "").size(), 6000u);
}

// A daemon that is killed at any moment: every row that was flushed is there, and the file is whole.
TEST_F(SqliteStoreTest, SigkillLosesNothingThatWasFlushed) {
  for (int round = 0; round < 10; ++round) {
    int told[2];
    ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ManualScheduler own;
      SqliteStore writing(own, {folder});
      if (!writing.open()) ::_exit(3);
      for (int i = 0;; ++i) {
        writing.put("state", fmt::format("{}-{:06}", round, i), std::string(300, 'v'));
        writing.flush();
        if (::write(told[1], &i, sizeof i) != sizeof i) ::_exit(4);
      }
    }
    ::close(told[1]);
    int last = -1;
    for (int seen = -1; last < 200 + round * 37 && ::read(told[0], &seen, sizeof seen) == sizeof seen;) last = seen;
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    for (int seen = -1; ::read(told[0], &seen, sizeof seen) == sizeof seen;) last = seen;
    ::close(told[0]);
    ASSERT_TRUE(open());
    const auto rows = keys("state", fmt::format("{}-", round));
    EXPECT_GE(rows.size(), static_cast<size_t>(last) + 1);
    EXPECT_THAT(broken_files(), IsEmpty());
    store.reset();
  }
}

}  // namespace
}  // namespace hookd::state
