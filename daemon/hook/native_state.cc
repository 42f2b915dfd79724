#include "hook/native_state.h"

namespace hookd::hook {

void read_state(config::Reader& spec, Hook& out) {
  auto r = spec.map("state");
  if (!r) return;
  using Per = StateOptions::Per;
  StateOptions state;
  r->one_of("per", state.per, {{"hook", Per::kHook}, {"object", Per::kObject}});
  r->quantity("limit", state.limit_bytes, 16, 1u << 20);
  r->finish();
  const std::string_view where = "per";
  const auto problem = [&](std::string text) {
    r->has(where) ? r->problem(where, std::move(text)) : r->problem_here(std::move(text));
  };
  // Two calls at once would both begin with the same state, and the later answer would undo the earlier one.
  if (state.per == Per::kHook && !spec.has("concurrency")) out.concurrency = 1;
  if (state.per == Per::kHook && out.concurrency > 1)
    problem(
        fmt::format("one state for the hook and concurrency: {} do not go together: calls at once would undo each "
                    "other's state; write concurrency: 1, or state: {{per: object}}",
                    out.concurrency));
  if (state.per == Per::kObject && out.batch.max > 1)
    problem(
        fmt::format("a state for each object and batch.max: {} do not go together: a call about several objects has "
                    "not one state; take batch away, or write state: {{per: hook}}",
                    out.batch.max));
  if (state.per == Per::kObject && out.watches.empty() && !spec.has("watch"))
    problem("a state for each object needs a watch; this hook has none: write state: {per: hook}");
  out.state = state;
}

}  // namespace hookd::hook
