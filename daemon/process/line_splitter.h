// Bytes in pieces -> lines with a bound; made for a child's stderr. Thread: any (one object, one thread).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace hookd::process {

class LineSplitter {
 public:
  using Sink = std::function<void(std::string_view line)>;  // without line end; the view lives for the call only

  // A line longer than `limit_bytes` (at least 16) comes in pieces of at most that many bytes, cut between UTF-8
  // characters; '…' ends each piece that is not the last and begins each that is not the first (3 more bytes each).
  explicit LineSplitter(Sink sink, size_t limit_bytes = 64u << 10);

  void feed(std::string_view piece);
  void finish();  // the last line, if it had no line end

 private:
  void add(std::string_view part);
  void end_line(std::string_view rest);
  void emit_cut();

  Sink sink_;
  size_t limit_;
  std::string pending_;     // of the line that has not ended, at most limit_ bytes
  bool continued_ = false;  // a piece of this line is out already
};

}  // namespace hookd::process
