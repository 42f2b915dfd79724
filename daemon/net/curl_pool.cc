#include "net/curl_pool.h"

#include <sys/epoll.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "base/log.h"
#include "net/curl_error.h"

namespace hookd::net {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Few enough that one turn stays within the loop's 5 ms, although each may bring 256 KiB.
constexpr int kEventsPerTurn = 16;
constexpr Duration kLastLook = milliseconds(50);

}  // namespace

CurlPool::CurlPool(AsioScheduler& scheduler, long max_idle_connections)
    : scheduler_(scheduler), sockets_(scheduler.context()) {
  const int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  sockets_.assign(set);
  multi_ = curl_multi_init();
  if (!multi_) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(
      multi_, CURLMOPT_SOCKETFUNCTION, +[](CURL*, curl_socket_t socket, int what, void* self, void*) noexcept -> int {
        return static_cast<CurlPool*>(self)->on_socket(socket, what);
      });
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(
      multi_, CURLMOPT_TIMERFUNCTION, +[](CURLM*, long timeout_ms, void* self) noexcept -> int {
        static_cast<CurlPool*>(self)->on_timer_request(timeout_ms);
        return 0;
      });
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 100L);  // what an API server grants (R54)
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, max_idle_connections);
}

void CurlPool::begin() { wait(); }

void CurlPool::wait() {
  sockets_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [weak = weak_from_this()](const boost::system::error_code& error) {
                        if (error) return;
                        const auto self = weak.lock();
                        if (!self || self->closed_) return;
                        self->pump();
                        if (!self->closed_) self->wait();
                      });
}

void CurlPool::pump() {
  epoll_event events[kEventsPerTurn];
  const int count = epoll_wait(sockets_.native_handle(), events, kEventsPerTurn, 0);
  if (count <= 0) return;
  enter([&] {
    for (int i = 0; i < count && !closed_; ++i) {
      const uint32_t seen = events[i].events;
      const int mask = ((seen & (EPOLLIN | EPOLLRDHUP)) != 0 ? CURL_CSELECT_IN : 0) |
                       ((seen & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((seen & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
      int running = 0;
      curl_multi_socket_action(multi_, events[i].data.fd, mask, &running);
    }
  });
}

int CurlPool::on_socket(curl_socket_t socket, int what) noexcept {
  const int set = sockets_.native_handle();
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(set, EPOLL_CTL_DEL, socket, nullptr);  // it may be closed by now
    return 0;
  }
  epoll_event event{};
  event.data.fd = socket;
  if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) event.events |= EPOLLIN;
  if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) event.events |= EPOLLOUT;
  if (epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) == 0) return 0;
  if (errno == ENOENT && epoll_ctl(set, EPOLL_CTL_ADD, socket, &event) == 0) return 0;
  log::error("a socket cannot be watched", {{"error", std::generic_category().message(errno)}});
  return -1;  // libcurl fails the transfers concerned
}

void CurlPool::on_timer_request(long timeout_ms) noexcept {
  if (timeout_ms < 0) {
    timer_.cancel();
    return;
  }
  timer_ = scheduler_.after(milliseconds(timeout_ms), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->closed_) return;
    self->enter([&] {
      int running = 0;
      curl_multi_socket_action(self->multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    });
  });
}

template <class Call>
void CurlPool::enter(Call call) {
  const auto self = shared_from_this();  // a callback may destroy the transport
  inside_ = true;
  call();
  inside_ = false;
  settle();
}

void CurlPool::settle() {
  if (closed_) {
    destroy_multi();
    return;
  }
  for (const auto& transfer : std::exchange(to_remove_, {})) detach(*transfer, false);
  for (const auto& transfer : std::exchange(to_add_, {})) attach(transfer);
  int left = 0;
  while (const CURLMsg* message = multi_ ? curl_multi_info_read(multi_, &left) : nullptr) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    const auto found = transfers_.find(message->easy_handle);
    if (found == transfers_.end()) continue;
    const auto transfer = found->second;
    finish(transfer, transfer->outcome(code));
  }
}

void CurlPool::start(std::shared_ptr<CurlTransfer> transfer) {
  if (closed_) return;
  if (auto ready = transfer->prepare(); !ready) {
    fail_soon(transfer, std::move(ready).error());
    return;
  }
  if (transfer->request().idle_timeout > Duration::zero()) arm_idle(transfer, transfer->request().idle_timeout, false);
  if (transfer->request().total_timeout > Duration::zero()) arm_total(transfer);
  if (inside_)
    to_add_.push_back(std::move(transfer));
  else
    attach(transfer);
}

void CurlPool::attach(const std::shared_ptr<CurlTransfer>& transfer) {
  if (closed_ || transfer->silent() || !transfer->easy()) return;
  const CURLMcode code = curl_multi_add_handle(multi_, transfer->easy());
  if (code != CURLM_OK) {
    fail_soon(
        transfer,
        {Errc::kInternal, fmt::format("{}: libcurl: {}", transfer->target(), curl_multi_strerror(code)), 0, {}, {}});
    return;
  }
  transfers_.emplace(transfer->easy(), transfer);
}

