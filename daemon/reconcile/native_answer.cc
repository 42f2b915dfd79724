#include "reconcile/native_answer.h"

#include <algorithm>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "hook/answer.h"

namespace hookd::reconcile {
namespace {

// The server's own bound on the depth of what it takes is lower (apimachinery: 10,000 for decoding, far less in use).
constexpr int kMaxDepth = 256;

// A condition without kind is one of the parent's.
Result<void> name_conditions(std::vector<apply::Operation>& operations, const AnswerContext& context) {
  for (apply::Operation& op : operations) {
    if (op.verb != apply::Verb::kCondition || !op.kind.empty()) continue;
    if (context.gone)
      return fail(Errc::kInvalid,
                  "operation Condition without saying of what: the object of this call is gone; give it `apiVersion`, "
                  "`kind`, `namespace` and `name`");
    op.api_version = context.parent_type.api_version();
    op.kind = context.parent_type.kind;
    op.ns = context.parent.ns;
    op.name = context.parent.name;
    op.uid = context.parent.uid;
  }
  return {};
}

void write_without_nulls(std::string_view json, JsonWriter& out, int depth) {
  if (depth < kMaxDepth && apply::is_json_object(json)) {
    if (const auto members = apply::json_members(json)) {
      out.begin_object();
      for (const auto& [key, value] : *members)
        if (value != "null") write_without_nulls(value, out.key(key), depth + 1);
      out.end_object();
      return;
    }
  } else if (depth < kMaxDepth && apply::is_json_array(json)) {
    if (const auto elements = apply::json_elements(json)) {
      out.begin_array();
      for (const std::string_view element : *elements) write_without_nulls(element, out, depth + 1);
      out.end_array();
      return;
    }
  }
  out.raw(json);
}

}  // namespace

std::string without_nulls(std::string_view json) {
  JsonWriter out;
  write_without_nulls(json, out, 0);
  return std::move(out).take();
}

bool is_about(const apply::Operation& operation, const kube::ResourceType& type, const cache::Identity& object) {
  return operation.kind == type.kind && operation.name == object.name &&
         (operation.ns == object.ns || operation.ns.empty()) &&
         (operation.api_version.empty() || operation.api_version == type.api_version());
}

Result<NativeAnswer> read_native_answer(std::string_view text, const AnswerContext& context) {
  HOOKD_TRY(auto parsed, hook::parse_answer(text, hook::AnswerOf::kReconcile));
  NativeAnswer answer;
  answer.operations = std::move(parsed.operations);
  answer.requeue_after = parsed.requeue_after;
  answer.finalized = parsed.finalized.value_or(false);
  answer.messages = std::move(parsed.messages);
  answer.text = std::move(parsed.text);
  HOOKD_CHECK(name_conditions(answer.operations, context));
  if (context.gone) return answer;
  if (parsed.children) {
    const std::vector<std::string_view> manifests(parsed.children->begin(), parsed.children->end());
    HOOKD_TRY(answer.children, read_desired(manifests, context.kinds, context.parent_type, context.parent));
  }
  if (parsed.status) answer.status = without_nulls(*parsed.status);
  return answer;
}

}  // namespace hookd::reconcile
