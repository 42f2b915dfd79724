// Who POSTed an event and waits for what becomes of it (`reply: handled`). One for each event. Thread: loop only.
//
//   what became of it                                        the senders hear
//   its call succeeded                                       200
//   given up: parked or dropped                              500
//   gone: dropped by hand, with the hook or the daemon       503
//   nothing within the time; it goes on                      504
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/scheduler.h"
#include "net/http_server.h"

namespace hookd::trigger {

class HttpReply {
 public:
  // `settled` once, with whether it was handled; never for one that goes.
  HttpReply(Scheduler& scheduler, Duration within, std::function<void(bool handled)> settled)
      : scheduler_(scheduler), within_(within), settled_(std::move(settled)) {}
  ~HttpReply();
  HttpReply(const HttpReply&) = delete;
  HttpReply& operator=(const HttpReply&) = delete;

  // One more who waits; the same delivery may come again when its sender had no patience.
  void add(const net::Responder& respond);
  void settle(bool handled);
  size_t waiting() const;  // senders that are still there
  bool settled() const { return !settled_; }

 private:
  struct Sender {
    net::Responder respond;
    Timer timer{};
    bool open = true;
    std::shared_ptr<bool> gone = std::make_shared<bool>(false);  // or shut its sending side: answered all the same
  };
  void answer(Sender& sender, int status, const std::string& text);
  void answer_all(int status, const std::string& text);

  Scheduler& scheduler_;
  Duration within_;
  std::function<void(bool)> settled_;
  std::list<Sender> senders_;
};

}  // namespace hookd::trigger
