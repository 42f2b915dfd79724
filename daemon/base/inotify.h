// The real PathWatcher: one inotify descriptor for all watches, as a user has only 128 of them. Thread: loop only.
// Source: inotify(7).
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <map>
#include <set>

#include "base/path_watcher.h"
#include "base/scheduler.h"

namespace hookd {

class Inotify final : public PathWatcher {
 public:
  explicit Inotify(AsioScheduler& scheduler);
  ~Inotify() override;

  [[nodiscard]] std::unique_ptr<Watch> watch(std::function<void()> touched) override;

 private:
  class Client;
  struct Folder {
    std::string path;
    uint32_t mask = 0;
    std::map<Client*, std::vector<Place>> clients;
  };
  bool set(Client* client, const std::vector<Place>& places);
  void release(Client* client, const std::set<int>& but);
  void read();
  void handle(const char* bytes, size_t size);

  AsioScheduler& scheduler_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::map<int, Folder> folders_;  // by inotify's number
  std::set<Client*> clients_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd
