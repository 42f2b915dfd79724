#include "control/places.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "net/unix_listener.h"

namespace hookd::control {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> named_folders(const config::EnvLookup& env) {
  std::vector<std::string> folders;
  if (const auto xdg = env("XDG_RUNTIME_DIR"); xdg && !xdg->empty()) folders.push_back(*xdg + "/hookd");
  folders.emplace_back("/run/hookd");
  return folders;
}

std::vector<std::string> temporary_folders(const config::EnvLookup& env) {
  std::vector<std::string> folders{"/tmp", "/dev/shm"};
  if (const auto tmpdir = env("TMPDIR"); tmpdir && !tmpdir->empty() && *tmpdir != "/tmp")
    folders.insert(folders.begin(), *tmpdir);
  return folders;
}

// Ours alone to write in: else somebody could put another socket in the place of ours.
bool usable(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (status.st_uid != ::geteuid() && status.st_uid != 0) return false;
  return (status.st_mode & 0002) == 0 && ::access(folder.c_str(), W_OK) == 0;
}

Folder look_at(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return {};
  return {true, status.st_uid, (status.st_mode & 0002) != 0};
}

void add_live(const fs::path& folder, const fs::path& name, LiveSockets& out) {
  const std::string text = (folder / name).string();
  struct stat status{};
  if (::lstat(text.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode) || !net::is_live_socket(text)) return;
  auto& list = can_be_trusted(status.st_uid, look_at(folder), look_at(folder.parent_path()), ::geteuid()) ? out.trusted
                                                                                                          : out.others;
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

}  // namespace

bool can_be_trusted(uid_t socket_owner, const Folder& folder, const Folder& above, uid_t me) {
  const auto ours = [me](uid_t owner) { return owner == 0 || owner == me; };
  if (!folder.there || folder.others_write) return false;
  if (ours(folder.owner)) return me == 0 || ours(socket_owner);
  // Root put the folder there and gave it to the daemon's user, as systemd does with /run/hookd.
  return me == 0 && above.there && ours(above.owner) && !above.others_write && socket_owner == folder.owner;
}

std::vector<std::string> default_folders(const config::EnvLookup& env) {
  std::vector<std::string> folders = named_folders(env);
  std::erase_if(folders, [](const std::string& folder) { return !usable(folder); });
  return folders;
}

void remove_dead_sockets(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    struct stat status{};
    if (name.starts_with("hookd-") && name.ends_with(".sock") && ::lstat(entry.path().c_str(), &status) == 0 &&
        S_ISSOCK(status.st_mode) && !net::is_live_socket(entry.path().string()))
      fs::remove(entry.path(), error);
  }
}

LiveSockets live_sockets(const config::EnvLookup& env) {
  LiveSockets found;
  std::error_code error;
  for (const auto& folder : named_folders(env)) {
    // A link where systemd chose the user (DynamicUser=): /run/hookd leads to /run/private/hookd. Below /tmp links are
    // not followed.
    const fs::path real = fs::canonical(folder, error);
    if (!error)
      for (const auto& entry : fs::directory_iterator(real, error))
        if (entry.path().extension() == ".sock") add_live(real, entry.path().filename(), found);
    if (error == std::errc::permission_denied) found.closed.push_back(folder);
  }
  for (const auto& folder : temporary_folders(env))
    for (const auto& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with("hookd-")) add_live(entry.path(), "hookd.sock", found);
  std::ranges::sort(found.trusted);
  std::ranges::sort(found.others);
  return found;
}

std::string places_text(const config::EnvLookup& env) {
  std::string text = fmt::format("{}", fmt::join(named_folders(env), ", "));
  for (const auto& folder : temporary_folders(env)) text += fmt::format(", {}/hookd-*", folder);
  return text;
}

Result<std::string> find_socket(const std::string& asked, const config::EnvLookup& env) {
  std::string path = asked;
  if (path.empty()) {
    if (const auto variable = env("HOOKD_CONTROL"); variable && !variable->empty()) {
      if (*variable == "off")
        return fail(Errc::kConfig,
                    "HOOKD_CONTROL is off: such a daemon has no control socket; --socket PATH names another one's");
      path = *variable;
    } else if (const auto file = env("HOOKD_CONFIG"); file && !file->empty()) {
      // A broken file is what the daemon will tell of; to ask it, the usual places are looked at.
      const auto config = config::load_daemon_config(*file, nullptr);
      if (config && config->control && config->control->empty())
        return fail(Errc::kConfig, "`control` is off in {}; --socket PATH names another daemon's socket", *file);
      if (config) path = config->control.value_or("");
    }
  }
  if (!path.empty()) return path;
  const auto live = live_sockets(env);
  if (live.trusted.size() == 1) return live.trusted.front();
  if (live.trusted.size() > 1)
    return fail(Errc::kConflict, "several hookd run here; say which with --socket:\n  {}",
                fmt::join(live.trusted, "\n  "));
  if (!live.others.empty())
    return fail(
        Errc::kForbidden,
        "no hookd of yours runs here, but another user offers a socket that says to be one's; if you trust that "
        "user, name it with --socket:\n  {}",
        fmt::join(live.others, "\n  "));
  if (!live.closed.empty())
    return fail(
        Errc::kForbidden,
        "no hookd was found that you may ask; one may run whose socket is in {}, which is closed to you: ask as "
        "root or as the user that it runs as",
        fmt::join(live.closed, ", "));
  return fail(Errc::kNotFound, "no hookd runs here: looked at {}; --socket PATH names another place", places_text(env));
}

}  // namespace hookd::control
