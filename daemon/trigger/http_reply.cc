#include "trigger/http_reply.h"

#include <algorithm>

#include "base/time.h"

namespace hookd::trigger {

HttpReply::~HttpReply() {
  answer_all(503, "not handled: the hook or the daemon went, or it was dropped; send it again");
}

void HttpReply::add(const net::Responder& respond) {
  // An event may wait for days and be sent again each minute.
  std::erase_if(senders_, [](const Sender& sender) { return !sender.open; });
  Sender& sender = senders_.emplace_back(Sender{respond});
  respond.on_closed([gone = sender.gone] { *gone = true; });
  sender.timer = scheduler_.after(within_, [this, &sender] {
    answer(sender, 504, fmt::format("not handled within {}; it still waits for the hook", format_duration(within_)));
  });
}

void HttpReply::settle(bool handled) {
  if (const auto tell = std::exchange(settled_, nullptr)) tell(handled);
  if (handled)
    answer_all(200, "handled");
  else
    answer_all(500, "the hook failed, and it was given up");
}

size_t HttpReply::waiting() const {
  const auto waits = [](const Sender& sender) { return sender.open && !*sender.gone; };
  return static_cast<size_t>(std::ranges::count_if(senders_, waits));
}

void HttpReply::answer(Sender& sender, int status, const std::string& text) {
  if (!std::exchange(sender.open, false)) return;
  net::ServerResponse response;
  response.status = status;
  response.body = text + "\n";
  if (status == 503 || status == 504) response.headers.emplace_back("Retry-After", "5");
  sender.respond(std::move(response));
}

void HttpReply::answer_all(int status, const std::string& text) {
  for (Sender& sender : senders_) answer(sender, status, text);
}

}  // namespace hookd::trigger
