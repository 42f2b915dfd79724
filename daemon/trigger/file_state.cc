#include "trigger/file_state.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "kube/base64.h"

namespace hookd::trigger {
namespace {

namespace fs = std::filesystem;
constexpr size_t kSliceBytes = 1u << 20;  // some 2 ms of SHA-256

Failure unreadable(const std::string& path) {
  return fail(Errc::kConfig, "{}: {}", path, std::generic_category().message(errno));
}

bool gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

}  // namespace

FileState::FileState(std::string path, uint64_t limit_bytes) : path_(std::move(path)), limit_(limit_bytes) {}

FileState::~FileState() { EVP_MD_CTX_free(digest_); }

Result<bool> FileState::step() {
  if (!std::exchange(begun_, true)) return begin();
  if (big_) return hash_slice();
  if (at_ < names_.size()) return next_file();
  finish();
  return true;
}

Result<bool> FileState::begin() {
  text_ = "{\"path\":" + json_string(path_);
  struct stat info{};
  if (::stat(path_.c_str(), &info) != 0) {
    if (!gone(errno)) return unreadable(path_);
    text_ += ",\"exists\":false}";
    return true;
  }
  text_ += ",\"exists\":true";
  folder_ = S_ISDIR(info.st_mode);
  if (!folder_) {
    names_.emplace_back();
    return false;
  }
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with("..") || !it->is_regular_file(ignored)) continue;
    names_.push_back(std::move(name));
    if (names_.size() > kMaxFiles)
      return fail(Errc::kTooLarge, "{}: more than {} files, which is too much for one event; watch single files", path_,
                  kMaxFiles);
  }
  if (error) return fail(Errc::kConfig, "{}: {}", path_, error.message());
  std::ranges::sort(names_);
  text_ += ",\"files\":{";
  return false;
}

Result<bool> FileState::next_file() {
  const std::string name = names_[at_];
  const std::string path = folder_ ? path_ + "/" + name : path_;
  // Never blocks on what became a pipe or device since.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) {
    if (!gone(errno)) return unreadable(path);
    if (folder_) {  // between the look at the folder and this
      ++at_;
      return false;
    }
    text_ = "{\"path\":" + json_string(path_) + ",\"exists\":false}";
    return true;
  }
  if (!S_ISREG(info.st_mode)) return fail(Errc::kConfig, "{}: neither a file nor a folder", path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > limit_ || (folder_ && content_bytes_ + size > kMaxFolderBytes)) {
    big_ = std::move(file);
    big_size_ = 0;
    if (size <= kMaxHashedBytes) {
      if (!digest_) digest_ = EVP_MD_CTX_new();
      EVP_DigestInit_ex(digest_, EVP_sha256(), nullptr);
      return false;
    }
    big_.reset();
    add(fmt::format("\"size\":{}", size));
    return false;
  }
  std::string content;
  std::array<char, 64u << 10> buffer;
  for (ssize_t got = 0; content.size() <= limit_ && (got = ::read(file.get(), buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path);
    content.append(buffer.data(), static_cast<size_t>(got));
  }
  if (content.size() > limit_) content.resize(limit_);  // it grows while it is read: what follows is another change
  content_bytes_ += content.size();
  add(is_utf8(content) ? "\"content\":" + json_string(content)
                       : "\"contentBase64\":\"" + kube::base64_encode(content) + "\"");
  return false;
}

Result<bool> FileState::hash_slice() {
  std::string buffer(kSliceBytes, '\0');
  const ssize_t got = ::read(big_.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return false;
  if (got < 0) return unreadable(path_);
  big_size_ += static_cast<uint64_t>(got);
  if (got > 0 && big_size_ <= kMaxHashedBytes) {
    EVP_DigestUpdate(digest_, buffer.data(), static_cast<size_t>(got));
    return false;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum;
  unsigned length = 0;
  EVP_DigestFinal_ex(digest_, sum.data(), &length);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", sum[i]);
  big_.reset();
  add(fmt::format("\"size\":{},\"sha256\":\"{}\"", big_size_, hex));
  return false;
}

void FileState::add(std::string_view members) {
  if (folder_) {
    if (text_.back() != '{') text_ += ',';
    text_ += json_string(names_[at_]) + ":{";
    text_ += members;
    text_ += '}';
  } else {
    text_ += ',';
    text_ += members;
  }
  ++at_;
}

void FileState::finish() { text_ += folder_ ? "}}" : "}"; }

}  // namespace hookd::trigger
