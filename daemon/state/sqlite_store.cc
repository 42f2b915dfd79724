#include "state/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "base/time.h"

namespace hookd::state {
namespace {

namespace fs = std::filesystem;

constexpr int kSchema = 1;                                   // PRAGMA user_version
constexpr std::string_view kParts[] = {"", "-wal", "-shm"};  // of its files
constexpr uint64_t kPageBytes = 4096;                        // SQLite's default since 3.12

// Resets a statement when its use is over, so that it holds no lock and no text of ours.
struct Use {
  explicit Use(sqlite3_stmt* s) : statement(s) {}
  ~Use() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  void bind(int index, std::string_view text) const {
    sqlite3_bind_blob64(statement, index, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC);
  }
  int step() const { return sqlite3_step(statement); }
  std::string column(int index) const {
    const void* bytes = sqlite3_column_blob(statement, index);
    const int size = sqlite3_column_bytes(statement, index);
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
  }
  sqlite3_stmt* statement;
};

// The first key behind every key with that prefix; "" = there is none.
std::string behind(std::string_view prefix) {
  std::string key(prefix);
  while (!key.empty() && static_cast<unsigned char>(key.back()) == 0xff) key.pop_back();
  if (!key.empty()) key.back() = static_cast<char>(static_cast<unsigned char>(key.back()) + 1);
  return key;
}

}  // namespace

void SqliteStore::Closer::operator()(sqlite3* db) const { sqlite3_close_v2(db); }
void SqliteStore::Closer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteStore::SqliteStore(Scheduler& scheduler, Options options) : scheduler_(scheduler), options_(std::move(options)) {}

SqliteStore::~SqliteStore() {
  flush();
  if (checkpointer_.joinable()) checkpointer_.join();
}

Result<void> SqliteStore::open() {
  std::error_code error;
  const bool made = fs::create_directories(options_.folder, error);
  if (error)
    return fail(Errc::kConfig, "stateDir {} cannot be made: {}; give hookd a folder that it may write", options_.folder,
                error.message());
  if (made) ::chmod(options_.folder.c_str(), 0700);
  HOOKD_CHECK(lock_folder());
  auto opened = open_file();
  if (!opened && is_broken()) {
    log::error("the state is broken and was set aside; hookd goes on without what it kept",
               {{"file", path()}, {"error", opened.error().what}});
    set_aside();
    opened = open_file();
  }
  return opened;
}

// Released by the kernel when the process ends, however it ends.
Result<void> SqliteStore::lock_folder() {
  const std::string file = options_.folder + "/hookd.lock";
  lock_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_)
    return fail(Errc::kConfig, "stateDir {}: hookd.lock cannot be opened: {}; give hookd a folder that it may write",
                options_.folder, std::strerror(errno));
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    char text[32] = {};
    const ssize_t size = ::pread(lock_.get(), text, sizeof(text) - 1, 0);
    const std::string pid =
        size > 0 ? fmt::format(" (process {})", std::string_view(text).substr(0, std::strcspn(text, "\n")))
                 : std::string();
    return fail(Errc::kConfig, "stateDir {} is used by another hookd{}; each needs a folder of its own",
                options_.folder, pid);
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // Only for that message: a full disk must not keep the daemon from starting.
  [[maybe_unused]] const bool written =
      ::ftruncate(lock_.get(), 0) == 0 && ::pwrite(lock_.get(), pid.data(), pid.size(), 0) > 0;
  return {};
}

Failure SqliteStore::failure(std::string_view doing) const {
  const int code = db_ ? sqlite3_errcode(db_.get()) & 0xff : SQLITE_CANTOPEN;
  broken_ = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
  const std::string_view hint = code == SQLITE_FULL ? "; make room"
                                : code == SQLITE_READONLY || code == SQLITE_CANTOPEN
                                    ? "; give hookd a folder that it may write"
                                : code == SQLITE_BUSY ? "; another program holds it, such as sqlite3"
                                                      : "";
  return fail(Errc::kConfig, "{}: {}: {}{}", path(), doing, db_ ? sqlite3_errmsg(db_.get()) : "out of memory", hint);
}

Result<void> SqliteStore::execute(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure(sql);
  return {};
}

Result<void> SqliteStore::prepare(Statement& statement, const char* sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK)
    return failure("read");
  statement.reset(made);
  return {};
}

