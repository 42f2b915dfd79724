#include "trigger/file_source.h"

#include <filesystem>

#include "base/log.h"

namespace hookd::trigger {

FileSource::FileSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding,
                       SourceServices services, Emit emit)
    : SourceTrigger(std::move(hook), binding, std::move(services), std::move(emit)) {}

void FileSource::start() {
  if (services_.paths) watch_ = services_.paths->watch([this] { touched(); });
  look();
}

void FileSource::take_over(std::shared_ptr<const std::string> told) {
  known_ = std::move(told);
  first_ = !known_;
}

void FileSource::tell_existing() {
  if (!binding_.existing) return;
  FileState state(binding_.file, binding_.max_file_bytes);
  auto done = state.step();
  while (done && !*done) done = state.step();
  if (done)
    seen(state.take());
  else
    trouble_ = done.error();
}

void FileSource::stop() {
  if (std::exchange(stopped_, true)) return;
  if (!first_ && (settle_.pending() || reading_)) {
    const SteadyTime most = services_.scheduler.now() + kLastLook;
    FileState state(binding_.file, binding_.max_file_bytes);
    auto done = state.step();
    while (done && !*done && services_.scheduler.now() < most) done = state.step();
    if (done && *done) seen(state.take());
  }
  watch_.reset();
  reading_.reset();
  settle_.cancel();
  look_.cancel();
}

// A folder's entries may be links that lead elsewhere.
void FileSource::follow() {
  if (!watch_) return;
  namespace fs = std::filesystem;
  auto places = places_of(binding_.file);
  std::error_code error;
  if (fs::is_directory(binding_.file, error)) {
    const std::string real = fs::canonical(binding_.file, error).string();
    if (!error) places.push_back({real, "", true});
    size_t entries = 0;
    for (fs::directory_iterator it(binding_.file, error), end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      if (++entries > FileState::kMaxFiles) break;
      if (!it->is_symlink(ignored) || it->path().filename().string().starts_with("..")) continue;
      std::ranges::move(places_of((fs::path(real) / it->path().filename()).string()), std::back_inserter(places));
    }
  }
  watched_ = watch_->set(std::move(places));
}

void FileSource::touched() {
  if (stopped_) return;
  torn_ |= reading_ != nullptr;
  const SteadyTime now = services_.scheduler.now();
  // Something that is written all the time must not put off the event for ever.
  if (!settle_.pending()) first_touch_ = now;
  settle_ = services_.scheduler.at(std::min(now + binding_.settle, first_touch_ + kSettleMost * binding_.settle),
                                   [this] { look(); });
}

void FileSource::look() {
  if (stopped_) return;
  if (reading_) {
    torn_ = true;
    return touched();
  }
  follow();  // before reading: what changes from here on is told
  look_ = services_.scheduler.after(watched_ ? kLook : kLookUnwatched, [this] { look(); });
  reading_ = std::make_unique<FileState>(binding_.file, binding_.max_file_bytes);
  read_on_soon();  // never from inside start(): what an older version left must come before it
}

void FileSource::read_on_soon() {
  services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) read_on();
  });
}

void FileSource::read_on() {
  if (!reading_) return;
  const auto done = reading_->step();
  if (done && !*done) return read_on_soon();
  const auto read = std::move(reading_);
  // It changed under our eyes: what was read may be half old and half new. The look that is due will see it whole.
  if (std::exchange(torn_, false) && ++torn_reads_ <= kTornReads) return;
  torn_reads_ = 0;
  if (done) {
    if (std::exchange(trouble_, std::nullopt))
      log::info("a source's file can be read again", {{"hook", hook_->name}, {"binding", binding_.name}});
    seen(read->take());
  } else {
    if (!trouble_ || trouble_->what != done.error().what)
      log::warn("a source's file cannot be read, what it held before stays",
                {{"hook", hook_->name}, {"binding", binding_.name}, {"error", done.error().what}});
    trouble_ = done.error();
  }
}

void FileSource::seen(std::string state) {
  const bool first = std::exchange(first_, false);
  if (known_ && *known_ == state) return;
  if (!first && paused()) {
    held_ = true;  // looked at again when there is room
    return;
  }
  const auto before = std::exchange(known_, std::make_shared<const std::string>(state));
  if (first && !binding_.existing) return;
  emit(std::move(state), before);
}

void FileSource::room() {
  if (std::exchange(held_, false)) look();
}

}  // namespace hookd::trigger
