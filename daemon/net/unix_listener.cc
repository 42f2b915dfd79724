#include "net/unix_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/fd.h"

namespace hookd::net {
namespace {

std::string reason() { return std::generic_category().message(errno); }

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

// A file in the way is only taken for a dead socket of ours if it is one without doubt.
Result<void> make_way(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return fail(Errc::kConfig, "cannot listen on {}: {}", path, reason());
  }
  if (!S_ISSOCK(status.st_mode))
    return fail(Errc::kConfig, "cannot listen on {}: something that is no socket lies there; choose another path",
                path);
  if (status.st_uid != ::geteuid())
    return fail(Errc::kConfig, "cannot listen on {}: the socket there is of another user (uid {})", path,
                status.st_uid);
  if (is_live_socket(path)) return fail(Errc::kExists, "cannot listen on {}: another process listens there", path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(Errc::kConfig, "cannot replace {}, which was left behind: {}", path, reason());
  return {};
}

}  // namespace

bool is_live_socket(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) return false;
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_of(path);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  // A full queue, or one that we may not enter, has an owner too.
  return errno != ECONNREFUSED && errno != ENOENT && errno != ENOTSOCK && errno != ENOTDIR;
}

Result<void> UnixListener::open(std::string path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
    return fail(Errc::kConfig, "cannot listen on {}: the path of a unix socket has 1 to {} bytes, this one {}", path,
                sizeof(sockaddr_un::sun_path) - 1, path.size());
  HOOKD_CHECK(make_way(path));
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(Errc::kConfig, "cannot listen on {}: {}", path, reason());
  // Between bind and listen nobody can connect: there is no moment with a wider mode.
  struct stat status{};
  if (::chmod(path.c_str(), 0600) != 0 || ::lstat(path.c_str(), &status) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    const auto failure = fail(Errc::kConfig, "cannot listen on {}: {}", path, reason());
    ::unlink(path.c_str());
    return failure;
  }
  boost::system::error_code error;
  acceptor_.assign(boost::asio::local::stream_protocol(), socket.get(), error);
  if (error) return fail(Errc::kConfig, "cannot listen on {}: {}", path, error.message());
  (void)socket.release();
  path_ = std::move(path);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return {};
}

void UnixListener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  const std::string path = std::exchange(path_, {});
  struct stat status{};
  if (!path.empty() && ::lstat(path.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::unlink(path.c_str());
}

Result<std::string> check_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return fail(Errc::kForbidden, "who connected cannot be told: {}", reason());
  if (peer.uid != 0 && peer.uid != ::geteuid())
    return fail(Errc::kForbidden, "only root and the user that hookd runs as (uid {}) may ask here, not uid {}",
                ::geteuid(), peer.uid);
  return fmt::format("uid {}, pid {}", peer.uid, peer.pid);
}

}  // namespace hookd::net
