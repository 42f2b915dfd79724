// Asking as another user: the Impersonate-* headers. Thread: loop only.
// Source: API docs "User impersonation"; KEP-5284 (constrained impersonation, on by default since 1.36).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "embedded/verbs/rbac.h"
#include "embedded/verbs/world.h"
#include "embedded/wire/request.h"

namespace hookd::embedded {

// Namespace and name of "system:serviceaccount:NAMESPACE:NAME"; nothing of other users.
std::optional<std::pair<std::string, std::string>> account_of(std::string_view user);

// Whom the request of `request.user` asks as; nothing: as itself. `about` is what is asked for.
// Errors: 400 of groups or the like without a user name; 403 in the words of the first way that was tried.
// Left out: extra values are authorized but not kept; the associated-node mode (no token names a node here).
Answer<std::optional<User>> impersonated(const World& world, const Request& request, const AccessQuestion& about);

}  // namespace hookd::embedded
