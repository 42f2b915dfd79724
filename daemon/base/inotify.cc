#include "base/inotify.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/log.h"

namespace hookd {
namespace {

constexpr uint32_t kAlways = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                             IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// Those about the folder itself, which have no name.
constexpr uint32_t kSelf = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

}  // namespace

class Inotify::Client final : public PathWatcher::Watch {
 public:
  Client(Inotify& owner, std::function<void()> touched)
      : owner_(&owner), owner_alive_(owner.alive_), touched_(std::move(touched)) {
    owner.clients_.insert(this);
  }
  ~Client() override {
    if (owner_alive_.expired()) return;
    owner_->release(this, {});
    owner_->clients_.erase(this);
  }
  bool set(std::vector<Place> places) override { return !owner_alive_.expired() && owner_->set(this, places); }
  // Told once a turn, whatever came.
  void touch() {
    if (std::exchange(told_, true)) return;
    owner_->scheduler_.post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.lock()) return;
      told_ = false;
      const auto touched = touched_;  // it may destroy this
      touched();
    });
  }

 private:
  Inotify* owner_;
  std::weak_ptr<bool> owner_alive_;
  std::function<void()> touched_;
  bool told_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Inotify::Inotify(AsioScheduler& scheduler) : scheduler_(scheduler), descriptor_(scheduler.context()) {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) {
    log::warn("files that change are only seen by looking at them: inotify is not to be had",
              {{"error", std::generic_category().message(errno)}});
    return;
  }
  descriptor_.assign(fd);
  read();
}

Inotify::~Inotify() = default;

std::unique_ptr<PathWatcher::Watch> Inotify::watch(std::function<void()> touched) {
  return std::make_unique<Client>(*this, std::move(touched));
}

bool Inotify::set(Client* client, const std::vector<Place>& places) {
  if (!descriptor_.is_open()) return false;
  bool all = true;
  std::map<std::string, std::vector<Place>> by_folder;
  for (const Place& place : places) by_folder[place.folder].push_back(place);
  std::set<int> wanted;
  for (auto& [path, in_folder] : by_folder) {
    const bool writes = std::ranges::any_of(in_folder, &Place::writes);
    const uint32_t mask = kAlways | (writes ? IN_MODIFY : 0);
    // The same folder has the same number, whoever names it; what others want of it stays.
    const int number = ::inotify_add_watch(descriptor_.native_handle(), path.c_str(), mask | IN_MASK_ADD);
    if (number < 0) {
      all &= errno == ENOENT || errno == ENOTDIR;  // it went: its parent tells
      if (errno != ENOENT && errno != ENOTDIR)
        log::debug("a folder cannot be watched", {{"folder", path}, {"error", std::generic_category().message(errno)}});
      continue;
    }
    wanted.insert(number);
    Folder& folder = folders_[number];
    folder.path = path;
    folder.mask |= mask;
    folder.clients[client] = std::move(in_folder);
  }
  release(client, wanted);
  return all;
}

void Inotify::release(Client* client, const std::set<int>& but) {
  for (auto it = folders_.begin(); it != folders_.end();) {
    if (!but.contains(it->first)) it->second.clients.erase(client);
    if (!it->second.clients.empty()) {
      ++it;
      continue;
    }
    ::inotify_rm_watch(descriptor_.native_handle(), it->first);
    it = folders_.erase(it);
  }
}

void Inotify::read() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
                           if (error || alive.expired()) return;
                           alignas(inotify_event) std::array<char, 16384> buffer;
                           const ssize_t got = ::read(descriptor_.native_handle(), buffer.data(), buffer.size());
                           if (got > 0) handle(buffer.data(), static_cast<size_t>(got));
                           read();  // one piece a turn
                         });
}

void Inotify::handle(const char* bytes, size_t size) {
  while (size >= sizeof(inotify_event)) {
    inotify_event event;
    std::memcpy(&event, bytes, sizeof event);
    const std::string_view name = event.len == 0 ? std::string_view() : std::string_view(bytes + sizeof event);
    bytes += sizeof event + event.len;
    size -= std::min(size, sizeof event + event.len);
    if (event.mask & IN_Q_OVERFLOW) {  // something was lost: whoever it was for
      for (Client* client : clients_) client->touch();
      continue;
    }
    const auto it = folders_.find(event.wd);
    if (it == folders_.end()) continue;
    for (const auto& [client, places] : it->second.clients) {
      const bool concerns = std::ranges::any_of(places, [&](const Place& place) {
        if (event.mask & kSelf) return true;
        if ((event.mask & IN_MODIFY) && !place.writes) return false;
        return place.name.empty() || place.name == name;
      });
      if (concerns) client->touch();
    }
    if (event.mask & IN_IGNORED) folders_.erase(it);  // the kernel let go of it: deleted, unmounted
  }
}

}  // namespace hookd
