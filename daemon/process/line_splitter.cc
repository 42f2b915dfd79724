#include "process/line_splitter.h"

#include <algorithm>
#include <utility>

namespace hookd::process {
namespace {

constexpr std::string_view kMark = "…";

// The length of the longest prefix of `text` of at most `limit` bytes that does not end within a UTF-8 character.
size_t whole_characters(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text.size();
  size_t end = limit;
  for (int back = 0; back < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++back) --end;
  // Not UTF-8 at all: cut where the bound says.
  return end == 0 || (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80 ? limit : end;
}

}  // namespace

LineSplitter::LineSplitter(Sink sink, size_t limit_bytes)
    : sink_(std::move(sink)), limit_(std::max<size_t>(limit_bytes, 16)) {}

void LineSplitter::feed(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    if (end == std::string_view::npos) return add(piece);
    end_line(piece.substr(0, end));
    piece.remove_prefix(end + 1);
  }
}

void LineSplitter::finish() {
  if (!pending_.empty() || continued_) end_line({});
}

void LineSplitter::add(std::string_view part) {
  while (!part.empty()) {
    // One byte over the bound is kept, so that a line of just the bound is not cut.
    const size_t take = std::min(part.size(), limit_ + 1 - pending_.size());
    pending_.append(part.substr(0, take));
    part.remove_prefix(take);
    if (pending_.size() > limit_) emit_cut();
  }
}

void LineSplitter::end_line(std::string_view rest) {
  if (pending_.empty() && !continued_ && rest.size() <= limit_) {  // the usual case: no copy
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    sink_(rest);
    return;
  }
  add(rest);
  if (pending_.ends_with('\r')) pending_.pop_back();
  if (continued_) pending_.insert(0, kMark);
  const std::string line = std::exchange(pending_, {});
  continued_ = false;
  sink_(line);
}

void LineSplitter::emit_cut() {
  const size_t length = whole_characters(pending_, limit_);
  std::string line;
  line.reserve(length + 2 * kMark.size());
  if (continued_) line += kMark;
  line.append(pending_, 0, length);
  line += kMark;
  pending_.erase(0, length);
  continued_ = true;
  sink_(line);
}

}  // namespace hookd::process
