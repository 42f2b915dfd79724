#include "embedded/schema/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "embedded/schema/check_format.h"
#include "embedded/schema/check_lists.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

using Type = Schema::Type;

// Problems of one value, and how many of its checks passed: of the branches of anyOf and oneOf that fail, the one with
// the most passed checks is told.
struct Outcome {
  struct Problem {
    FieldError error;
    std::string message;  // two problems with one message are told once
  };
  std::vector<Problem> problems;
  int passed = 0;

  bool good() const { return problems.empty(); }
  void add(Problem problem) {
    if (std::ranges::find(problems, problem.message, &Problem::message) == problems.end())
      problems.push_back(std::move(problem));
  }
  void merge(Outcome other) {
    for (Problem& problem : other.problems) add(std::move(problem));
    passed += other.passed;
  }
};

bool is_float(const json::value& value) {
  return value.is_double() || (value.is_uint64() && value.get_uint64() > std::numeric_limits<int64_t>::max());
}
bool is_int(const json::value& value) { return value.is_number() && !is_float(value); }
bool whole(double number) { return std::isfinite(number) && number == std::trunc(number) && std::abs(number) < 0x1p63; }

// A float as Go's %v prints it: shortest, with an exponent below 1e-4 and from 1e21 on.
std::string go_float(double number) {
  const double size = std::abs(number);
  if (size != 0 && (size < 1e-4 || size >= 1e21)) return fmt::format("{:e}", number).c_str();
  if (whole(number)) return fmt::format("{:.0f}", number);
  return fmt::format("{}", number);
}

std::string_view type_names(const Schema& schema) {
  switch (schema.type) {
    case Type::kString:
    case Type::kQuantity:
    case Type::kTime:
      return "string";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kBoolean:
      return "boolean";
    case Type::kObject:
    case Type::kMap:
      return "object";
    case Type::kList:
      return "array";
    case Type::kIntOrString:
      return "integer,string";
    case Type::kAny:
      break;
  }
  return "";
}

// The type of a value and its numeric format, as the real server names them.
std::pair<std::string_view, std::string_view> names_of(const json::value& value) {
  if (value.is_null()) return {"null", ""};
  if (value.is_bool()) return {"boolean", ""};
  if (value.is_string()) return {"string", ""};
  if (value.is_array()) return {"array", ""};
  if (value.is_object()) return {"object", ""};
  return is_float(value) ? std::pair<std::string_view, std::string_view>{"number", "float64"}
                         : std::pair<std::string_view, std::string_view>{"integer", "int64"};
}

// The format if it means something for the node's type, else "".
std::string_view effective_format(const Schema& schema) {
  const std::string& format = schema.format;
  if (format.empty()) return "";
  switch (schema.type) {
    case Type::kString:
    case Type::kAny:
      return known_format(format) ? std::string_view(format) : "";
    case Type::kInteger:
      return format == "int32" || format == "int64" ? std::string_view(format) : "";
    case Type::kNumber:
      return format == "float" || format == "double" ? std::string_view(format) : "";
    default:
      return "";
  }
}

bool same_value(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number() && is_float(a) != is_float(b))
    return a.to_number<double>() == b.to_number<double>();
  return a == b;
}

class Checker {
 public:
  // `prefix` stands before every field's path, but not in the messages.
  explicit Checker(std::string_view prefix) : prefix_(prefix) {}

  // `old` is the value that stood there before, null = none that belongs to it.
  Outcome value(const json::value& value, const json::value* old, const Schema& schema, const std::string& path) const {
    Outcome out = fresh(value, old, schema, path);
    if (!out.good() && old && *old == value) out.problems.clear();
    return out;
  }

 private:
  using Error = FieldError::Type;

  std::string field(const std::string& path) const {
    const std::string_view name = path.starts_with('.') ? std::string_view(path).substr(1) : std::string_view(path);
    if (name.empty()) return prefix_.empty() ? "<nil>" : prefix_;
    return prefix_.empty() ? std::string(name) : fmt::format("{}.{}", prefix_, name);
  }

  Outcome::Problem problem(Error type, const std::string& path, json::value bad, std::string message) const {
    return {{type, field(path), message, std::move(bad), {}}, message};
  }
  Outcome::Problem whole_value(std::string message) const {
    return {{Error::kInvalid, prefix_.empty() ? "<nil>" : prefix_, message, "", {}}, message};
  }
  Outcome::Problem wrong_type(const std::string& path, std::string_view wanted, std::string_view found) const {
    return problem(Error::kTypeInvalid, path, json::string(found),
                   fmt::format("{} in body must be of type {}: \"{}\"", path, wanted, found));
  }

