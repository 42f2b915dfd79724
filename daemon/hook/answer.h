// What a hook prints: a stream of documents among which plain text may stand. Pure. Thread: any.
// Source: product.md section 3.
//
//   a line that begins with `{`, or with `[` and then `{` or `]`   a JSON document, of one line or many
//   a line `---`, or one that begins like `apiVersion:`, `kind:`,   a YAML document, up to `---`, `...`, a JSON
//   document, `operation:`, or like these after `- `                          or the end a line that begins with `}`,
//   `]` or `,{`                        an error: a document without its beginning anything else text, for the log
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::hook {

struct Answer {
  std::vector<apply::Operation> operations;  // in the order of the documents
  std::optional<std::string> status;         // JSON text: the new status of the object that the call is about
  std::optional<std::string> state;          // JSON text: what the next call gets; "null" = nothing any more
  std::optional<Duration> requeue_after;
  std::vector<std::string> messages;
  std::vector<std::string> text;  // lines outside documents
  size_t documents = 0;
  // Only with AnswerOf::kReconcile.
  std::optional<std::vector<std::string>> children;  // JSON texts, not looked into; unset = none is touched
  std::optional<bool> finalized;                     // the object may go
};

// Whose answer it is: which keys a result may have. (product.md sections 3 and 6)
enum class AnswerOf { kEvents, kReconcile };

// All or nothing: one bad document and there is no answer.
// A byte order mark at the beginning is skipped. Errors: kInvalid, "line 3: …": what is wrong with which document and
// what was expected.
Result<Answer> parse_answer(std::string_view output, AnswerOf of = AnswerOf::kEvents);

}  // namespace hookd::hook
