// One request on its libcurl easy handle: options, callbacks, outcome. Private to CurlTransport and CurlPool.
// Thread: loop only. Owned by shared_ptr: by its pool while under way, and by the caller's HttpCall.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/scheduler.h"
#include "net/curl_transport.h"
#include "net/http_transport.h"

namespace hookd::net {

class CurlTransfer {
 public:
  CurlTransfer(HttpRequest request, HttpHandlers handlers, std::shared_ptr<const CurlOptions> options,
               const Scheduler& clock);
  ~CurlTransfer() { release(); }
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  // Makes the easy handle. Errors: kConfig, kInvalid, kInternal.
  Result<void> prepare();

  CURL* easy() const { return easy_.get(); }
  const HttpRequest& request() const { return request_; }
  const std::string& target() const { return target_; }

  // No handler is called from now on. They are kept until release(): one of them may be running.
  void silence() { silent_ = true; }
  bool silent() const { return silent_; }
  // Calls on_done, unless silent; the last callback.
  void done(Result<void> result);
  // What the transfer came to, when libcurl ended it with `code`.
  Result<void> outcome(CURLcode code) const;
  // For a transfer that ends before its answer does: the connection is closed with it, unless others use it. It may
  // have stopped answering (R52), and nobody would read the rest of the answer.
  void distrust_connection() { set(CURLOPT_FORBID_REUSE, 1L); }
  bool head_done() const { return head_done_; }
  // Tells the connections of one pool apart (two transfers on one = HTTP/2); 0 = none yet.
  long local_port() const;
  bool outcome_unknown() const;
  // Frees the easy handle (which must be in no multi handle) and the timers.
  void release();

  SteadyTime last_byte() const { return last_byte_; }  // of the answer; before one, the start of the request
  Timer idle_timer;
  Timer total_timer;

 private:
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, FreeList>;

  Result<void> set_url();
  Result<void> set_headers();
  void set_method_and_body();
  void set_tls();
  void set_connection();
  void set_callbacks();
  template <class Value>
  void set(CURLoption option, Value value);
  static void append(List& list, const std::string& line);
  bool is_read() const { return request_.method == "GET" || request_.method == "HEAD"; }

  bool may_be_sent_twice() const { return is_read() || request_.repeatable; }

  size_t on_read(char* to, size_t room);  // the next bytes of body_source
  size_t on_header_line(std::string_view line);
  size_t on_body(std::string_view piece);
  size_t stop();  // what a callback returns to end the transfer

  HttpRequest request_;
  HttpHandlers handlers_;
  std::shared_ptr<const CurlOptions> options_;
  const Scheduler& clock_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  List headers_;
  List connect_to_;
  std::string host_header_;  // "" = libcurl's own
  std::string target_;
  std::string checked_name_;
  std::string proxy_;
  bool https_ = false;

  std::function<std::string()> source_;  // of the body, when it is not held whole
  std::string piece_;
  size_t piece_at_ = 0;
  uint64_t body_sent_ = 0;

  HttpHead head_;
  size_t header_bytes_ = 0;
  bool head_done_ = false;
  int tries_ = 0;
  SteadyTime last_byte_;
  bool silent_ = false;
  std::optional<Error> failure_;  // ours; says more than the code that libcurl makes of it
  char detail_[CURL_ERROR_SIZE] = "";
};

}  // namespace hookd::net
