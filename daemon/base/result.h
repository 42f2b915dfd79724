// Result<T>: a value or an Error. Thread: any.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace hookd {

template <class T>
using Result = std::expected<T, Error>;
using Failure = std::unexpected<Error>;

// return fail(Errc::kConfig, "{}: no such key", key);
template <class... Args>
Failure fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return Failure(Error{code, fmt::format(format, std::forward<Args>(args)...), 0, {}, {}});
}

inline Failure fail(Error error) { return Failure(std::move(error)); }

}  // namespace hookd

#define HOOKD_CONCAT2(a, b) a##b
#define HOOKD_CONCAT(a, b) HOOKD_CONCAT2(a, b)
// HOOKD_TRY(auto value, expression): declares value, or returns the expression's error from the function.
#define HOOKD_TRY(declaration, expression)                                          \
  auto HOOKD_CONCAT(hookd_try_, __LINE__) = (expression);                           \
  if (!HOOKD_CONCAT(hookd_try_, __LINE__))                                          \
    return ::hookd::Failure(std::move(HOOKD_CONCAT(hookd_try_, __LINE__)).error()); \
  declaration = *std::move(HOOKD_CONCAT(hookd_try_, __LINE__))
// HOOKD_CHECK(expression): returns the error of a Result<void>.
#define HOOKD_CHECK(expression)                                                              \
  do {                                                                                       \
    auto hookd_check_result = (expression);                                                  \
    if (!hookd_check_result) return ::hookd::Failure(std::move(hookd_check_result).error()); \
  } while (false)
