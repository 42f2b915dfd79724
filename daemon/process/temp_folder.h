// A private folder for one child: TMPDIR. Mode 0700, its user's (the shim of exec_shim.h gives it to another user),
// gone with the child whatever is left in it. One that was left empty and as it was made is kept for the next child:
// making and removing a folder costs as much as half a start of a process. Thread: loop only, but for the removing of
// what is not empty.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/result.h"

namespace hookd::process {

// Removes a folder and everything in it, never following a link nor leaving the file system. Folders that cannot be
// written are made so. Any depth: sub-folders are moved up first, so that no more than three are open at once.
// Errors: kConfig: what could not be removed and why. `stop` = leave the rest.
Result<void> remove_tree(const std::string& path, const std::stop_token& stop = {});

// Folders that are to go, one after another on a thread of its own: a tree of a million files must not hold up the
// loop.
class TempRemover {
 public:
  ~TempRemover();  // what is not removed yet stays for whoever removes the parent
  void remove(std::string path);
  // An empty folder in `parent` that a child before had; "" = there is none.
  std::string take_spare(const std::string& parent);

  static constexpr size_t kMaxSpares = 16;

 private:
  void work(const std::stop_token& stop);
  std::deque<std::string> spares_;  // of the loop's thread alone

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_;
  std::jthread thread_;  // started by the first folder that is not empty
};

class TempFolder {
 public:
  // Below `parent`, with a name that nobody can guess. Errors: kHookFailed.
  static Result<std::unique_ptr<TempFolder>> make(const std::string& parent, std::shared_ptr<TempRemover> remover);
  ~TempFolder() { remover_->remove(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  TempFolder(std::string path, std::shared_ptr<TempRemover> remover)
      : path_(std::move(path)), remover_(std::move(remover)) {}
  std::string path_;
  std::shared_ptr<TempRemover> remover_;
};

}  // namespace hookd::process
