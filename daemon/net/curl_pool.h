// One libcurl multi handle on the loop, with its own connections. Private to CurlTransport. Thread: loop only.
//
// libcurl tells which sockets to watch; they go into a private, level-triggered epoll set, and Asio waits on that set
// alone: nobody but libcurl ever owns a socket (style.md 3.6). libcurl's timer callback only arms a Timer.
//
//   state of a transfer    where
//   waiting to be added    to_add_        start() came from inside a libcurl callback
//   under way              transfers_
//   waiting to be removed  transfers_ and to_remove_   its HttpCall was destroyed inside a callback
// Both lists are worked off as soon as libcurl has returned.
#pragma once

#include <curl/curl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"
#include "net/curl_transfer.h"

namespace hookd::net {

class CurlPool : public std::enable_shared_from_this<CurlPool> {
 public:
  CurlPool(AsioScheduler& scheduler, long max_idle_connections);
  ~CurlPool() { close(); }
  CurlPool(const CurlPool&) = delete;
  CurlPool& operator=(const CurlPool&) = delete;
  void begin();  // once, after construction

  // Never calls a handler before it returns.
  void start(std::shared_ptr<CurlTransfer> transfer);
  // Ends it silently.
  void cancel(const std::shared_ptr<CurlTransfer>& transfer);
  // Ends every transfer silently and closes all connections; nothing can be started any more.
  void close();
  size_t size() const { return transfers_.size() + to_add_.size(); }

 private:
  template <class Call>
  void enter(Call call);  // runs `call` inside libcurl, then does what was put off
  void settle();
  void attach(const std::shared_ptr<CurlTransfer>& transfer);
  void detach(CurlTransfer& transfer, bool complete);
  void flush_soon(long local_port);
  void flush();
  void finish(const std::shared_ptr<CurlTransfer>& transfer, Result<void> result);
  void fail_soon(const std::shared_ptr<CurlTransfer>& transfer, Error error);
  void arm_idle(const std::shared_ptr<CurlTransfer>& transfer, Duration delay, bool last_look);
  void arm_total(const std::shared_ptr<CurlTransfer>& transfer);
  void give_up(const std::shared_ptr<CurlTransfer>& transfer, std::string_view why);
  void wait();
  void pump();
  void destroy_multi();
  int on_socket(curl_socket_t socket, int what) noexcept;
  void on_timer_request(long timeout_ms) noexcept;

  AsioScheduler& scheduler_;
  CURLM* multi_ = nullptr;
  boost::asio::posix::stream_descriptor sockets_;  // the epoll set
  Timer timer_;
  std::unordered_map<CURL*, std::shared_ptr<CurlTransfer>> transfers_;
  std::vector<std::shared_ptr<CurlTransfer>> to_add_;
  std::vector<std::shared_ptr<CurlTransfer>> to_remove_;
  std::set<long> ports_to_flush_;
  bool inside_ = false;  // libcurl is on the stack
  bool closed_ = false;
};

}  // namespace hookd::net
