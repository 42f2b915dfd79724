// Tells that something may have changed at places of the file system, which may not exist yet. Thread: loop only.
// Inotify is the real one (base/inotify.h).
#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hookd {

class PathWatcher {
 public:
  struct Place {
    std::string folder;  // real path of an existing folder
    std::string name;    // of one entry in it, "" = any
    bool writes = true;  // also each write to an open file, not only its end
    auto operator<=>(const Place&) const = default;
  };

  class Watch {
   public:
    virtual ~Watch() = default;
    // From now on these, and no others. False = some cannot be watched (too many, no inotify): look from time to time.
    virtual bool set(std::vector<Place> places) = 0;
  };

  virtual ~PathWatcher() = default;
  // `touched` never comes from inside a call; several changes may be one. It may destroy its Watch.
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(std::function<void()> touched) = 0;
};

// Every place that decides what `path` (absolute) leads to: each of its components, and those of the links on the way,
// so that a link that is swapped, a file that is replaced and a folder that appears are all seen. Bounds: 40 links, as
// Linux has it.
std::vector<PathWatcher::Place> places_of(const std::string& path);

}  // namespace hookd
