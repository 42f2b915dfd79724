// Paths of the daemon's HTTP address that others answer: sources that take POSTs, webhooks. Thread: loop only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/http_server.h"

namespace hookd::net {

class HttpRoutes {
 public:
  using Table = std::map<std::string, HttpServer::Handler, std::less<>>;

  // Destroying it takes the path away. May outlive the HttpRoutes.
  class Registration {
   public:
    Registration(std::weak_ptr<Table> table, std::string path) : table_(std::move(table)), path_(std::move(path)) {}
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    std::weak_ptr<Table> table_;
    std::string path_;
  };

  // `path` is exact, with its slash. Errors: kInvalid: taken already.
  Result<std::unique_ptr<Registration>> add(std::string path, HttpServer::Handler handler);
  // False = nobody's path; the request is untouched then.
  bool serve(ServerRequest& request, const Responder& respond) const;

 private:
  std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace hookd::net
