// An object's JSON text, compressed by zstd against a dictionary learnt from the first objects of its kind: what many
// objects have in common is stored once. Thread: loop only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ZSTD_CDict_s;
struct ZSTD_DDict_s;

namespace hookd::cache {

class Dictionary {
 public:
  // `sample` is raw content: texts of typical objects, one after another; at most kMaxSampleBytes are used.
  explicit Dictionary(std::string sample);
  ~Dictionary();
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;

  static constexpr size_t kMaxSampleBytes = 64u << 10;

 private:
  friend class PackedText;
  std::string sample_;  // both tables refer to it
  ZSTD_CDict_s* compress_ = nullptr;
  ZSTD_DDict_s* expand_ = nullptr;
};

class PackedText {
 public:
  PackedText() = default;
  // Without a dictionary, or where compression gains nothing, the text is kept as it is.
  PackedText(std::string_view text, std::shared_ptr<const Dictionary> dictionary);

  std::string unpack() const;
  bool empty() const { return raw_bytes_ == 0; }
  size_t raw_bytes() const { return raw_bytes_; }
  size_t stored_bytes() const { return bytes_.size(); }

 private:
  std::string bytes_;
  uint32_t raw_bytes_ = 0;
  std::shared_ptr<const Dictionary> dictionary_;  // null = bytes_ is the text
};

// Decides when a kind has enough objects for a dictionary, and makes it.
class Packer {
 public:
  PackedText pack(std::string_view text);

  // Kinds with fewer objects than this are kept plain: a dictionary costs about 200 kB.
  static constexpr size_t kMinSamples = 32;

 private:
  size_t seen_ = 0;
  std::string sample_;
  std::shared_ptr<const Dictionary> dictionary_;
};

}  // namespace hookd::cache
