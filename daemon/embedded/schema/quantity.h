// resource.Quantity: "500m", "1Gi", "12e6". Thread: any.
// Source: API docs "Quantity" (serialisation format).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hookd::embedded {

// The text as the server prints it: "0.5" -> "500m", "1024Ki" -> "1Mi", "1.0" -> "1", "1e3" stays with its kind of
// suffix. Finer than 1n is rounded up; larger than 2^63-1 is cut to that. Nothing = not a quantity.
std::optional<std::string> canonical_quantity(std::string_view text);

// The same, rounded up to 1m: what a ResourceList holds.
std::optional<std::string> milli_quantity(std::string_view text);

// Why `text` is not a quantity, as the server says it.
std::string_view quantity_problem(std::string_view text);

// -1, 0, 1; both must be quantities (else they count as 0).
int compare_quantities(std::string_view a, std::string_view b);

// The sum, printed with `a`'s kind of suffix ("0" has none: then `b`'s).
std::string add_quantities(std::string_view a, std::string_view b);

}  // namespace hookd::embedded
