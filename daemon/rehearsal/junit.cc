// Source: the JUnit XML that CI systems read (testsuites, testsuite, testcase, failure, error, system-out).
#include <map>

#include "rehearsal/test_suite.h"

namespace hookd::rehearsal {
namespace {

// XML 1.0 section 2.2: control characters cannot be written at all.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void append_case(std::string& out, const Finished& test) {
  out += fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.3f}" file="{}" line="{}")",
                     escaped(test.shown_file), escaped(test.test.name), seconds(test.result.real),
                     escaped(test.shown_file), test.test.at.line);
  if (test.result.status == TestResult::Status::kPassed) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  const std::string_view element = test.result.status == TestResult::Status::kBroken ? "error" : "failure";
  for (const TestFailure& failure : test.result.failures)
    out += fmt::format(
        "      <{} message=\"{}\">{}</{}>\n", element, escaped(failure.text.substr(0, failure.text.find('\n'))),
        escaped(fmt::format("{}:{}:{}: {}", test.shown_file, failure.at.line, failure.at.column, failure.text)),
        element);
  out += fmt::format("      <system-out>{}</system-out>\n      <system-err>{}</system-err>\n    </testcase>\n",
                     escaped(test.result.calls), escaped(test.result.log));
}

}  // namespace

std::string junit_xml(const std::vector<Finished>& tests) {
  std::map<std::string, std::vector<const Finished*>> files;
  for (const Finished& test : tests) files[test.shown_file].push_back(&test);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hookd test\">\n";
  for (const auto& [file, cases] : files) {
    Duration time{};
    size_t failures = 0, errors = 0;
    for (const Finished* one : cases) {
      time += one->result.real;
      failures += one->result.status == TestResult::Status::kFailed;
      errors += one->result.status == TestResult::Status::kBroken;
    }
    out += fmt::format(R"(  <testsuite name="{}" tests="{}" failures="{}" errors="{}" time="{:.3f}">)", escaped(file),
                       cases.size(), failures, errors, seconds(time));
    out += "\n";
    for (const Finished* one : cases) append_case(out, *one);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace hookd::rehearsal