  Outcome fresh(const json::value& value, const json::value* old, const Schema& schema, const std::string& path) const {
    Outcome out;
    type(value, schema, path, out);
    if (value.is_null()) {
      enumeration(value, schema, path, out);
      return out;
    }
    if (schema.checks) compositions(value, old, *schema.checks, path, out);
    ++out.passed;
    if (value.is_string()) text(value, schema, path, out);
    if (value.is_number()) number(value, schema, path, out);
    if (value.is_array()) list(value, old, schema, path, out);
    enumeration(value, schema, path, out);
    if (value.is_object()) object(value, old, schema, path, out);
    return out;
  }

  void type(const json::value& value, const Schema& schema, const std::string& path, Outcome& out) const {
    const std::string_view wanted = type_names(schema), format = effective_format(schema);
    if (wanted.empty() && format.empty()) return;
    const auto [found, numeric] = names_of(value);
    if (value.is_null()) {
      if (!wanted.empty() && !schema.nullable) return out.add(wrong_type(path, wanted, found));
      ++out.passed;
      return;
    }
    const bool takes_int = schema.type == Type::kInteger || schema.type == Type::kIntOrString;
    const bool fits = found == wanted ||
                      (schema.type == Type::kIntOrString && (found == "integer" || found == "string")) ||
                      (takes_int && value.is_double() && whole(value.get_double())) ||
                      (schema.type == Type::kNumber && found == "integer");
    const bool text_or_list = value.is_string() || value.is_array();
    if (!text_or_list && !format.empty() && !fits && numeric != format)
      return out.add(wrong_type(path, format, numeric));
    const bool unchecked = text_or_list && !format.empty() && !takes_int && schema.type != Type::kNumber;
    if (!unchecked && !wanted.empty() && !fits) return out.add(wrong_type(path, wanted, found));
    ++out.passed;
  }

  void enumeration(const json::value& value, const Schema& schema, const std::string& path, Outcome& out) const {
    if (!schema.checks || schema.checks->enumeration.empty()) return;
    const auto& allowed = schema.checks->enumeration;
    if (!value.is_null())
      for (const json::value& one : allowed)
        if (same_value(value, one)) return;
    FieldError error{Error::kNotSupported, field(path), "", value, {}};
    for (const json::value& one : allowed)
      error.supported.push_back(one.is_string() ? std::string(one.get_string()) : to_text(one));
    out.add({std::move(error), fmt::format("{} in body should be one of", path)});
  }

  void text(const json::value& value, const Schema& schema, const std::string& path, Outcome& out) const {
    const std::string_view text = value.get_string();
    if (const Checks* checks = schema.checks.get()) {
      const auto length = std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
      if (checks->max_length && length > *checks->max_length) {
        const int64_t limit = *checks->max_length;
        out.add({{Error::kTooLong,
                  field(path),
                  fmt::format("may not be more than {} byte{}", limit, limit == 1 ? "" : "s"),
                  {},
                  {}},
                 fmt::format("{} in body should be at most {} chars long", path, limit)});
      } else if (checks->min_length && length < *checks->min_length) {
        out.add(problem(Error::kInvalid, path, value,
                        fmt::format("{} in body should be at least {} chars long", path, *checks->min_length)));
      } else if (!checks->pattern.empty() && !matches_pattern(checks->pattern, text).value_or(false)) {
        out.add(
            problem(Error::kInvalid, path, value, fmt::format("{} in body should match '{}'", path, checks->pattern)));
      }
    }
    ++out.passed;
    const std::string_view format = effective_format(schema);
    if (format.empty() || !known_format(format)) return;
    if (!matches_format(format, text))
      out.add(problem(Error::kTypeInvalid, path, value,
                      fmt::format("{} in body must be of type {}: {}", path, format, to_text(value))));
    ++out.passed;
  }

  void in_range(const json::value& value, const Schema& schema, const std::string& path, Outcome& out) const {
    const std::string_view format = effective_format(schema);
    const double number = value.to_number<double>();
    bool fits = true;
    if (schema.type == Type::kInteger)
      fits = format == "int32" ? number >= -0x1p31 && number < 0x1p31 : whole(number);
    else if (schema.type == Type::kNumber && format == "float")
      fits = std::abs(number) <= std::numeric_limits<float>::max();
    if (fits) return;
    const std::string_view name = schema.type == Type::kInteger ? "integer" : "number";
    out.add(whole_value(
        format.empty() ? fmt::format("Checked value must be of type {} (default format) in {}", name, path)
                       : fmt::format("Checked value must be of type {} with format {} in {}", name, format, path)));
  }

