// A unix socket to listen on, for its owner and root alone. Thread: loop only.
// Source: unix(7): the file's mode decides who may connect; SO_PEERCRED tells who did.
#pragma once

#include <sys/types.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <string>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::net {

class UnixListener {
 public:
  explicit UnixListener(AsioScheduler& scheduler) : acceptor_(scheduler.context()) {}
  ~UnixListener() { close(); }
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

  // Makes the file with mode 0600. What a dead owner left behind is replaced.
  // Errors: kConfig: too long a path (107 bytes), no folder, no right to it, something else lies there, the socket of
  // another user; kExists: somebody listens there.
  Result<void> open(std::string path);
  void close();  // takes the file away, if it is still ours

  boost::asio::local::stream_protocol::acceptor& acceptor() { return acceptor_; }
  const std::string& path() const { return path_; }

 private:
  boost::asio::local::stream_protocol::acceptor acceptor_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Who connected, for logs: "uid 0, pid 17". Errors: kForbidden: neither root nor the user that this process runs as.
Result<std::string> check_peer(int socket);

// Does somebody listen there? Never waits.
bool is_live_socket(const std::string& path);

}  // namespace hookd::net
