#include "rehearsal/test_suite.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/fd.h"
#include "base/time.h"
#include "hook/environment.h"
#include "process/posix_launcher.h"
#include "rehearsal/manifests.h"
#include "rehearsal/test_update.h"

namespace hookd::rehearsal {
namespace {

namespace fs = std::filesystem;

constexpr Duration kWorkerExtra = std::chrono::seconds(20);  // beyond the test's own timeout: something is very wrong
constexpr size_t kLinesShown = 200;                          // of the calls and of the log of a failed test
constexpr size_t kWorkerOutput = 64u << 20;

std::string as_shown(const std::string& file) {
  std::error_code error;
  const std::string near = fs::proximate(file, error).string();
  return error || near.starts_with("../../..") ? file : near;
}

class Suite {
 public:
  explicit Suite(const SuiteOptions& options) : options_(options), launcher_(scheduler_, options.self) {}

  int run() {
    if (!find()) return 2;
    if (waiting_.empty() && problems_ == 0) {
      if (options_.pattern.empty())
        fmt::print(stderr, "hookd test: no test was found; tests are files named NAME.test.yaml\n");
      else
        fmt::print(stderr, "hookd test: no test has \"{}\" in its file or name\n", options_.pattern);
      return 2;
    }
    const size_t jobs =
        options_.jobs > 0 ? static_cast<size_t>(options_.jobs) : std::max(1u, std::thread::hardware_concurrency());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals_.add(signal);
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (!error) interrupt(signal);
    });
    for (size_t i = 0; i < jobs; ++i) start_next();
    context_.run();
    if (interrupted_ != 0) {
      fmt::print(stderr, "hookd test: interrupted\n");
      return 128 + interrupted_;
    }
    if (options_.update) update_files();
    summary();
    std::ranges::move(unread_, std::back_inserter(finished_));  // whoever reads only the report must see them too
    if (!options_.junit_file.empty())
      if (auto written = write_file(options_.junit_file, junit_xml(finished_), 0644); !written) {
        fmt::print(stderr, "hookd test: --junit {}: {}\n", options_.junit_file, written.error().what);
        ++problems_;
      }
    return problems_ > 0 || broken_ > 0 ? 2 : failed_ > 0 ? 1 : 0;
  }

 private:
  // The tests under way end their hooks and clear away before they end. A second signal ends all at once.
  void interrupt(int signal) {
    if (std::exchange(interrupted_, signal) != 0) return context_.stop();
    waiting_.clear();
    for (process::Child* child : children_) child->terminate();
    if (children_.empty()) return context_.stop();
    signals_.async_wait([this](const boost::system::error_code& error, int again) {
      if (!error) interrupt(again);
    });
  }

  struct Running {
    Finished test;
    std::string output, errors;
    std::unique_ptr<process::Child> child;
  };

  bool find() {
    for (const std::string& path : options_.paths) {
      auto files = find_test_files(path);
      if (!files) {
        fmt::print(stderr, "hookd test: {}\n", files.error().what);
        return false;
      }
      for (const std::string& file : *files) read(fs::absolute(file).lexically_normal().string());
    }
    return true;
  }

  void read(const std::string& file) {
    if (!seen_.insert(file).second) return;
    const std::string shown = as_shown(file);
    auto text = read_file(file, 4u << 20);
    config::Problems problems(shown);
    std::vector<TestDocument> tests;
    if (text)
      tests = read_tests(*text, file, options_.update, problems);
    else
      problems.add({}, "", "{}", text.error().what);
    if (!problems.empty()) {
      fmt::print(stderr, "{}\n", problems.text());
      problems_ += problems.size();
      Finished& unread = unread_.emplace_back();
      unread.shown_file = shown;
      unread.test.name = "(the file)";
      unread.test.at = {1, 1};
      unread.result.status = TestResult::Status::kBroken;
      unread.result.failures.push_back({{1, 1}, problems.text()});
      return;
    }
    for (TestDocument& test : tests)
      if (options_.pattern.empty() || matches(options_.pattern, shown) || matches(options_.pattern, test.name))
        waiting_.push_back({std::move(test), shown, {}});
  }

  void start_next() {
    if (waiting_.empty()) {
      if (children_.empty()) signals_.cancel();  // or it would be waited for
      return;
    }
    auto running = std::make_shared<Running>();
    running->test = std::move(waiting_.front());
    waiting_.pop_front();
    process::ChildSpec spec;
    spec.command = {options_.self,           "test",    "--worker",
                    running->test.test.file, "--index", std::to_string(running->test.test.index)};
    if (options_.update) spec.command.emplace_back("--update");
    spec.environment = hook::own_environment();
    spec.timeout = running->test.test.timeout + kWorkerExtra;
    spec.stdout_limit_bytes = kWorkerOutput;
    process::ChildHandlers handlers;
    handlers.on_stdout = [running](std::string_view bytes) { running->output += bytes; };
    handlers.on_stderr = [running](std::string_view bytes) { running->errors += bytes; };
    handlers.on_exit = [this, running](process::ChildExit exit) {
      // Posted: the child goes first, its handlers are under way.
      scheduler_.post([this, running, exit] {
        children_.erase(running->child.get());
        running->child.reset();
        if (interrupted_ == 0) ended(*running, exit);
        start_next();
      });
    };
    auto child = launcher_.start(std::move(spec), std::move(handlers));
    if (child) {
      running->child = *std::move(child);
      children_.insert(running->child.get());
      return;
    }
    running->errors = child.error().what;
    scheduler_.post([this, running] {
      ended(*running, {});
      start_next();
    });
  }

