// The store in a folder (`stateDir`): hookd.db, one table of rows. Thread: loop only, but for checkpoints.
//
//   put, erase ──► rows that wait (memory) ──► one transaction every 50 ms, at kBatch rows, or at flush()
//   get, page  ◄── rows that wait, then the file
//
// A commit is a write into the WAL without fsync (synchronous NORMAL): SIGKILL loses nothing that was flushed, a power
// cut may lose the last moments, neither breaks the file. The WAL goes into the file on a thread of its own, with its
// own connection, as that is where fsync may take long.
//
//   what goes wrong                        what happens
//   another daemon has the folder          open() fails and names it (hookd.lock, flock)
//   folder cannot be made or written       open() fails
//   written by a newer hookd               open() fails
//   the file is broken                     set aside as hookd.db.broken-TIME (kBroken of them stay), an error in the
//   log,
//                                          an empty one begun
//   disk full, read-only, I/O error        trouble(); what was put stays in memory and is tried again every kRetry;
//                                          what cannot be read is an error of read(), never "no such row"
//   it is of another cluster               set aside as hookd.db.cluster-UID (kClusters of them stay) until that
//                                          cluster comes back; its own, or an empty one, is taken up
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/scheduler.h"
#include "state/store.h"
#include "state/waiting_rows.h"

struct sqlite3;
struct sqlite3_stmt;

namespace hookd::state {

class SqliteStore final : public Store {
 public:
  struct Options {
    std::string folder;
    uint64_t max_bytes = uint64_t{1} << 30;  // of the file; past it trouble(): "full"
  };
  SqliteStore(Scheduler& scheduler, Options options);
  ~SqliteStore() override;

  // Before anything else. Errors: kConfig, as the table above says.
  Result<void> open();
  // Which cluster the rows are to be about, by the uid of its namespace kube-system; before any of them is used. Rows
  // of no cluster (older versions) are taken for its own. Errors: kConfig: the files cannot be changed over.
  Result<void> belong_to(const std::string& cluster);

  Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const override;
  void put(std::string_view table, std::string_view key, std::string_view value) override;
  void erase(std::string_view table, std::string_view key) override;
  Result<void> each(std::string_view table, std::string_view key_prefix,
                    const std::function<void(std::string_view, std::string_view)>& visit) const override;
  Rows page(std::string_view table, std::string_view key_prefix, std::string_view after, size_t limit) const override;
  void flush() override;
  bool settled() const override { return waiting_.empty() || trouble_; }
  bool durable() const override { return true; }
  bool keeps(std::string_view) const override { return true; }
  std::optional<Error> trouble() const override { return trouble_ ? trouble_ : read_trouble_; }

  static constexpr Duration kCommitAfter = std::chrono::milliseconds(50);
  static constexpr Duration kRetry = std::chrono::seconds(5);
  static constexpr size_t kBatch = 256;          // rows in one transaction: about a millisecond
  static constexpr int kCheckpointPages = 1000;  // of 4 KiB in the WAL
  static constexpr size_t kBroken = 3;
  static constexpr size_t kClusters = 8;

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

  std::string path() const { return options_.folder + "/hookd.db"; }
  Result<void> lock_folder();
  // As Result, SQLite's code in Error::http_status is not meant for people: see failure().
  Result<void> open_file();
  Result<void> set_up();
  Result<void> prepare(Statement& statement, const char* sql);
  Result<void> execute(const char* sql);
  Failure failure(std::string_view doing) const;
  bool is_broken() const { return broken_; }
  void set_aside();
  void close_file();
  void arm();
  bool write_batch();  // false: not possible now
  Result<void> write_rows(size_t count);
  void in_trouble(Error error);
  void checkpoint_if_due();
  Result<Rows> read_page(std::string_view table, std::string_view key_prefix, std::string_view after,
                         size_t limit) const;
  Failure read_failed() const;
  void read_well() const;
  Result<void> move(const std::string& from, const std::string& to);  // the file is closed then
  void keep_newest(std::string_view prefix, size_t most);

  Scheduler& scheduler_;
  Options options_;
  Fd lock_;
  std::unique_ptr<sqlite3, Closer> db_;
  Statement get_, put_, erase_, page_, begin_, commit_, rollback_;
  WaitingRows waiting_;
  Timer timer_;
  SteadyTime next_try_{};  // while in trouble
  std::optional<Error> trouble_;
  mutable bool broken_ = false;                // what SQLite said last: the file itself is damaged
  mutable std::optional<Error> read_trouble_;  // of the last read
  int wal_pages_ = 0;
  std::atomic<bool> checkpointing_ = false;
  std::jthread checkpointer_;
};

}  // namespace hookd::state
