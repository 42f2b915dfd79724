#include "cli/completion.h"

#include <algorithm>
#include <optional>

namespace hookd::cli {
namespace {

bool is_flag(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }
bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string first_sentence(std::string_view text) { return std::string(text.substr(0, text.find_first_of(";\n"))); }

// "FORMAT:{json,table}" of an option that has choices: CLI11 has them in that text only.
std::vector<std::string> choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  return begin == std::string::npos || end == std::string::npos
             ? std::vector<std::string>()
             : CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

class Completer {
 public:
  Completer(const CLI::App& app, const DaemonNames& names) : app_(&app), names_(names) {}

  Candidates complete(const std::vector<std::string>& words) {
    for (size_t i = 0; i + 1 < words.size(); ++i) pass(words[i]);
    return next(words.back());
  }

 private:
  // A word that stands there.
  void pass(const std::string& word) {
    if (word == "=") return;  // bash takes --flag=value for three words
    if (const auto* option = std::exchange(waiting_, nullptr)) return note(*option, word);
    if (!only_positionals_ && word == "--") {
      only_positionals_ = true;
    } else if (!only_positionals_ && is_flag(word)) {
      const size_t sign = word.find('=');
      const auto* option = app_->get_option_no_throw(word.substr(0, sign));
      if (!option && !word.starts_with("--")) option = app_->get_option_no_throw(word.substr(0, 2));  // -n5
      if (!option) return;
      used_.push_back(option);
      const bool value_is_there = sign != std::string::npos || (!word.starts_with("--") && word.size() > 2);
      if (takes_value(*option) && !value_is_there) waiting_ = option;
      if (sign != std::string::npos) note(*option, word.substr(sign + 1));
    } else if (const CLI::App* command = positionals_.empty() ? command_of(word) : nullptr) {
      app_ = command;
    } else {
      positionals_.push_back(word);
    }
  }

  const CLI::App* command_of(const std::string& word) const {
    const auto found = app_->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    return found.empty() ? nullptr : found.front();
  }

  void note(const CLI::Option& option, const std::string& value) {
    if (option.check_lname("socket")) socket_ = value;
  }

  Candidates next(const std::string& word) {
    if (waiting_) return values(*waiting_, word == "=" ? "" : word, "");
    if (!only_positionals_ && word.starts_with('-')) {
      const size_t sign = word.find('=');
      if (sign == std::string::npos) return flags(word);
      const auto* option = app_->get_option_no_throw(word.substr(0, sign));
      return option && takes_value(*option) ? values(*option, word.substr(sign + 1), word.substr(0, sign + 1))
                                            : Candidates();
    }
    Candidates all;
    if (positionals_.empty())
      for (const auto* command : app_->get_subcommands([](const CLI::App*) { return true; }))
        add(all, word, {command->get_name(), command->get_description()});
    if (!all.words.empty()) return all;
    size_t left = positionals_.size();
    for (const auto* option : app_->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
      const auto most = static_cast<size_t>(option->get_items_expected_max());
      if (left < most) return values(*option, word, "");
      left -= most;
    }
    return all;
  }

  static void add(Candidates& all, std::string_view begin, Candidate one) {
    if (one.word.starts_with(begin)) all.words.push_back(std::move(one));
  }

  Candidates flags(const std::string& word) const {
    Candidates all;
    for (const auto* option : app_->get_options()) {
      if (option->get_group().empty() || !option->nonpositional()) continue;
      const bool again = option->get_items_expected_max() > 1;
      if (!again && std::ranges::find(used_, option) != used_.end()) continue;
      const auto about = first_sentence(option->get_description());
      for (const auto& name : option->get_snames()) add(all, word, {"-" + name, about});
      for (const auto& name : option->get_lnames()) add(all, word, {"--" + name, about});
    }
    return all;
  }

  // `before`: what stands before the value in the same word.
  Candidates values(const CLI::Option& option, const std::string& word, const std::string& before) const {
    Candidates all;
    const auto offer = [&](const std::vector<Candidate>& list) {
      for (const Candidate& one : list) add(all, before + word, {before + one.word, one.about});
      return all;
    };
    if (const auto list = choices(option); !list.empty()) {
      for (const auto& one : list) add(all, before + word, {before + one, ""});
      return all;
    }
    const std::string name = option.get_positional() ? option.get_name(true) : option.get_type_name();
    const bool asks_daemon = app_->get_option_no_throw("--socket") != nullptr;
    if (asks_daemon && name == "HOOK")
      return offer(app_->get_name() == "finalizers" ? names_.left(socket_) : names_.hooks(socket_));
    if (name == "BINDING" && !positionals_.empty()) return offer(names_.bindings(socket_, positionals_.front()));
    if (name == "KEY" && !positionals_.empty()) return offer(names_.keys(socket_, positionals_.front()));
    if (name == "DIR") all.what = Candidates::What::kFolders;
    if (name == "FILE" || name == "PATH" || name == "HOOK") all.what = Candidates::What::kFiles;
    return all;
  }

  const CLI::App* app_;
  const DaemonNames& names_;
  const CLI::Option* waiting_ = nullptr;  // for its value
  bool only_positionals_ = false;
  std::vector<const CLI::Option*> used_;
  std::vector<std::string> positionals_;
  std::string socket_;
};

}  // namespace

Candidates candidates(const CLI::App& app, std::vector<std::string> words, const DaemonNames& names) {
  if (words.empty()) words.emplace_back();
  return Completer(app, names).complete(words);
}

}  // namespace hookd::cli
