// Answers of a webhook with their ETags, so that one that did not change need not be sent again. Bounded: the one not
// used for longest goes. Thread: loop only. Source: controllers.md 1.3.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/scheduler.h"

namespace hookd::metacontroller {

struct TaggedAnswer {
  std::string etag;
  std::string body;
  SteadyTime at{};
};

class EtagCache {
 public:
  // Null = there is none, or it is older than `most` (0 = any age). Whoever asks keeps it until the reply is there, so
  // that a 304 is answered with the body of the ETag that was sent.
  std::shared_ptr<const TaggedAnswer> get(const std::string& key, SteadyTime now, Duration most);
  void put(const std::string& key, TaggedAnswer answer);
  void forget(const std::string& key);

  size_t size() const { return order_.size(); }
  size_t bytes() const { return bytes_; }

  static constexpr size_t kMaxEntries = 10'000;
  static constexpr size_t kMaxBytes = 64u << 20;

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const TaggedAnswer>>;
  std::list<Entry> order_;  // the last used one first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  size_t bytes_ = 0;
};

}  // namespace hookd::metacontroller