void CurlPool::detach(CurlTransfer& transfer, bool complete) {
  if (!transfer.easy()) return;
  const auto found = transfers_.find(transfer.easy());
  if (found != transfers_.end()) {
    const auto keep = std::move(found->second);
    transfers_.erase(found);
    if (!complete) {
      transfer.distrust_connection();
      if (const long port = transfer.local_port(); port != 0) flush_soon(port);
    }
    curl_multi_remove_handle(multi_, transfer.easy());
  }
  transfer.release();
}

// Since 7.88 libcurl leaves the RST_STREAM of an abandoned HTTP/2 stream unsent until the connection is used again
// (curl#17611), and the server would feed a cancelled watch for minutes. A connection that nobody else uses is closed
// by distrust_connection(). For a shared one, pausing and resuming the upload side of a neighbour whose upload is over
// changes nothing but makes libcurl write what is due.
void CurlPool::flush_soon(long local_port) {
  const bool posted = !ports_to_flush_.empty();
  ports_to_flush_.insert(local_port);
  if (posted) return;
  scheduler_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->closed_) self->flush();
  });
}

void CurlPool::flush() {
  auto ports = std::exchange(ports_to_flush_, {});
  std::vector<CURL*> neighbours;
  for (const auto& [easy, transfer] : transfers_)
    if (transfer->head_done() && ports.erase(transfer->local_port()) != 0) neighbours.push_back(easy);
  if (neighbours.empty()) return;
  enter([&] {
    for (CURL* easy : neighbours) {
      curl_easy_pause(easy, CURLPAUSE_SEND);
      curl_easy_pause(easy, CURLPAUSE_CONT);
    }
  });
}

void CurlPool::finish(const std::shared_ptr<CurlTransfer>& transfer, Result<void> result) {
  detach(*transfer, result.has_value());
  transfer->done(std::move(result));
}

void CurlPool::fail_soon(const std::shared_ptr<CurlTransfer>& transfer, Error error) {
  transfer->release();
  scheduler_.post([weak = weak_from_this(), call = std::weak_ptr(transfer), error = std::move(error)] {
    const auto self = weak.lock();
    const auto alive = call.lock();
    if (self && !self->closed_ && alive) alive->done(fail(error));
  });
}

void CurlPool::cancel(const std::shared_ptr<CurlTransfer>& transfer) {
  transfer->silence();
  if (closed_) return;
  if (inside_)
    to_remove_.push_back(transfer);
  else
    detach(*transfer, false);
}

void CurlPool::arm_idle(const std::shared_ptr<CurlTransfer>& transfer, Duration delay, bool last_look) {
  transfer->idle_timer = scheduler_.after(delay, [weak = weak_from_this(), call = std::weak_ptr(transfer), last_look] {
    const auto self = weak.lock();
    const auto alive = call.lock();
    if (!self || self->closed_ || !alive) return;
    const Duration limit = alive->request().idle_timeout;
    const Duration quiet = self->scheduler_.now() - alive->last_byte();
    if (quiet < limit) {
      self->arm_idle(alive, limit - quiet, false);
    } else if (!last_look) {
      // After the process was stopped or the loop was held up, bytes may be waiting in the socket.
      self->arm_idle(alive, kLastLook, true);
    } else {
      self->give_up(alive, fmt::format("no byte for {} ms", duration_cast<milliseconds>(limit).count()));
    }
  });
}

void CurlPool::arm_total(const std::shared_ptr<CurlTransfer>& transfer) {
  const Duration limit = transfer->request().total_timeout;
  transfer->total_timer = scheduler_.after(limit, [weak = weak_from_this(), call = std::weak_ptr(transfer), limit] {
    const auto self = weak.lock();
    const auto alive = call.lock();
    if (!self || self->closed_ || !alive) return;
    self->give_up(alive, fmt::format("no complete answer within {} ms", duration_cast<milliseconds>(limit).count()));
  });
}

void CurlPool::give_up(const std::shared_ptr<CurlTransfer>& transfer, std::string_view why) {
  std::string what = fmt::format("{}: {}", transfer->target(), why);
  if (transfer->outcome_unknown()) what += kOutcomeUnknown;
  finish(transfer, fail({Errc::kTimeout, std::move(what), 0, {}, {}}));
}

void CurlPool::close() {
  if (closed_) return;
  closed_ = true;
  for (const auto& [easy, transfer] : transfers_) transfer->silence();
  for (const auto& transfer : to_add_) transfer->silence();
  if (!inside_) destroy_multi();
}

void CurlPool::destroy_multi() {
  if (!multi_) return;
  // The transfers die last: their handlers may own anything, even more calls.
  const auto transfers = std::exchange(transfers_, {});
  const auto removed = std::exchange(to_remove_, {});
  const auto never_added = std::exchange(to_add_, {});
  for (const auto& [easy, transfer] : transfers) {
    curl_multi_remove_handle(multi_, easy);
    transfer->release();
  }
  curl_multi_cleanup(std::exchange(multi_, nullptr));
  timer_.cancel();
  boost::system::error_code ignored;
  sockets_.close(ignored);
}

}  // namespace hookd::net
