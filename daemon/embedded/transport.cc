#include "embedded/transport.h"

#include <fmt/format.h>

#include <algorithm>

namespace hookd::embedded {

namespace {

// What a call and the tasks that it posted share. Once `call` is gone, nothing is told any more.
struct Link {
  bool alive = true;
};

}  // namespace

class Transport::Call final : public net::HttpCall {
 public:
  Call(Transport& transport, net::HttpRequest request, net::HttpHandlers handlers)
      : transport_(transport), handlers_(std::move(handlers)), idle_timeout_(request.idle_timeout) {
    transport_.calls_.push_back(this);
    ++transport_.open_;
    if (request.total_timeout > Duration(0))
      total_ = transport_.scheduler_.after(request.total_timeout, [this, limit = request.total_timeout] {
        finish(fail(Errc::kTimeout, "no whole answer within {} ms", limit / std::chrono::milliseconds(1)));
      });
    touch();
    post([this, request = std::move(request)]() mutable { send(std::move(request)); });
  }
  ~Call() override {
    link_->alive = false;
    leave();
  }

  void breaks() {
    post([this] { finish(fail(Errc::kTransport, "the connection to the embedded API server is broken")); });
  }

 private:
  class Sink final : public ReplySink {
   public:
    Sink(Call& call, std::shared_ptr<Link> link) : call_(call), link_(std::move(link)) {}
    void whole(ReplyHead head, std::string body) override {
      begin(std::move(head));
      if (!body.empty()) write(std::move(body));
      end();
    }
    void begin(ReplyHead head) override {
      if (link_->alive) call_.post([&call = call_, head = std::move(head)] { call.head(head); });
    }
    void write(std::string bytes) override {
      if (link_->alive) call_.post([&call = call_, bytes = std::move(bytes)] { call.data(bytes); });
    }
    void end() override {
      if (link_->alive) call_.post([&call = call_] { call.finish({}); });
    }
    void cut() override {
      if (link_->alive)
        call_.post([&call = call_] { call.finish(fail(Errc::kTransport, "the connection broke in the middle")); });
    }

   private:
    Call& call_;
    std::shared_ptr<Link> link_;
  };

  void post(Scheduler::Task task) {
    transport_.scheduler_.post([link = link_, task = std::move(task)]() mutable {
      if (link->alive) task();
    });
  }

  void leave() {
    if (left_) return;
    left_ = true;
    --transport_.open_;
    std::erase(transport_.calls_, this);
  }

  // A silent answer ends by itself.
  void touch() {
    if (idle_timeout_ <= Duration(0)) return;
    idle_ = transport_.scheduler_.after(idle_timeout_, [this] {
      finish(fail(Errc::kTimeout, "no byte within {} ms", idle_timeout_ / std::chrono::milliseconds(1)));
    });
  }

  void send(net::HttpRequest request) {
    if (done_) return;
    Request out;
    out.method = std::move(request.method);
    std::string_view url = request.url;
    if (const auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
    const auto slash = url.find('/');
    url = slash == std::string_view::npos ? std::string_view("/") : url.substr(slash);
    const auto mark = url.find('?');
    out.path = std::string(url.substr(0, mark));
    if (mark != std::string_view::npos) out.query = parse_query(url.substr(mark + 1));
    for (auto& [name, value] : request.headers) {
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      out.headers.emplace_back(std::move(name), std::move(value));
    }
    out.body = std::move(request.body);
    exchange_ = transport_.server_.handle(std::move(out), std::make_shared<Sink>(*this, link_));
  }

  void head(const ReplyHead& head) {
    if (done_) return;
    touch();
    net::HttpHead out{head.status, {{"content-type", head.content_type}}};
    for (const auto& [name, value] : head.headers) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
      out.headers.emplace_back(std::move(lower), value);
    }
    if (handlers_.on_head) handlers_.on_head(out);
  }

  void data(std::string_view bytes) {
    if (done_) return;
    touch();
    const auto link = link_;  // the handler may destroy this call
    if (handlers_.on_data && !handlers_.on_data(bytes) && link->alive)
      finish(fail(Errc::kCancelled, "the receiver wants no more"));
  }

  void finish(Result<void> result) {
    if (done_) return;
    done_ = true;
    exchange_.reset();
    total_.cancel();
    idle_.cancel();
    leave();
    if (handlers_.on_done) {
      const auto told = std::move(handlers_.on_done);  // may destroy this call
      told(std::move(result));
    }
  }

  Transport& transport_;
  net::HttpHandlers handlers_;
  Duration idle_timeout_;
  std::shared_ptr<Link> link_ = std::make_shared<Link>();
  std::unique_ptr<Exchange> exchange_;
  Timer total_, idle_;
  bool done_ = false, left_ = false;
};

std::unique_ptr<net::HttpCall> Transport::start(net::HttpRequest request, net::HttpHandlers handlers) {
  return std::make_unique<Call>(*this, std::move(request), std::move(handlers));
}

void Transport::break_connections() {
  for (auto* call : calls_) call->breaks();
}

}  // namespace hookd::embedded
