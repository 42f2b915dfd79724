// One connection of the HTTP server. Private to it. Thread: loop only.
//
//   kHandshake ─► kReading ─► kHandling ─► kStreaming ─► kFinishing ─► kReading (kept) | kLingering ─► closed
//                     └─ refused ─────┴───────────────────► kFinishing
//
// A read is pending nearly always, so that a client that leaves is noticed; what it sends ahead waits in `in_`.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/http_message.h"
#include "net/http_wire.h"

namespace hookd::net {

class HttpSession;

// What the sessions of one server share; goes with the server.
struct SessionHost {
  AsioScheduler& scheduler;
  HttpServer::Handler handler;
  std::shared_ptr<const HttpServerLimits> limits;
  std::unordered_map<const HttpSession*, std::shared_ptr<HttpSession>> sessions;
  bool draining = false;
};

// Between an answer under way and whoever gives it.
struct AnswerLink : std::enable_shared_from_this<AnswerLink> {
  AnswerLink(std::weak_ptr<HttpSession> s, AsioScheduler& loop) : session(std::move(s)), scheduler(loop) {}
  void leave();  // the client is gone
  void tell(std::function<void()> when_gone);

  std::weak_ptr<HttpSession> session;  // null once the answer is whole, or the connection closed
  AsioScheduler& scheduler;
  std::function<void()> told;
  bool gone = false;

 private:
  void announce();
};

Responder make_responder(std::shared_ptr<AnswerLink> link);

class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(const std::shared_ptr<SessionHost>& host, std::unique_ptr<HttpWire> wire, std::string peer);

  void start(bool tls);
  bool idle() const { return idle_; }  // nothing of a request has come yet
  SteadyTime idle_since() const { return idle_since_; }
  void close();  // without telling whoever answers
  void lost();   // telling

  // Of the answer under way.
  void respond(ServerResponse response);
  void respond_failure(int status, std::string_view why);
  void begin_stream(ServerResponse head);
  bool stream(std::string bytes);
  void end_stream();
  size_t queued() const { return out_bytes_; }

 private:
  enum class Phase { kHandshake, kReading, kHandling, kStreaming, kFinishing, kLingering };

  void deadline(Duration delay);
  void on_handshake(const HttpWire::Error& error);
  void next_request(bool kept);
  void read_more();
  void on_read(const HttpWire::Error& error, size_t size);
  void on_read_end(bool orderly);
  void parse();
  void on_request();
  ServerResponse refusal(int status, std::string_view why) const;
  void queue(std::string bytes);
  void flush();
  void flush_soon();
  void on_written(const HttpWire::Error& error, size_t size);
  void watch_progress();
  void answer_done();
  void linger();

  const std::weak_ptr<SessionHost> host_;
  AsioScheduler& scheduler_;
  const std::shared_ptr<const HttpServerLimits> limits_;
  const std::unique_ptr<HttpWire> wire_;
  const std::string peer_;
  ClientCertificate client_;
  std::weak_ptr<AnswerLink> link_;
  Phase phase_ = Phase::kReading;
  bool closed_ = false;
  Timer deadline_;
  SteadyTime idle_since_;
  bool idle_ = true;

  std::optional<RequestReader> reader_;
  std::unique_ptr<char[]> room_;  // what the pending read fills
  size_t room_size_ = 0;
  std::string in_;
  bool reading_ = false;
  bool peer_done_ = false;  // the client will send no more
  size_t lingered_ = 0;

  std::deque<std::string> out_;
  size_t out_begin_ = 0;  // of the first piece: so much is gone
  size_t out_bytes_ = 0;
  size_t in_flight_ = 0;  // pieces, from the first, that a write under way reads from
  bool flush_posted_ = false;
  Timer progress_timer_;
  SteadyTime progress_at_;

  Framing framing_ = Framing::kLength;
  bool head_only_ = false;
  bool keep_alive_ = false;
  unsigned version_ = 11;
};

}  // namespace hookd::net
