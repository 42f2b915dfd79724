// Input: an expression, a NUL or newline, a document. What the fast path gives, jq must give too.
#include <boost/json.hpp>
#include <cstdlib>
#include <string_view>

#include "filter/fast_path.h"
#include "filter/jq_program.h"

namespace {

namespace json = boost::json;

bool same_value(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    const auto &x = a.get_array(), &y = b.get_array();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same_value(x[i], y[i])) return false;
    return true;
  }
  if (a.is_object()) {
    const auto &x = a.get_object(), &y = b.get_object();
    if (x.size() != y.size()) return false;
    for (const auto& [key, value] : x)
      if (const auto* other = y.if_contains(key); !other || !same_value(value, *other)) return false;
    return true;
  }
  return a == b;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::filter;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find_first_of(std::string_view("\0\n", 2));
  if (split == std::string_view::npos) return 0;
  const auto expression = input.substr(0, split), document = input.substr(split + 1);
  const auto fast = FastPath::compile(expression);
  if (!fast) return 0;
  const auto quick = fast->run(document);
  const auto program = JqProgram::compile(expression);
  if (!program) std::abort();  // what the fast path takes is jq
  if (!quick) return 0;
  const auto slow = (*program)->run(document, SIZE_MAX);
  // Text that the fast path does not read may be broken or deep.
  if (!slow && (slow.error().code == hookd::Errc::kDecode || slow.error().what.find("256 levels") != std::string::npos))
    return 0;
  if (!slow || slow->size() != 1) std::abort();
  json::parse_options options;
  options.max_depth = 600;
  if (!same_value(json::parse(*quick, {}, options), json::parse(slow->front(), {}, options))) std::abort();
  return 0;
}
