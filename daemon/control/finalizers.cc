// Finalizers that no hook looks after, asked of the API server and taken off. (app/left_finalizers.h)
#include <algorithm>
#include <set>

#include "base/log.h"
#include "config/nearest.h"
#include "control/documents.h"
#include "control/paths.h"
#include "control/server.h"

namespace hookd::control {
namespace {

using app::LeftFinalizers;

net::ServerResponse good(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body) + "\n"};
}

// What the hook left, and nobody uses. Errors: kInvalid, kNotFound; kConflict: it is there and uses its finalizer, or
// its file is broken, and it will need it once that is mended.
Result<std::vector<LeftFinalizers::Use>> left_by(const app::Engine& engine, const std::string& hook) {
  if (hook.empty()) return fail(Errc::kInvalid, "which hook? Its name is missing");
  auto left = engine.finalizers_left();
  std::set<std::string, std::less<>> known;
  for (const auto& use : left) known.insert(use.hook);
  std::erase_if(left, [&](const auto& use) { return use.hook != hook; });
  if (!left.empty()) return left;
  for (const hook::Hook* loaded : engine.hooks())
    if (loaded->name == hook && !loaded->holds.empty())
      return fail(Errc::kConflict,
                  "the hook \"{}\" runs and puts {} on objects; take `finalizer` out of its file and it takes it off "
                  "by itself, or remove the hook first",
                  hook, loaded->holds.front().finalizer);
  for (const auto& use : engine.left_finalizers().left(engine.hooks()))
    if (const auto* error = use.hook == hook ? engine.why_not_loaded(use) : nullptr)
      return fail(
          Errc::kConflict,
          "the hook \"{}\" is broken now, and needs {} on its objects again once it is mended ({}); mend it, or "
          "remove its file first",
          hook, use.held.finalizer, error->text());
  return fail(Errc::kNotFound, "no hook \"{}\" is known to have left a finalizer{}", hook,
              known.empty() ? "" : config::hint(hook, known));
}

}  // namespace

bool Server::serve_finalizers(const net::ServerRequest& request, const net::Responder& respond) {
  const bool drop = request.path == kDropFinalizersPath;
  if ((!drop && request.path != kFinalizersPath) || request.method != (drop ? "POST" : "GET")) return false;
  const auto query = Query::parse(request.query);
  if (!query) {
    respond(Desk::refuse(query.error()));
    return true;
  }
  app::Engine& engine = desk_.subject().engine;
  if (!drop) {
    engine.left_finalizers().count(engine.finalizers_left(),
                                   [respond, &engine](std::vector<LeftFinalizers::Found> found) {
                                     respond(good(finalizers_document(found, mask_of(engine))));
                                   });
    return true;
  }
  log::info("told over the control socket", {{"path", request.path}, {"query", request.query}, {"by", request.peer}});
  auto left = left_by(engine, query->text("hook"));
  if (!left) {
    respond(Desk::refuse(left.error()));
    return true;
  }
  engine.left_finalizers().drop(
      *std::move(left), query->text("object"), [respond, &engine](Result<LeftFinalizers::Dropped> dropped) {
        respond(dropped ? good(dropped_document(*dropped, mask_of(engine))) : Desk::refuse(dropped.error()));
      });
  return true;
}

}  // namespace hookd::control
