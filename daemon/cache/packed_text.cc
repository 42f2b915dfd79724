// The advanced dictionary calls (raw content, by reference) are only declared with this.
#define ZSTD_STATIC_LINKING_ONLY
#include "cache/packed_text.h"

#include <zstd.h>

#include <cstdlib>

#include "base/log.h"

namespace hookd::cache {
namespace {

constexpr int kLevel = 3;

// Contexts are dear to make (hundreds of kB) and may be used again at once.
ZSTD_CCtx* compress_context() {
  static thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                                       ZSTD_freeCCtx);
  return context.get();
}

ZSTD_DCtx* expand_context() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                                       ZSTD_freeDCtx);
  return context.get();
}

std::string& scratch() {
  static thread_local std::string buffer;
  return buffer;
}

}  // namespace

Dictionary::Dictionary(std::string sample) : sample_(std::move(sample)) {
  if (sample_.size() > kMaxSampleBytes) sample_.resize(kMaxSampleBytes);
  sample_.shrink_to_fit();
  ZSTD_compressionParameters parameters = ZSTD_getCParams(kLevel, 8192, sample_.size());
  compress_ = ZSTD_createCDict_advanced(sample_.data(), sample_.size(), ZSTD_dlm_byRef, ZSTD_dct_rawContent, parameters,
                                        ZSTD_defaultCMem);
  expand_ =
      ZSTD_createDDict_advanced(sample_.data(), sample_.size(), ZSTD_dlm_byRef, ZSTD_dct_rawContent, ZSTD_defaultCMem);
}

Dictionary::~Dictionary() {
  ZSTD_freeCDict(compress_);
  ZSTD_freeDDict(expand_);
}

PackedText::PackedText(std::string_view text, std::shared_ptr<const Dictionary> dictionary)
    : raw_bytes_(static_cast<uint32_t>(text.size())) {
  if (dictionary && dictionary->compress_ && dictionary->expand_) {
    std::string& buffer = scratch();
    buffer.resize(ZSTD_compressBound(text.size()));
    const size_t size = ZSTD_compress_usingCDict(compress_context(), buffer.data(), buffer.size(), text.data(),
                                                 text.size(), dictionary->compress_);
    if (!ZSTD_isError(size) && size < text.size()) {
      bytes_.assign(buffer.data(), size);
      dictionary_ = std::move(dictionary);
      return;
    }
  }
  bytes_.assign(text);
}

std::string PackedText::unpack() const {
  if (!dictionary_) return bytes_;
  std::string text;
  text.resize(raw_bytes_);
  const size_t size = ZSTD_decompress_usingDDict(expand_context(), text.data(), text.size(), bytes_.data(),
                                                 bytes_.size(), dictionary_->expand_);
  if (size != raw_bytes_) {
    // Memory was overwritten: anything built on this text could delete the wrong object.
    log::error("an object in memory is damaged", {{"expected_bytes", int64_t{raw_bytes_}}});
    std::abort();
  }
  return text;
}

PackedText Packer::pack(std::string_view text) {
  if (!dictionary_) {
    if (sample_.size() < Dictionary::kMaxSampleBytes) sample_ += text;
    if (++seen_ >= kMinSamples) {
      dictionary_ = std::make_shared<const Dictionary>(std::move(sample_));
      sample_ = {};
    }
  }
  return PackedText(text, dictionary_);
}

}  // namespace hookd::cache
