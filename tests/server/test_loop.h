// An io_context, a real clock and a way to wait for a fact: for tests with real sockets. Header only.
//   TestLoop loop;
//   ASSERT_TRUE(loop.until([&] { return done; }));
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>

#include "base/scheduler.h"

namespace hookd::fake {

struct TestLoop {
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};

  // Runs handlers until `fact` holds; false if it does not within `limit`, which only bounds a failing test.
  template <class Fact>
  bool until(Fact fact, std::chrono::seconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!fact()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      context.restart();
      context.run_one_until(end);
    }
    return true;
  }

  // Runs what is ready now, so that a wrong callback would have its chance.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      context.restart();
      context.poll();
    }
  }
};

}  // namespace hookd::fake
