// The log written to a stderr that nobody reads before end(). One at a time; not beside a LogTap.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/fd.h"
#include "base/log.h"

namespace hookd::test {

class StuckLog {
 public:
  StuckLog() : stderr_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    from_ = Fd(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    log::start({});
  }
  // All that was written, the lines still waiting too.
  std::string end() {
    std::string text;
    std::thread reader([&] {
      char piece[65536];
      for (ssize_t got = 0; (got = ::read(from_.get(), piece, sizeof piece)) > 0;)
        text.append(piece, static_cast<size_t>(got));
    });
    log::shutdown();
    ::dup2(stderr_.get(), STDERR_FILENO);  // the pipe's only writing end goes
    reader.join();
    return text;
  }

 private:
  Fd stderr_, from_;
};

}  // namespace hookd::test
