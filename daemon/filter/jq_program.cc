#include "filter/jq_program.h"

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include <fmt/format.h>

#include <array>
#include <climits>
#include <optional>

#include "base/json_read.h"
#include "filter/jq_error.h"
#include "filter/running.h"

namespace hookd::filter {
namespace {

constexpr size_t kMaxExpressionBytes = 16u << 10;
constexpr size_t kMaxOutputs = 100'000;
constexpr size_t kMaxOutputBytes = 64u << 20;
constexpr size_t kMaxFaults = 5;

// Stands before each expression, on its first line so that line numbers hold. A function that is not used is dropped
// before its body is looked at: so a body with an unknown variable refuses the function, and only where it is used.
// indices("") never ends in jq 1.6.
constexpr std::string_view kRefused = "$__hookd_no_";
const std::string& prelude() {
  static const std::string text = [] {
    std::string result = "def env: {};";
    for (const std::string_view name : {"input", "inputs", "debug", "stderr", "input_filename", "input_line_number",
                                        "halt", "halt_error", "modulemeta", "get_search_list"})
      result += fmt::format("def {}: {}{};", name, kRefused, name);
    result += fmt::format("def halt_error($x): {}halt_error;", kRefused);
    result +=
        "def __hookd_indices($i): indices($i);def indices($i): if $i == \"\" then [] else __hookd_indices($i) end;"
        "def index($i): indices($i) | .[0];def rindex($i): indices($i) | .[-1:][0];";
    return result + "{} as $ENV | ";
  }();
  return text;
}

// An owned jv. jq's functions consume what they are given, but for jv_copy, jv_get_kind and jv_string_value.
class Value {
 public:
  explicit Value(jv value) : value_(value) {}
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { jv_free(value_); }
  jv copy() const { return jv_copy(value_); }
  bool valid() const { return jv_get_kind(value_) != JV_KIND_INVALID; }
  bool string() const { return jv_get_kind(value_) == JV_KIND_STRING; }
  std::string_view string_value() const {
    return {jv_string_value(value_), static_cast<size_t>(jv_string_length_bytes(jv_copy(value_)))};
  }

 private:
  jv value_;
};

std::string text_of(const Value& value) {
  if (value.string()) return std::string(value.string_value());
  return std::string(Value(jv_dump_string(value.copy(), 0)).string_value());
}

void take_report(void* reports, jv message) noexcept {
  const Value text(jq_format_error(message));
  try {
    static_cast<std::vector<std::string>*>(reports)->push_back(text_of(text));
  } catch (...) {  // no memory for the message: the error is still known from the result
  }
}
void ignore(void*, jv message) noexcept { jv_free(message); }

struct Compiled {
  jq_state* state = nullptr;  // nullptr: refused
  std::vector<JqFault> faults;
};

Compiled compile_text(std::string_view expression) {
  Compiled result;
  jq_state* state = jq_init();
  if (!state) {
    result.faults.push_back({"no memory", 0});
    return result;
  }
  std::vector<std::string> reports;
  jq_set_error_cb(state, take_report, &reports);
  jq_set_attr(state, jv_string("JQ_LIBRARY_PATH"), jv_array());  // jq asserts that it is there
  const std::string program = prelude() + (expression.empty() ? "." : std::string(expression));
  const bool good = jq_compile(state, program.c_str());
  jq_set_error_cb(state, ignore, nullptr);  // `reports` goes; errors of a run come with jq_next()
  if (good) {
    result.state = state;
    return result;
  }
  jq_teardown(&state);
  for (const auto& report : reports)
    if (auto fault = read_jq_report(report); !fault.message.empty()) result.faults.push_back(std::move(fault));
  return result;
}

std::string shortened(std::string_view expression) {
  constexpr size_t kShown = 200;
  if (expression.size() <= kShown) return std::string(expression);
  return std::string(expression.substr(0, kShown)) + "…";
}

Failure refuse(std::string_view expression, std::string_view message, std::optional<size_t> at) {
  const std::string place = at ? fmt::format(", {}", describe_place(expression, *at)) : "";
  return fail(Errc::kConfig, "jq \"{}\"{}: {}", shortened(expression), place, message);
}

std::optional<size_t> place_of_name(const std::vector<JqToken>& tokens, std::string_view name) {
  for (const auto& token : tokens)
    if (token.text == name) return token.at;
  return std::nullopt;
}

Failure explain(std::string_view expression, const std::vector<JqToken>& tokens, const std::vector<JqFault>& faults) {
  if (faults.empty()) return refuse(expression, "jq refuses it without a reason", std::nullopt);
  std::string message;
  for (size_t i = 0; i < std::min(faults.size(), kMaxFaults); ++i) {
    const std::string& one = faults[i].message;
    if (one.starts_with(kRefused)) {
      const std::string name = one.substr(kRefused.size(), one.find(' ') - kRefused.size());
      const std::string why = fmt::format("{} is not available; an expression sees its object and nothing else", name);
      return refuse(expression, why, place_of_name(tokens, name));
    }
    if (!message.empty()) message += "; ";
    message += one;
  }
  if (faults[0].message.find("unexpected end of the text") != std::string::npos)
    return refuse(expression, message, expression.size());
  const auto again = compile_text(one_token_a_line(tokens));
  if (again.state) {
    jq_state* state = again.state;
    jq_teardown(&state);
  } else if (!again.faults.empty() && again.faults[0].message == faults[0].message) {
    const size_t line = again.faults[0].line;
    if (line >= 1 && line <= tokens.size()) return refuse(expression, message, tokens[line - 1].at);
  }
  return refuse(expression, message, std::nullopt);
}

}  // namespace

Result<std::shared_ptr<JqProgram>> JqProgram::compile(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes)
    return fail(Errc::kConfig, "a jq expression of {} bytes; at most {} are taken", expression.size(),
                kMaxExpressionBytes);
  if (const size_t at = expression.find('\0'); at != std::string_view::npos)
    return fail(Errc::kConfig, "a jq expression with a NUL byte at {}", describe_place(expression, at));
  const auto tokens = jq_tokens(expression);
  if (!tokens.empty() && (tokens[0].text == "import" || tokens[0].text == "include" || tokens[0].text == "module"))
    return refuse(expression,
                  fmt::format("{} is not available; write the functions into the expression", tokens[0].text),
                  tokens[0].at);
  for (const auto& token : tokens)  // jq leaks memory over these, and names another place
    if (!token.closed) return refuse(expression, "a string that begins here has no end", token.at);
  const auto compiled = compile_text(tokens.empty() ? std::string_view() : expression);
  if (!compiled.state) return explain(expression, tokens, compiled.faults);
  return std::shared_ptr<JqProgram>(new JqProgram(compiled.state, expression));
}

