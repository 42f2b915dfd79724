#include "filter/filter.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "filter/fast_path.h"
#include "filter/jq_program.h"

namespace hookd::filter {
namespace {

class JqFilter final : public Filter {
 public:
  JqFilter(std::string_view text, std::shared_ptr<JqProgram> program) : Filter(text), program_(std::move(program)) {}

  Result<std::string> run(std::string_view json) const override {
    HOOKD_TRY(auto outputs, program_->run(json, 1));
    return outputs.empty() ? "null" : std::move(outputs.front());
  }
  Result<std::vector<std::string>> run_all(std::string_view json) const override {
    return program_->run(json, SIZE_MAX);
  }
  bool fast() const override { return false; }

 private:
  std::shared_ptr<JqProgram> program_;
};

class FastFilter final : public Filter {
 public:
  FastFilter(std::string_view text, FastPath fast) : Filter(text), fast_(std::move(fast)) {}

  Result<std::string> run(std::string_view json) const override {
    if (auto output = fast_.run(json)) return *std::move(output);
    HOOKD_CHECK(need_jq());
    return jq_->run(json);
  }
  Result<std::vector<std::string>> run_all(std::string_view json) const override {
    if (auto output = fast_.run(json)) return std::vector<std::string>{*std::move(output)};
    HOOKD_CHECK(need_jq());
    return jq_->run_all(json);
  }
  bool fast() const override { return true; }

 private:
  // jq is asked for what the fast path is not sure of: most filters never need it.
  Result<void> need_jq() const {
    if (jq_) return {};
    HOOKD_TRY(auto program, JqProgram::compile(expression()));
    jq_ = std::make_unique<JqFilter>(expression(), std::move(program));
    return {};
  }

  FastPath fast_;
  mutable std::unique_ptr<JqFilter> jq_;
};

Result<std::shared_ptr<const Filter>> compile_new(std::string_view expression) {
  if (auto fast = FastPath::compile(expression))
    return std::make_shared<const FastFilter>(expression, *std::move(fast));
  HOOKD_TRY(auto program, JqProgram::compile(expression));
  return std::make_shared<const JqFilter>(expression, std::move(program));
}

}  // namespace

Result<std::shared_ptr<const Filter>> Filter::compile(std::string_view expression) {
  static thread_local boost::unordered_flat_map<std::string, std::weak_ptr<const Filter>> known;
  static thread_local size_t clean_at = 64;
  const std::string key(expression);
  if (const auto found = known.find(key); found != known.end())
    if (auto filter = found->second.lock()) return filter;
  HOOKD_TRY(auto filter, compile_new(expression));
  known[key] = filter;
  if (known.size() >= clean_at) {
    erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    clean_at = std::max<size_t>(64, known.size() * 2);
  }
  return filter;
}

Result<bool> Filter::test(std::string_view json) const {
  HOOKD_TRY(const std::string output, run(json));
  return output != "null" && output != "false";
}

}  // namespace hookd::filter
