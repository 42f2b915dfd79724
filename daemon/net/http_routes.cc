#include "net/http_routes.h"

namespace hookd::net {

HttpRoutes::Registration::~Registration() {
  if (const auto table = table_.lock()) table->erase(path_);
}

Result<std::unique_ptr<HttpRoutes::Registration>> HttpRoutes::add(std::string path, HttpServer::Handler handler) {
  if (!table_->emplace(path, std::move(handler)).second)
    return fail(Errc::kInvalid, "the path {} is taken by another hook", path);
  return std::make_unique<Registration>(table_, std::move(path));
}

bool HttpRoutes::serve(ServerRequest& request, const Responder& respond) const {
  const auto route = table_->find(request.path);
  if (route == table_->end()) return false;
  const auto handler = route->second;  // it may take its path away while it runs
  handler(std::move(request), respond);
  return true;
}

}  // namespace hookd::net