  void number(const json::value& value, const Schema& schema, const std::string& path, Outcome& out) const {
    in_range(value, schema, path, out);
    ++out.passed;
    const Checks* checks = schema.checks.get();
    if (!checks) return;
    const bool integer = is_int(value);
    const double number = value.to_number<double>();
    // Bounds of an integer are cut to integers first, as the real server does.
    auto bound = [&](double limit) { return integer ? std::trunc(limit) : limit; };
    if (checks->multiple_of) {
      const double factor = bound(*checks->multiple_of);
      if (factor <= 0)
        out.add(problem(Error::kInvalid, path, factor,
                        fmt::format("factor MultipleOf declared for {} must be positive: {}", path, go_float(factor))));
      else if (integer ? value.to_number<int64_t>() % static_cast<int64_t>(factor) != 0
                       : !whole(factor < 1 ? 1 / factor * number : number / factor))
        out.add(problem(Error::kInvalid, path, value,
                        fmt::format("{} in body should be a multiple of {}", path, go_float(factor))));
    }
    if (checks->maximum) {
      const double limit = bound(*checks->maximum);
      if (checks->exclusive_maximum ? number >= limit : number > limit)
        out.add(problem(Error::kInvalid, path, value,
                        fmt::format("{} in body should be less than {}{}", path,
                                    checks->exclusive_maximum ? "" : "or equal to ", go_float(limit))));
    }
    if (checks->minimum) {
      const double limit = bound(*checks->minimum);
      if (checks->exclusive_minimum ? number <= limit : number < limit)
        out.add(problem(Error::kInvalid, path, value,
                        fmt::format("{} in body should be greater than {}{}", path,
                                    checks->exclusive_minimum ? "" : "or equal to ", go_float(limit))));
    }
  }

  void list(const json::value& value, const json::value* old, const Schema& schema, const std::string& path,
            Outcome& out) const {
    const json::array& items = value.get_array();
    if (schema.items)
      for (size_t i = 0; i < items.size(); ++i) {
        const json::value* before = old && schema.list_type == Schema::ListType::kMap && old->is_array()
                                        ? item_with_keys(old->get_array(), items[i], schema)
                                        : nullptr;
        out.merge(this->value(items[i], before, *schema.items, fmt::format("{}[{}]", path, i)));
      }
    if (const Checks* checks = schema.checks.get()) {
      const auto size = static_cast<int64_t>(items.size());
      if (checks->min_items && size < *checks->min_items)
        out.add(problem(Error::kInvalid, path, size,
                        fmt::format("{} in body should have at least {} items", path, *checks->min_items)));
      if (checks->max_items && size > *checks->max_items) out.add(too_many(path, size, *checks->max_items, "items"));
      if (checks->unique_items && has_duplicates(items))
        out.add(problem(Error::kInvalid, path, "", fmt::format("{} in body shouldn't contain duplicates", path)));
    }
    out.passed += 2;
  }

  Outcome::Problem too_many(const std::string& path, int64_t size, int64_t limit, std::string_view what) const {
    return {{Error::kTooMany,
             field(path),
             fmt::format("must have at most {} item{}", limit, limit == 1 ? "" : "s"),
             size,
             {}},
            fmt::format("{} in body should have at most {} {}", path, limit, what)};
  }

  void object(const json::value& value, const json::value* old, const Schema& schema, const std::string& path,
              Outcome& out) const {
    const json::object& fields = value.get_object();
    const Checks* checks = schema.checks.get();
    const auto size = static_cast<int64_t>(fields.size());
    if (checks && checks->min_properties && size < *checks->min_properties)
      out.add(problem(Error::kInvalid, path, size,
                      fmt::format("{} in body should have at least {} properties", path, *checks->min_properties)));
    if (checks && checks->max_properties && size > *checks->max_properties)
      out.add(too_many(path, size, *checks->max_properties, "properties"));

    auto before = [&](std::string_view key) -> const json::value* {
      return old && old->is_object() ? old->get_object().if_contains(key) : nullptr;
    };
    if (schema.type == Type::kMap && schema.items)
      for (const auto& [key, item] : fields)
        out.merge(this->value(item, before(key), *schema.items, fmt::format("{}.{}", path, std::string_view(key))));
    for (const Field& known : schema.fields) {
      const json::value* found = fields.if_contains(known.name);
      if (!found) continue;
      const Schema* node = known.schema;
      // What ObjectMeta may hold is checked as for every kind; here only what the CRD asks of it.
      if (schema.embedded_resource && known.name == "metadata") node = checks ? checks->metadata : nullptr;
      if (!node) continue;
      out.merge(this->value(*found, before(known.name), *node,
                            path.empty() ? known.name : fmt::format("{}.{}", path, known.name)));
    }
    if (checks)
      for (const std::string& name : checks->required)
        if (!fields.contains(name)) {
          const std::string missing = fmt::format("{}.{}", path, name);
          out.add({{Error::kRequired, field(missing), "", {}, {}}, missing + " in body is required"});
        }
    ++out.passed;
  }

