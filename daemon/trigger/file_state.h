// What a file or a folder holds, as JSON text, read in slices. Thread: loop only.
//
//   {"path":"/etc/app.yaml","exists":true,"content":"…"}         contentBase64 where it is not UTF-8
//   {"path":"/etc/app.yaml","exists":false}
//   {"path":"/etc/app.img","exists":true,"size":99999999,"sha256":"…"}      above the limit; no sha256 above 1 GiB
//   {"path":"/etc/app","exists":true,"files":{"a.yaml":{"content":"…"},"big":{"size":…,"sha256":"…"}}}
//
// Of a folder: its files, also through links, not those in folders below, and no names that begin with ".." (ConfigMap
// mounts keep their twins there); sorted by name.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

struct evp_md_ctx_st;

namespace hookd::trigger {

class FileState {
 public:
  FileState(std::string path, uint64_t limit_bytes);
  ~FileState();

  // A slice of some milliseconds at most. True = done: take(). Errors: kConfig: it is there but cannot be read;
  // kTooLarge: more than 1000 files in a folder.
  Result<bool> step();
  std::string take() { return std::move(text_); }

  static constexpr size_t kMaxFiles = 1000;
  static constexpr uint64_t kMaxFolderBytes = 16u
                                              << 20;  // of contents together; the files after it only as size and hash
  static constexpr uint64_t kMaxHashedBytes = uint64_t{1} << 30;

 private:
  Result<bool> begin();
  Result<bool> next_file();
  Result<bool> hash_slice();
  void add(std::string_view members);
  void finish();

  std::string path_;
  uint64_t limit_;
  bool begun_ = false;
  bool folder_ = false;
  std::vector<std::string> names_;  // "" = the path itself
  size_t at_ = 0;
  uint64_t content_bytes_ = 0;
  std::string text_;
  Fd big_;  // being hashed
  uint64_t big_size_ = 0;
  evp_md_ctx_st* digest_ = nullptr;
};

}  // namespace hookd::trigger
