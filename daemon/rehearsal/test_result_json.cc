// A test's result on its way from the worker to its parent: one line of JSON.
#include "base/json_read.h"
#include "base/json_writer.h"
#include "rehearsal/test_run.h"

namespace hookd::rehearsal {
namespace {

void write_at(JsonWriter& out, config::Position at) {
  out.key("line").number(int64_t{at.line}).key("column").number(int64_t{at.column});
}

config::Position read_at(const boost::json::object& from) {
  return {static_cast<int>(from.at("line").to_number<int64_t>()),
          static_cast<int>(from.at("column").to_number<int64_t>())};
}

std::string text_of(const boost::json::object& from, std::string_view key) {
  return std::string(from.at(key).as_string());
}

}  // namespace

std::string to_json(const TestResult& result) {
  JsonWriter out;
  out.begin_object();
  out.key("status").number(static_cast<int64_t>(result.status));
  out.key("real").number(int64_t{result.real.count()});
  out.key("failures").begin_array();
  for (const TestFailure& failure : result.failures) {
    out.begin_object();
    write_at(out, failure.at);
    out.key("text").string(failure.text).end_object();
  }
  out.end_array();
  out.key("updates").begin_array();
  for (const TestUpdate& update : result.updates) {
    out.begin_object();
    write_at(out, update.at);
    out.key("block").string(update.block).end_object();
  }
  out.end_array();
  out.key("calls").string(result.calls).key("log").string(result.log).end_object();
  return std::move(out).take();
}

Result<TestResult> result_from_json(std::string_view json) {
  HOOKD_TRY(const auto parsed, parse_json(json));
  try {
    const auto& from = parsed.as_object();
    TestResult result;
    result.status = static_cast<TestResult::Status>(from.at("status").to_number<int>());
    result.real = Duration(from.at("real").to_number<int64_t>());
    for (const auto& one : from.at("failures").as_array())
      result.failures.push_back({read_at(one.as_object()), text_of(one.as_object(), "text")});
    for (const auto& one : from.at("updates").as_array())
      result.updates.push_back({read_at(one.as_object()), text_of(one.as_object(), "block")});
    result.calls = text_of(from, "calls");
    result.log = text_of(from, "log");
    return result;
  } catch (const std::exception& error) {
    return fail(Errc::kDecode, "not the result of a test: {}", error.what());
  }
}

}  // namespace hookd::rehearsal