  void compositions(const json::value& value, const json::value* old, const Checks& checks, const std::string& path,
                    Outcome& out) const {
    any_of(value, old, checks, path, out);
    one_of(value, old, checks, path, out);
    if (!checks.all_of.empty()) {
      size_t good = 0;
      for (const Schema* part : checks.all_of) {
        Outcome result = fresh(value, old, *part, path);
        good += result.good() ? 1 : 0;
        out.merge(std::move(result));
      }
      if (good != checks.all_of.size())
        out.add(whole_value(
            fmt::format("\"{}\" must validate all the schemas (allOf){}", path, good == 0 ? ". None validated" : "")));
    }
    if (checks.not_schema && fresh(value, old, *checks.not_schema, path).good())
      out.add(whole_value(fmt::format("\"{}\" must not validate the schema (not)", path)));
  }

  void any_of(const json::value& value, const json::value* old, const Checks& checks, const std::string& path,
              Outcome& out) const {
    if (checks.any_of.empty()) return;
    std::optional<Outcome> best;
    for (const Schema* part : checks.any_of) {
      Outcome result = fresh(value, old, *part, path);
      if (result.good()) return out.merge(std::move(result));
      if (!best || result.passed > best->passed) best = std::move(result);
    }
    out.add(whole_value(fmt::format("\"{}\" must validate at least one schema (anyOf)", path)));
    out.merge(*std::move(best));
  }

  void one_of(const json::value& value, const json::value* old, const Checks& checks, const std::string& path,
              Outcome& out) const {
    if (checks.one_of.empty()) return;
    std::optional<Outcome> best, first;
    int good = 0;
    for (const Schema* part : checks.one_of) {
      Outcome result = fresh(value, old, *part, path);
      if (result.good()) {
        ++good;
        if (!first) first = std::move(result);
      } else if (good == 0 && (!best || result.passed > best->passed)) {
        best = std::move(result);
      }
    }
    if (good == 1) return out.merge(*std::move(first));
    out.add(
        whole_value(fmt::format("\"{}\" must validate one and only one schema (oneOf). {}", path,
                                good == 0 ? "Found none valid" : fmt::format("Found {} valid alternatives", good))));
    if (good == 0 && best) out.merge(*std::move(best));
  }

  std::string prefix_;
};

void tell(Outcome outcome, FieldErrors& errors) {
  for (Outcome::Problem& problem : outcome.problems) errors.push_back(std::move(problem.error));
}

}  // namespace

void check_custom(const json::value& object, const Schema& schema, FieldErrors& errors) {
  tell(Checker("").value(object, nullptr, schema, ""), errors);
  check_lists(object, schema, "", errors);
}

void check_custom_update(const json::value& next, const json::value& live, const Schema& schema, FieldErrors& errors) {
  tell(Checker("").value(next, &live, schema, ""), errors);
  FieldErrors before;
  check_lists(live, schema, "", before);
  if (before.empty()) check_lists(next, schema, "", errors);
}

void check_custom_status(const json::value& next, const json::value& live, const Schema& schema, FieldErrors& errors) {
  const Field* status = schema.field("status");
  const json::value* found = next.is_object() ? next.get_object().if_contains("status") : nullptr;
  if (status && status->schema && found)
    tell(Checker("status").value(*found, live.is_object() ? live.get_object().if_contains("status") : nullptr,
                                 *status->schema, ""),
         errors);
  FieldErrors before;
  check_lists(live, schema, "", before);
  if (before.empty()) check_lists(next, schema, "", errors);
}

void check_custom_part(const json::value& value, const Schema& schema, std::string_view path, FieldErrors& errors) {
  tell(Checker(path).value(value, nullptr, schema, ""), errors);
}

}  // namespace hookd::embedded
