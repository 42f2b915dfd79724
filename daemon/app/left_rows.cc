#include "app/left_rows.h"

#include <algorithm>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/time.h"

namespace hookd::app {
namespace {

constexpr std::string_view kGone = "gone";
// Whose keys begin with the hook's name; `gone` is the last to go.
constexpr std::string_view kTables[] = {"state",  "parked",  "known",   "ticked", "guard",
                                        "paused", "handled", "written", kGone};

struct Absence {
  WallTime since{};
  int64_t looks = 0;
};

std::optional<Absence> absence(const std::optional<std::string>& row) {
  if (!row) return std::nullopt;
  const auto read = parse_json(*row);
  const auto* looks = read && read->is_object() ? read->get_object().if_contains("looks") : nullptr;
  const auto since = parse_rfc3339(json_string_at(*row, {"since"}).value_or(""));
  if (!since || !looks || !looks->is_int64()) return std::nullopt;
  return Absence{*since, looks->get_int64()};
}

}  // namespace

LeftRows::LeftRows(Scheduler& scheduler, state::Store& store, Seams seams)
    : scheduler_(scheduler), store_(store), seams_(std::move(seams)) {}

void LeftRows::start() {
  if (store_.durable()) timer_ = scheduler_.after(kLook, [this] { begin(); });
}

void LeftRows::later(void (LeftRows::*next)()) {
  timer_ = scheduler_.after(Duration::zero(), [this, next] { (this->*next)(); });
}

void LeftRows::begin() {
  if (!seams_.certain()) return start();
  table_ = 0;
  after_.clear();
  found_.clear();
  find();
}

// From each hook's first row to the next hook's: a hook may have a hundred thousand of them.
void LeftRows::find() {
  for (size_t count = 0; count < kSlice; ++count) {
    if (table_ == std::size(kTables)) return judge();
    const auto rows = store_.page(kTables[table_], "", after_, 1);
    if (rows.empty()) {
      ++table_;
      after_.clear();
      continue;
    }
    const std::string hook = rows.front().first.substr(0, rows.front().first.find('\n'));
    found_.push_back(hook);
    // The character behind '\n': behind all rows of that hook, and before those of "HOOK-x" and "HOOK.x".
    after_ = hook + '\x0b';
  }
  later(&LeftRows::find);
}

void LeftRows::judge() {
  if (!seams_.certain()) return start();
  std::ranges::sort(found_);
  found_.erase(std::ranges::unique(found_).begin(), found_.end());
  doomed_.clear();
  const WallTime now = scheduler_.wall_now();
  for (const std::string& hook : found_) {
    const auto row = store_.read(kGone, hook);
    if (!row) return start();
    if (seams_.may_come(hook)) {
      if (*row) store_.erase(kGone, hook);
      continue;
    }
    Absence gone = absence(*row).value_or(Absence{now, 0});
    if (gone.looks == 0)
      log::info("what a hook that is no more kept stays for a while, in case it comes back",
                {{"hook", hook}, {"for", format_duration(kKeep)}});
    if (++gone.looks > kLooks && now - gone.since >= kKeep) {
      doomed_.push_back(hook);
      continue;
    }
    JsonWriter out;
    out.begin_object().key("since").string(format_rfc3339(gone.since)).key("looks").number(gone.looks).end_object();
    store_.put(kGone, hook, std::move(out).take());
  }
  table_ = 0;
  drop();
}

void LeftRows::drop() {
  size_t erased = 0;
  while (!doomed_.empty()) {
    const std::string& hook = doomed_.back();
    if (seams_.may_come(hook)) {  // it came while its rows went
      doomed_.pop_back();
      table_ = 0;
      continue;
    }
    if (table_ == std::size(kTables)) {
      log::warn("a hook has been gone for long: what it kept is dropped",
                {{"hook", hook}, {"after", format_duration(kKeep)}});
      doomed_.pop_back();
      table_ = 0;
      continue;
    }
    store_.erase(kTables[table_], hook);
    const auto rows = store_.page(kTables[table_], hook + "\n", "", kErased);
    for (const auto& [key, value] : rows) store_.erase(kTables[table_], key);
    erased += rows.size();
    if (rows.size() < kErased) ++table_;
    if (erased >= kErased) return later(&LeftRows::drop);
  }
  start();
}

}  // namespace hookd::app