Result<void> SqliteStore::open_file() {
  close_file();
  // Made here, so that its mode does not depend on the umask; SQLite gives -wal and -shm the same. Never opened again
  // while SQLite has it: closing a descriptor drops the process's POSIX locks on the file.
  Fd(::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  sqlite3* made = nullptr;
  const int code =
      sqlite3_open_v2(path().c_str(), &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  db_.reset(made);
  broken_ = false;
  auto result = code == SQLITE_OK ? set_up() : Result<void>(failure("open"));
  if (!result) close_file();
  return result;
}

Result<void> SqliteStore::set_up() {
  sqlite3_busy_timeout(db_.get(), 0);
  HOOKD_CHECK(execute("PRAGMA journal_mode = WAL"));
  HOOKD_CHECK(execute("PRAGMA synchronous = NORMAL"));
  HOOKD_CHECK(execute("PRAGMA trusted_schema = OFF"));
  HOOKD_CHECK(execute("PRAGMA wal_autocheckpoint = 0"));
  HOOKD_CHECK(execute(fmt::format("PRAGMA max_page_count = {}", options_.max_bytes / kPageBytes).c_str()));
  {
    Statement check;
    HOOKD_CHECK(prepare(check, "PRAGMA quick_check(1)"));
    const Use use(check.get());
    if (use.step() != SQLITE_ROW) return failure("check");
    if (const std::string found = use.column(0); found != "ok") {
      broken_ = true;
      return fail(Errc::kConfig, "{}: {}", path(), found);
    }
  }
  Statement version;
  HOOKD_CHECK(prepare(version, "PRAGMA user_version"));
  int schema = 0;
  if (const Use use(version.get()); use.step() == SQLITE_ROW) schema = sqlite3_column_int(version.get(), 0);
  version.reset();
  if (schema > kSchema)
    return fail(Errc::kConfig,
                "{} was written by a newer hookd (schema {}, this one knows {}); use that, or another stateDir", path(),
                schema, kSchema);
  if (schema == 0) {
    HOOKD_CHECK(execute("BEGIN IMMEDIATE"));
    HOOKD_CHECK(
        execute("CREATE TABLE IF NOT EXISTS rows (tab BLOB NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, "
                "PRIMARY KEY (tab, key)) WITHOUT ROWID"));
    HOOKD_CHECK(execute(fmt::format("PRAGMA user_version = {}", kSchema).c_str()));
    HOOKD_CHECK(execute("COMMIT"));
  }
  HOOKD_CHECK(prepare(get_, "SELECT value FROM rows WHERE tab = ?1 AND key = ?2"));
  HOOKD_CHECK(prepare(put_,
                      "INSERT INTO rows (tab, key, value) VALUES (?1, ?2, ?3) "
                      "ON CONFLICT (tab, key) DO UPDATE SET value = excluded.value"));
  HOOKD_CHECK(prepare(erase_, "DELETE FROM rows WHERE tab = ?1 AND key = ?2"));
  HOOKD_CHECK(prepare(page_,
                      "SELECT key, value FROM rows WHERE tab = ?1 AND key >= ?2 AND key > ?3 AND key < ?4 "
                      "ORDER BY key LIMIT ?5"));
  HOOKD_CHECK(prepare(begin_, "BEGIN IMMEDIATE"));
  HOOKD_CHECK(prepare(commit_, "COMMIT"));
  HOOKD_CHECK(prepare(rollback_, "ROLLBACK"));
  sqlite3_wal_hook(
      db_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<SqliteStore*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  return {};
}

void SqliteStore::close_file() {
  if (checkpointer_.joinable()) checkpointer_.join();
  for (Statement* statement : {&get_, &put_, &erase_, &page_, &begin_, &commit_, &rollback_}) statement->reset();
  db_.reset();
}

void SqliteStore::set_aside() {
  std::string time = format_rfc3339(scheduler_.wall_now());
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  const std::string to = path() + ".broken-" + time;
  if (const auto moved = move(path(), to); !moved) return log::error(moved.error().what);
  // When it was set aside, not when it was written last.
  std::error_code ignored;
  fs::last_write_time(to, fs::file_time_type::clock::now(), ignored);
  // A disk that breaks the file again and again must not be filled with them.
  keep_newest("hookd.db.broken-", kBroken);
}

// Neither may be open afterwards with rows of the other: what is beside `to` goes with what was there.
Result<void> SqliteStore::move(const std::string& from, const std::string& to) {
  close_file();
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return fail(Errc::kConfig, "{} cannot be moved to {}: {}", from, to, error.message());
  for (const std::string_view part : {kParts[1], kParts[2]}) {
    fs::rename(from + std::string(part), to + std::string(part), error);
    if (error) fs::remove(to + std::string(part), error);
  }
  return {};
}

void SqliteStore::keep_newest(std::string_view prefix, size_t most) {
  std::vector<std::pair<fs::file_time_type, std::string>> kept;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && !name.ends_with("-wal") && !name.ends_with("-shm"))
      kept.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  std::ranges::sort(kept);
  for (size_t i = 0; i + most < kept.size(); ++i)
    for (const std::string_view part : kParts) fs::remove(kept[i].second + std::string(part), ignored);
}

Result<void> SqliteStore::belong_to(const std::string& cluster) {
  constexpr std::string_view kTable = "cluster", kKey = "uid";
  if (!db_) HOOKD_CHECK(open_file());
  HOOKD_TRY(const auto before, read(kTable, kKey));
  if (before == cluster) return {};
  if (before) {
    flush();
    if (trouble_) return fail(*trouble_);
    const auto aside = [&](const std::string& uid) { return path() + ".cluster-" + uid; };
    std::error_code none;
    const bool was_here = fs::exists(aside(cluster), none);
    HOOKD_CHECK(move(path(), aside(*before)));
    fs::last_write_time(aside(*before), fs::file_time_type::clock::now(), none);  // that of setting it aside
    if (const auto taken = was_here ? move(aside(cluster), path()) : Result<void>(); !taken) {
      HOOKD_CHECK(move(aside(*before), path()));  // as before, for the next try
      return taken;
    }
    log::warn(was_here ? "another cluster than before: its own state of before is taken up"
                       : "another cluster than before: an empty state is begun",
              {{"file", path()}, {"cluster", cluster}, {"setAside", aside(*before)}});
    keep_newest("hookd.db.cluster-", kClusters);
    HOOKD_CHECK(open_file());
  }
  put(kTable, kKey, cluster);
  flush();
  return {};
}

// ---------------------------------------------------------------- reading

Result<std::optional<std::string>> SqliteStore::read(std::string_view table, std::string_view key) const {
  if (const auto* waiting = waiting_.find(table, key)) return *waiting;
  if (!db_) return read_failed();
  const Use use(get_.get());
  use.bind(1, table);
  use.bind(2, key);
  const int code = use.step();
  if (code != SQLITE_ROW && code != SQLITE_DONE) return read_failed();
  read_well();
  return code == SQLITE_ROW ? std::optional(use.column(0)) : std::nullopt;
}

Store::Rows SqliteStore::page(std::string_view table, std::string_view key_prefix, std::string_view after,
                              size_t limit) const {
  return read_page(table, key_prefix, after, limit).value_or(Rows());
}

Result<Store::Rows> SqliteStore::read_page(std::string_view table, std::string_view key_prefix, std::string_view after,
                                           size_t limit) const {
  Rows rows;
  auto next = waiting_.rows().lower_bound(WaitingRows::Place(table, std::max(key_prefix, after)));
  // What waits up to and with `key`; a row of the file that waits for a change is told by that.
  const auto merge = [&](const std::string* key) {
    bool same = false;
    for (; next != waiting_.rows().end() && rows.size() < limit; ++next) {
      const auto& [place, value] = *next;
      if (place.first != table || !place.second.starts_with(key_prefix) || (key && place.second > *key)) break;
      if (place.second <= after) continue;
      same = key && place.second == *key;
      if (value) rows.emplace_back(place.second, *value);
    }
    return same;
  };
  const std::string end = behind(key_prefix);
  if (db_) {
    const Use use(page_.get());
    use.bind(1, table);
    use.bind(2, key_prefix);
    use.bind(3, after);
    const std::string beyond = end.empty() ? std::string(64, '\xff') : end;
    use.bind(4, beyond);
    // Rows that wait to be erased take a place in the answer; they are few.
    sqlite3_bind_int64(use.statement, 5, static_cast<int64_t>(std::min<size_t>(limit + waiting_.size(), 1u << 30)));
    int code = SQLITE_DONE;
    while (rows.size() < limit && (code = use.step()) == SQLITE_ROW) {
      std::string key = use.column(0);
      if (!merge(&key) && rows.size() < limit) rows.emplace_back(std::move(key), use.column(1));
    }
    if (code != SQLITE_DONE && code != SQLITE_ROW) return read_failed();
    read_well();
  }
  merge(nullptr);
  return rows;
}

Result<void> SqliteStore::each(std::string_view table, std::string_view key_prefix,
                               const std::function<void(std::string_view, std::string_view)>& visit) const {
  constexpr size_t kAtOnce = 500;
  std::string after;
  while (true) {
    HOOKD_TRY(const Rows rows, read_page(table, key_prefix, after, kAtOnce));
    for (const auto& [key, value] : rows) visit(key, value);
    if (rows.size() < kAtOnce) return {};
    after = rows.back().first;
  }
}

Failure SqliteStore::read_failed() const {
  auto failed = db_ ? failure("read") : fail(Errc::kConfig, "{} is not open", path());
  if (!read_trouble_) log::error("the state cannot be read", {{"error", failed.error().what}});
  read_trouble_ = failed.error();
  return failed;
}

void SqliteStore::read_well() const {
  if (std::exchange(read_trouble_, std::nullopt)) log::info("the state can be read again", {{"file", path()}});
}

// ---------------------------------------------------------------- writing

void SqliteStore::put(std::string_view table, std::string_view key, std::string_view value) {
  waiting_.set(table, key, std::string(value));
  if (waiting_.size() >= kBatch && !trouble_) write_batch();
  arm();
}

void SqliteStore::erase(std::string_view table, std::string_view key) {
  waiting_.set(table, key, std::nullopt);
  if (waiting_.size() >= kBatch && !trouble_) write_batch();
  arm();
}

void SqliteStore::arm() {
  if (waiting_.empty() || timer_.pending()) return;
  const auto write = [this] {
    write_batch();
    arm();
  };
  timer_ = trouble_ ? scheduler_.at(next_try_, write) : scheduler_.after(kCommitAfter, write);
}

void SqliteStore::flush() {
  // In trouble not at each call: every answer of a hook comes by here.
  if (trouble_ && scheduler_.now() < next_try_) return;
  while (!waiting_.empty() && write_batch()) {
  }
  arm();
}

bool SqliteStore::write_batch() {
  if (waiting_.empty()) return true;
  if (broken_ && trouble_) {
    log::error("the state broke and was set aside; hookd goes on without what it kept", {{"file", path()}});
    set_aside();
  }
  auto written = db_ ? Result<void>{} : open_file();
  const size_t count = std::min(waiting_.size(), kBatch);
  if (written) written = write_rows(count);
  if (!written) {
    in_trouble(written.error());
    return false;
  }
  auto end = waiting_.rows().begin();
  std::advance(end, static_cast<ptrdiff_t>(count));
  waiting_.rows().erase(waiting_.rows().begin(), end);
  if (trouble_) log::info("the state can be written again", {{"file", path()}});
  trouble_.reset();
  checkpoint_if_due();
  return true;
}

Result<void> SqliteStore::write_rows(size_t count) {
  const auto run = [&](const Statement& statement) { return Use(statement.get()).step() == SQLITE_DONE; };
  if (!run(begin_)) return failure("begin");
  const auto give_up = [&](std::string_view doing) {
    auto error = failure(doing);
    if (sqlite3_get_autocommit(db_.get()) == 0) run(rollback_);
    return error;
  };
  for (auto row = waiting_.rows().begin(); count > 0; ++row, --count) {
    const Use use(row->second ? put_.get() : erase_.get());
    use.bind(1, row->first.first);
    use.bind(2, row->first.second);
    if (row->second) use.bind(3, *row->second);
    if (use.step() != SQLITE_DONE) {
      sqlite3_reset(use.statement);
      return give_up("write");
    }
  }
  if (!run(commit_)) return give_up("commit");
  return {};
}

void SqliteStore::in_trouble(Error error) {
  if (!trouble_)
    log::error("the state cannot be written; hookd goes on in memory and tries again",
               {{"error", error.what}, {"every", format_duration(kRetry)}});
  trouble_ = std::move(error);
  next_try_ = scheduler_.now() + kRetry;
  timer_.cancel();
}

// PASSIVE: never waits for a writer and never makes one wait.
void SqliteStore::checkpoint_if_due() {
  if (wal_pages_ < kCheckpointPages || checkpointing_) return;
  if (checkpointer_.joinable()) checkpointer_.join();
  wal_pages_ = 0;
  checkpointing_ = true;
  checkpointer_ = std::jthread([file = path(), running = &checkpointing_] {
    sqlite3* own = nullptr;
    if (sqlite3_open_v2(file.c_str(), &own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) == SQLITE_OK)
      sqlite3_wal_checkpoint_v2(own, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    sqlite3_close(own);
    *running = false;
  });
}

}  // namespace hookd::state
