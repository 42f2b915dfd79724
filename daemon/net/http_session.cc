#include "net/http_session.h"

#include "base/log.h"

namespace hookd::net {
namespace {

constexpr Duration kLinger = std::chrono::seconds(2);  // for a client to read the answer that refuses its request
constexpr size_t kLingerBytes = size_t{64} << 20;
constexpr size_t kAhead = size_t{64} << 10;  // of later requests, while one is answered
constexpr size_t kSmallRoom = size_t{4} << 10;
constexpr size_t kLargeRoom = size_t{64} << 10;  // for bodies
constexpr size_t kPiece = size_t{64} << 10;      // small pieces are put together up to this
constexpr size_t kOneWrite = size_t{1} << 20;    // at most, for the sake of the other handlers
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

HttpSession::HttpSession(const std::shared_ptr<SessionHost>& host, std::unique_ptr<HttpWire> wire, std::string peer)
    : host_(host),
      scheduler_(host->scheduler),
      limits_(host->limits),
      wire_(std::move(wire)),
      peer_(std::move(peer)),
      idle_since_(scheduler_.now()) {}

void HttpSession::start(bool tls) {
  if (!tls) return next_request(false);
  phase_ = Phase::kHandshake;
  deadline(limits_->read_deadline);
  wire_->handshake([self = shared_from_this()](const HttpWire::Error& error) { self->on_handshake(error); });
}

void HttpSession::on_handshake(const HttpWire::Error& error) {
  if (closed_) return;
  if (error) {
    log::debug("a TLS handshake failed", {{"peer", peer_}, {"error", error.message()}});
    if (is_plain_http(error)) {
      const auto answer = refusal(400, "this port speaks HTTPS, and the request came as plain HTTP; use https://");
      wire_->write_raw(head_of(answer, Framing::kLength, 11, false) + answer.body);
    }
    return close();
  }
  client_ = wire_->client_certificate();
  next_request(false);
}

void HttpSession::deadline(Duration delay) {
  deadline_ = scheduler_.after(delay, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->close();
  });
}

void HttpSession::close() {
  if (std::exchange(closed_, true)) return;
  const auto self = shared_from_this();
  deadline_.cancel();
  progress_timer_.cancel();
  // HTTP/1.0 tells the end of a stream by the end of the connection: a cut one must look different.
  wire_->close(framing_ == Framing::kUntilClose && phase_ == Phase::kStreaming);
  if (const auto link = link_.lock()) link->session.reset();
  if (const auto host = host_.lock()) host->sessions.erase(this);
}

void HttpSession::lost() {
  if (closed_) return;
  if (const auto link = link_.lock()) link->leave();
  close();
}

// ---- requests ----

void HttpSession::next_request(bool kept) {
  phase_ = Phase::kReading;
  reader_.emplace(limits_->header_bytes, limits_->body_bytes);
  framing_ = Framing::kLength;
  if (!in_.empty()) {  // the next of several sent at once
    deadline(limits_->read_deadline);
    parse();
  } else {
    idle_ = true;
    idle_since_ = scheduler_.now();
    deadline(kept ? limits_->idle_deadline : limits_->read_deadline);
  }
  read_more();
}

void HttpSession::read_more() {
  if (closed_ || reading_ || peer_done_) return;
  if (phase_ != Phase::kReading && phase_ != Phase::kLingering && in_.size() >= kAhead) return;
  const bool large = phase_ == Phase::kLingering || (phase_ == Phase::kReading && reader_->in_body());
  const size_t wanted = large ? kLargeRoom : kSmallRoom;
  if (room_size_ != wanted) room_ = std::make_unique_for_overwrite<char[]>(room_size_ = wanted);
  reading_ = true;
  wire_->read_some(boost::asio::buffer(room_.get(), room_size_),
                   [self = shared_from_this()](const HttpWire::Error& error, size_t size) {
                     self->reading_ = false;
                     if (!self->closed_) self->on_read(error, size);
                   });
}

void HttpSession::on_read(const HttpWire::Error& error, size_t size) {
  if (error) return on_read_end(error == boost::asio::error::eof);
  if (phase_ == Phase::kLingering) {
    lingered_ += size;
    if (lingered_ > kLingerBytes) return close();
    return read_more();
  }
  in_.append(room_.get(), size);
  if (phase_ == Phase::kReading) {
    if (std::exchange(idle_, false)) deadline(limits_->read_deadline);
    parse();
  }
  read_more();
}

// A client may shut its sending side after a request and wait for the answer; that it did not just leave shows only
// when the answer is written.
void HttpSession::on_read_end(bool orderly) {
  const bool answering = phase_ == Phase::kHandling || phase_ == Phase::kFinishing;
  if (!orderly || !answering) return lost();
  peer_done_ = true;
  if (phase_ != Phase::kHandling) return;
  if (const auto link = link_.lock()) link->leave();
}

void HttpSession::parse() {
  idle_ = false;
  auto state = reader_->feed(in_);
  if (state == RequestReader::State::kExpects) {
    queue(std::string(kContinue));
    flush();
    state = reader_->feed(in_);
  }
  if (state == RequestReader::State::kWhole) return on_request();
  if (state != RequestReader::State::kRefused) return;
  head_only_ = keep_alive_ = false;
  version_ = 11;
  in_.clear();
  respond(refusal(reader_->status(), reader_->why()));
}

void HttpSession::on_request() {
  const auto host = host_.lock();
  if (!host) return;
  deadline_.cancel();
  phase_ = Phase::kHandling;
  auto received = reader_->take();
  keep_alive_ = received.keep_alive;
  head_only_ = received.head_only;
  version_ = received.version;
  ServerRequest& request = received.request;
  request.peer = peer_;
  request.client_common_name = client_.common_name;
  request.client_organizations = client_.organizations;
  request.client_certificate_problem = client_.problem;

  const auto link = std::make_shared<AnswerLink>(weak_from_this(), scheduler_);
  link_ = link;
  read_more();
  host->handler(std::move(request), make_responder(link));
}

ServerResponse HttpSession::refusal(int status, std::string_view why) const {
  if (limits_->refusal) return limits_->refusal(status, why);
  return {.status = status, .body = fmt::format("{}\n", why)};
}

// ---- answers ----

void HttpSession::respond(ServerResponse response) {
  if (closed_) return;
  deadline_.cancel();
  phase_ = Phase::kFinishing;
  const auto host = host_.lock();
  keep_alive_ = keep_alive_ && host && !host->draining;
  queue(head_of(response, Framing::kLength, version_, keep_alive_));
  if (!head_only_ && has_body(response.status)) queue(std::move(response.body));
  flush();
}

void HttpSession::respond_failure(int status, std::string_view why) { respond(refusal(status, why)); }

void HttpSession::begin_stream(ServerResponse head) {
  if (closed_) return;
  if (peer_done_) return lost();
  phase_ = Phase::kStreaming;
  const auto host = host_.lock();
  framing_ = version_ == 10 ? Framing::kUntilClose : Framing::kChunked;
  keep_alive_ = keep_alive_ && host && !host->draining && framing_ == Framing::kChunked;
  if (!has_body(head.status)) {
    framing_ = Framing::kLength;
    head_only_ = true;
  }
  queue(head_of(head, framing_, version_, keep_alive_));
  flush_soon();
  stream(std::move(head.body));
}

bool HttpSession::stream(std::string bytes) {
  if (closed_) return false;
  if (bytes.empty() || head_only_) return true;
  if (framing_ == Framing::kUntilClose) {
    queue(std::move(bytes));
  } else {
    queue(fmt::format("{:x}\r\n", bytes.size()));
    queue(std::move(bytes));
    queue("\r\n");
  }
  if (out_bytes_ > limits_->stream_queue_bytes) {
    log::warn("a client is too slow for its stream and is cut off",
              {{"peer", peer_}, {"waiting_bytes", out_bytes_}, {"limit_bytes", limits_->stream_queue_bytes}});
    lost();
    return false;
  }
  flush_soon();
  return true;
}

void HttpSession::end_stream() {
  if (closed_) return;
  phase_ = Phase::kFinishing;
  if (framing_ == Framing::kChunked && !head_only_) queue("0\r\n\r\n");
  flush_soon();
}

// ---- bytes out ----

void HttpSession::queue(std::string bytes) {
  if (bytes.empty()) return;
  if (out_.empty()) progress_at_ = scheduler_.now();
  out_bytes_ += bytes.size();
  if (out_.size() > in_flight_ && out_.back().size() + bytes.size() <= kPiece)
    out_.back() += bytes;
  else
    out_.push_back(std::move(bytes));
}

void HttpSession::flush() {
  if (closed_ || in_flight_ > 0) return;
  if (out_.empty()) {
    if (phase_ == Phase::kFinishing) answer_done();
    return;
  }
  HttpWire::Gather gather;
  for (size_t room = kOneWrite; room > 0 && in_flight_ < std::min(gather.size(), out_.size()); ++in_flight_) {
    const auto whole = boost::asio::buffer(out_[in_flight_]) + (in_flight_ == 0 ? out_begin_ : 0);
    gather[in_flight_] = boost::asio::buffer(whole, room);
    room -= gather[in_flight_].size();
  }
  watch_progress();
  wire_->write_some(gather, [self = shared_from_this()](const HttpWire::Error& error, size_t size) {
    self->in_flight_ = 0;
    if (!self->closed_) self->on_written(error, size);
  });
}

// After the handlers that are ready now, so that what they write goes out together.
void HttpSession::flush_soon() {
  if (in_flight_ > 0 || std::exchange(flush_posted_, true)) return;
  scheduler_.post([self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void HttpSession::on_written(const HttpWire::Error& error, size_t size) {
  if (error) return lost();
  progress_at_ = scheduler_.now();
  out_bytes_ -= size;
  out_begin_ += size;
  while (!out_.empty() && out_begin_ >= out_.front().size()) {
    out_begin_ -= out_.front().size();
    out_.pop_front();
  }
  flush();
}

// One timer that looks again, instead of a new one for each write.
void HttpSession::watch_progress() {
  if (progress_timer_.pending()) return;
  progress_timer_ = scheduler_.at(progress_at_ + limits_->write_deadline, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->closed_ || self->out_.empty()) return;
    if (self->scheduler_.now() - self->progress_at_ >= self->limits_->write_deadline)
      self->lost();
    else
      self->watch_progress();
  });
}

void HttpSession::answer_done() {
  if (const auto link = link_.lock()) {
    link->session.reset();
    link->told = nullptr;
  }
  link_.reset();
  const auto host = host_.lock();
  if (keep_alive_ && !peer_done_ && host && !host->draining) return next_request(true);
  linger();
}

// Closing a socket with unread bytes resets the connection, and the client may never see the answer: read them away.
void HttpSession::linger() {
  phase_ = Phase::kLingering;
  in_.clear();
  if (peer_done_) return close();
  deadline(kLinger);
  wire_->finish_sending([self = shared_from_this()](const HttpWire::Error&) {});
  read_more();
}

}  // namespace hookd::net
