// Responder and ResponseStream: what a handler holds of a connection.
#include "net/http_session.h"

namespace hookd::net {

void AnswerLink::leave() {
  gone = true;
  if (told) announce();
}

void AnswerLink::tell(std::function<void()> when_gone) {
  if (!gone && session.expired()) return;
  told = std::move(when_gone);
  if (gone && told) announce();
}

void AnswerLink::announce() {
  scheduler.post([weak = weak_from_this()] {
    const auto link = weak.lock();
    if (!link) return;
    if (const auto tell_now = std::exchange(link->told, nullptr)) tell_now();
  });
}

struct Responder::State {
  std::shared_ptr<AnswerLink> link;  // null once answered
  ~State() {
    if (const auto session = link ? link->session.lock() : nullptr)
      session->respond_failure(500, "the request was not answered");
  }
};

struct ResponseStream::State {
  std::shared_ptr<AnswerLink> link;
  bool ended = false;
  std::shared_ptr<HttpSession> session() const { return link->session.lock(); }
  ~State() {
    if (const auto open = ended ? nullptr : session()) open->close();
  }
};

Responder make_responder(std::shared_ptr<AnswerLink> link) {
  auto state = std::make_shared<Responder::State>();
  state->link = std::move(link);
  return Responder(std::move(state));
}

void Responder::operator()(ServerResponse response) const {
  const auto link = std::exchange(state_->link, nullptr);
  if (!link) return;
  link->told = nullptr;
  if (const auto session = link->session.lock()) session->respond(std::move(response));
}

ResponseStream Responder::stream(ServerResponse head) const {
  auto link = std::exchange(state_->link, nullptr);
  if (!link) return {};
  if (const auto session = link->session.lock()) session->begin_stream(std::move(head));
  auto state = std::make_shared<ResponseStream::State>();
  state->link = std::move(link);
  return ResponseStream(std::move(state));
}

void Responder::on_closed(std::function<void()> told) const {
  if (state_->link) state_->link->tell(std::move(told));
}

bool ResponseStream::write(std::string bytes) const {
  if (!state_ || state_->ended) return false;
  const auto session = state_->session();
  return session && session->stream(std::move(bytes));
}

void ResponseStream::end() const {
  if (!state_ || std::exchange(state_->ended, true)) return;
  if (const auto session = state_->session()) session->end_stream();
}

void ResponseStream::cut() const {
  if (!state_) return;
  if (const auto session = state_->session()) session->lost();
}

size_t ResponseStream::queued() const {
  const auto session = state_ ? state_->session() : nullptr;
  return session ? session->queued() : 0;
}

void ResponseStream::on_closed(std::function<void()> told) const {
  if (state_) state_->link->tell(std::move(told));
}

}  // namespace hookd::net