JqProgram::~JqProgram() { jq_teardown(&state_); }

Failure JqProgram::failed(Errc code, std::string_view message) const {
  return fail(code, "jq \"{}\": {}", shortened(expression_), message);
}

namespace {

// One JSON value, or an invalid jv with jq's message. jv_parse_sized() would put the whole text into the message.
jv parse_input(std::string_view json) {
  jv_parser* parser = jv_parser_new(0);
  jv_parser_set_buf(parser, json.data(), static_cast<int>(json.size()), 0);
  const jv value = jv_parser_next(parser);
  jv_parser_free(parser);
  return value;
}

}  // namespace

Result<std::vector<std::string>> JqProgram::run(std::string_view json, size_t max_outputs) {
  if (json.size() > INT_MAX / 2)
    return failed(Errc::kTooLarge, fmt::format("an input of {} bytes; at most {} are taken", json.size(), INT_MAX / 2));
  // jq 1.6 leaks memory over broken text, and takes some (nan, 1e, more than one value) for good.
  if (const auto good = validate_json(json); !good)
    return failed(Errc::kDecode, fmt::format("the input: {}", good.error().what));
  const Value input(parse_input(json));
  if (!input.valid()) {
    const std::string message = text_of(Value(jv_invalid_get_msg(input.copy())));
    if (message.find("depth limit") != std::string::npos)
      return failed(Errc::kInvalid, "the input is nested deeper than 256 levels");
    return failed(Errc::kDecode, fmt::format("the input: {}", message));
  }
  const Inside inside(expression_);
  // Starting anew frees what the run before left behind.
  struct Reset {
    jq_state* state;
    ~Reset() { jq_start(state, jv_null(), 0); }
  } const reset{state_};
  jq_start(state_, input.copy(), 0);
  std::vector<std::string> outputs;
  size_t bytes = 0;
  while (outputs.size() < max_outputs) {
    const Value output(jq_next(state_));
    if (!output.valid()) {
      if (!jv_invalid_has_msg(output.copy())) break;
      const Value message(jv_invalid_get_msg(output.copy()));
      return failed(Errc::kInvalid, text_of(message));
    }
    const Value dumped(jv_dump_string(output.copy(), 0));
    std::string text = text_of(dumped);
    if (text.find("<stripped: exceeds max depth>") != std::string::npos && !validate_json(text))
      return failed(Errc::kInvalid, "an output is nested deeper than 256 levels");
    bytes += text.size();
    if (outputs.size() == kMaxOutputs || bytes > kMaxOutputBytes)
      return failed(Errc::kTooLarge, fmt::format("more than {} outputs or {} bytes", kMaxOutputs, kMaxOutputBytes));
    outputs.push_back(std::move(text));
  }
  return outputs;
}

}  // namespace hookd::filter
