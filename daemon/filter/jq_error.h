// Makes jq 1.6's compile messages fit for people, and finds the place that they mean. Thread: any.
//
// jq only tells the line. So a refused expression is compiled once more with each token on a line of its own: then the
// line is the number of the token, and the token has a column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::filter {

struct JqToken {
  size_t at = 0;  // byte offset in the expression
  std::string_view text;
  bool closed = true;  // false: a string without its end
};

// The expression's tokens without white space and comments; a string with its interpolations is one token.
std::vector<JqToken> jq_tokens(std::string_view expression);
// Token n stands on line n + 1; one empty line follows.
std::string one_token_a_line(const std::vector<JqToken>& tokens);

struct JqFault {
  std::string message;  // "syntax error, unexpected ']'"
  size_t line = 0;      // from 1; 0 = unknown
};

// One of jq's reports, "jq: error: … at <top-level>, line 1:\n…"; a report that only counts errors has no message.
JqFault read_jq_report(std::string_view report);

// "column 7", or "line 2, column 7" if the expression has several lines. `at` is a byte offset.
std::string describe_place(std::string_view expression, size_t at);

}  // namespace hookd::filter
