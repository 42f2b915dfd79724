// A source that is a file or a folder: an event when what it holds is another than before (file_state.h), with that as
// oldData; and one at the start, without oldData, unless `existing: none`. The next version of a hook goes on from what
// the one before was told. Thread: loop only.
//
// Looked at when a place on the way to it was touched (base/path_watcher.h) and it was quiet for `settle`, at the
// latest after ten times that; and once a minute in any case: file systems of the network tell nothing. What changes
// while the hook is behind (the buffer is full) becomes one event. Stopped it looks a last time at what was touched and
// not told yet: its successor would take that for what had always been there.
#pragma once

#include "trigger/file_state.h"
#include "trigger/source_trigger.h"

namespace hookd::trigger {

class FileSource final : public SourceTrigger {
 public:
  FileSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding, SourceServices services,
             Emit emit);

  void start() override;
  void tell_existing() override;
  void stop() override;
  std::shared_ptr<const std::string> told() const override { return known_; }
  void take_over(std::shared_ptr<const std::string> told) override;
  std::optional<Error> trouble() const override { return trouble_; }
  std::string what() const override { return "file " + binding_.file; }

  static constexpr Duration kLook = std::chrono::minutes(1);
  static constexpr Duration kLookUnwatched = std::chrono::seconds(2);   // where nothing tells of changes
  static constexpr Duration kLastLook = std::chrono::milliseconds(20);  // may take so long at most
  static constexpr int kSettleMost = 10;                                // times `settle`
  static constexpr int kTornReads = 3;  // then what was read is told although it changes all the time

 private:
  void follow();
  void touched();
  void look();
  void read_on();
  void read_on_soon();
  void seen(std::string state);
  void room() override;

  std::unique_ptr<PathWatcher::Watch> watch_;
  bool watched_ = false;
  std::unique_ptr<FileState> reading_;
  bool torn_ = false;   // touched while reading
  int torn_reads_ = 0;  // one after another
  bool held_ = false;   // changed while full
  bool stopped_ = false;
  bool first_ = true;
  std::shared_ptr<const std::string> known_;  // as the hook was told, or found at the start
  std::optional<Error> trouble_;
  SteadyTime first_touch_{};
  Timer settle_, look_;
};

}  // namespace hookd::trigger
