#include "embedded/faults.h"

#include <fmt/format.h>

namespace hookd::embedded {
namespace {

// `pattern` "" = anything; * stands for any text.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

std::optional<Fault> Faults::take(const Question& question) {
  for (auto at = faults_.begin(); at != faults_.end(); ++at) {
    if (!matches(at->method, question.method) || !matches(at->path, question.path) ||
        !matches(at->verb, question.verb) || !matches(at->resource, question.resource) ||
        !matches(at->ns, question.ns) || !matches(at->name, question.name))
      continue;
    const Fault fault = *at;
    if (at->times > 0 && --at->times == 0) faults_.erase(at);
    return fault;
  }
  return std::nullopt;
}

Answer<Fault> Faults::from_json(const json::object& object) {
  Fault fault;
  const auto wrong = [](std::string_view key, std::string_view expected) {
    return refuse(bad_request(fmt::format("fault: {}: {} was expected", key, expected)));
  };
  for (const auto& [key, value] : object) {
    const auto text = [&](std::string& out) {
      if (!value.is_string()) return false;
      out = std::string(value.get_string());
      return true;
    };
    const auto number = [&](int& out) {
      if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > 1'000'000) return false;
      out = static_cast<int>(value.get_int64());
      return true;
    };
    const auto flag = [&](bool& out) {
      if (!value.is_bool()) return false;
      out = value.get_bool();
      return true;
    };
    const std::string_view name = key;
    bool good = true;
    if (name == "method" || name == "path" || name == "verb" || name == "resource" || name == "namespace" ||
        name == "name") {
      good = text(name == "method"      ? fault.method
                  : name == "path"      ? fault.path
                  : name == "verb"      ? fault.verb
                  : name == "resource"  ? fault.resource
                  : name == "namespace" ? fault.ns
                                        : fault.name);
      if (!good) return wrong(name, "text");
    } else if (name == "times" || name == "status" || name == "retryAfterSeconds") {
      good = number(name == "times" ? fault.times : name == "status" ? fault.status : fault.retry_after_seconds);
      if (!good) return wrong(name, "a number from 0");
      if (name == "status" && (fault.status < 400 || fault.status > 599)) return wrong(name, "400 to 599");
    } else if (name == "latencyMilliseconds") {
      int milliseconds = 0;
      if (!number(milliseconds)) return wrong(name, "a number from 0");
      fault.latency = std::chrono::milliseconds(milliseconds);
    } else if (name == "cut" || name == "applyThenCut" || name == "noBookmarks" || name == "silent") {
      good = flag(name == "cut"            ? fault.cut
                  : name == "applyThenCut" ? fault.apply_then_cut
                  : name == "noBookmarks"  ? fault.no_bookmarks
                                           : fault.silent);
      if (!good) return wrong(name, "true or false");
    } else {
      return refuse(bad_request(
          fmt::format("fault: {}: no such key; there are method, path, verb, resource, namespace, name, times, status, "
                      "retryAfterSeconds, latencyMilliseconds, cut, applyThenCut, noBookmarks, silent",
                      name)));
    }
  }
  return fault;
}

}  // namespace hookd::embedded