  void ended(Running& running, const process::ChildExit& exit) {
    Finished& test = running.test;
    auto result = result_from_json(running.output);
    if (result) {
      test.result = *std::move(result);
    } else {
      test.result.status = TestResult::Status::kBroken;
      test.result.real = exit.wall;
      test.result.failures.push_back({test.test.at, "the test's own process ended: " + exit.describe()});
    }
    test.result.log += running.errors;
    report(test);
    finished_.push_back(std::move(test));
  }

  std::string painted(std::string_view text, std::string_view colour) const {
    return options_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
  }

  void report(const Finished& test) {
    using Status = TestResult::Status;
    const Status status = test.result.status;
    (status == Status::kPassed ? passed_ : status == Status::kFailed ? failed_ : broken_) += 1;
    const std::string word = status == Status::kPassed   ? painted("ok   ", "32")
                             : status == Status::kFailed ? painted("FAIL ", "31;1")
                                                         : painted("ERROR", "31;1");
    std::string text = fmt::format("{} {}: {} ({} ms)\n", word, test.shown_file, test.test.name,
                                   std::chrono::duration_cast<std::chrono::milliseconds>(test.result.real).count());
    for (const TestFailure& failure : test.result.failures)
      text += indented(fmt::format("{}:{}:{}: {}", test.shown_file, failure.at.line, failure.at.column, failure.text),
                       "  ");
    if (status == Status::kFailed || options_.verbose) {
      text +=
          "  the calls:\n" + (test.result.calls.empty() ? "    none\n" : indented(end_of(test.result.calls), "    "));
    }
    if ((status != Status::kPassed || options_.verbose) && !test.result.log.empty())
      text += "  the log:\n" + indented(end_of(test.result.log), "    ");
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  // The last lines, unless all are asked for: a test with a day of seconds would flood the terminal.
  std::string end_of(std::string_view text) const {
    size_t at = text.size(), lines = 0;
    while (at > 0 && lines <= kLinesShown) {
      at = text.find_last_of('\n', at - 1);
      if (at == std::string_view::npos) at = 0;
      ++lines;
    }
    if (options_.verbose || at == 0) return std::string(text);
    return fmt::format("… {} more lines before these; -v shows them\n{}",
                       std::ranges::count(text.substr(0, at), '\n') + 1, text.substr(at + 1));
  }

  static std::string indented(std::string_view text, std::string_view indent) {
    std::string out;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) out += fmt::format("{}{}\n", indent, text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

  void update_files() {
    std::map<std::string, std::vector<TestUpdate>> files;
    for (const Finished& test : finished_)
      for (const TestUpdate& update : test.result.updates) files[test.test.file].push_back(update);
    for (auto& [file, updates] : files) {
      const size_t count = updates.size();
      const auto text = read_file(file, 4u << 20);
      auto written = text ? with_updates(*text, std::move(updates)) : Result<std::string>(fail(text.error()));
      config::Problems problems(file);
      if (written) read_tests(*written, file, true, problems);
      if (!problems.empty())
        written = fail(Errc::kConfig, "what would be written is no test any more ({}); write its `expect` as blocks",
                       problems.text());
      std::error_code ignored;
      const auto mode = static_cast<unsigned>(fs::status(file, ignored).permissions()) & 0777;
      const auto done = written ? write_file(file, *written, mode) : Result<void>(fail(written.error()));
      if (done) {
        fmt::print("{}: {} expectation(s) written anew\n", as_shown(file), count);
      } else {
        fmt::print(stderr, "{}: not updated: {}\n", as_shown(file), done.error().what);
        ++problems_;
      }
    }
  }

  void summary() const {
    std::string text = fmt::format("{} passed, {} failed", passed_, failed_);
    if (broken_ > 0) text += fmt::format(", {} could not be run", broken_);
    if (problems_ > 0) text += fmt::format(", {} problem(s) in test files", problems_);
    fmt::print("{}\n", painted(text, failed_ + broken_ + problems_ > 0 ? "31;1" : "32"));
  }

  const SuiteOptions& options_;
  boost::asio::io_context context_{1};
  AsioScheduler scheduler_{context_};
  process::PosixLauncher launcher_;
  std::set<std::string> seen_;
  std::deque<Finished> waiting_;
  std::vector<Finished> finished_, unread_;
  std::set<process::Child*> children_;  // those that run
  boost::asio::signal_set signals_{context_};
  int interrupted_ = 0;  // by which signal
  size_t passed_ = 0, failed_ = 0, broken_ = 0, problems_ = 0;
};

bool like(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    for (size_t i = 0; i <= text.size(); ++i)
      if (like(pattern.substr(1), text.substr(i))) return true;
    return false;
  }
  return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
         like(pattern.substr(1), text.substr(1));
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  return pattern.find_first_of("*?") == std::string_view::npos ? text.find(pattern) != std::string_view::npos
                                                               : like(pattern, text);
}

int run_suite(const SuiteOptions& options) { return Suite(options).run(); }

}  // namespace hookd::rehearsal
