// Reading a whole file that a user named, whatever it turns out to be: files and pipes are read up
// to a limit; devices, folders and sockets are refused; a pipe that nobody writes to is not waited
// for.
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compiler/compile.h"

namespace kernelmap {
namespace {

constexpr int kWriterMilliseconds = 1000;  // a named pipe's writer has this long to turn up

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ > STDIN_FILENO) close(value_);
  }
  int value() const { return value_; }

 private:
  int value_;
};

ssize_t ReadSome(int descriptor, char* buffer, size_t size) {
  while (true) {
    const ssize_t got = read(descriptor, buffer, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

// Appends to `bytes` until the end, or until there are more than `limit`. errno says why not.
bool ReadAll(int descriptor, size_t limit, std::string* bytes) {
  char buffer[1 << 16];
  while (bytes->size() <= limit) {
    const size_t wanted = std::min(sizeof buffer, limit + 1 - bytes->size());
    const ssize_t got = ReadSome(descriptor, buffer, wanted);
    if (got < 0) return false;
    if (got == 0) break;
    bytes->append(buffer, static_cast<size_t>(got));
  }
  return true;
}

// Of a pipe that was opened without waiting: whether there is something to wait for. A pipe without
// a name, as a shell's <(…) is, had its writer from the start.
bool HasWriter(int descriptor, std::string* bytes) {
  struct statfs system {};
  if (fstatfs(descriptor, &system) == 0 && system.f_type == PIPEFS_MAGIC) return true;
  for (const int wait : {kWriterMilliseconds, 0}) {
    char first;
    const ssize_t got = ReadSome(descriptor, &first, 1);
    if (got > 0) bytes->push_back(first);
    if (got != 0) return true;  // also: nothing there yet, or an error that reading on meets again
    pollfd pipe{descriptor, POLLIN, 0};
    poll(&pipe, 1, wait);
    if (pipe.revents == POLLHUP) return true;  // opened and closed again
  }
  return false;
}

// Why what a path leads to is not read; nothing where it is.
std::string Refusal(const struct stat& status) {
  const bool null = S_ISCHR(status.st_mode) && major(status.st_rdev) == 1 &&
                    minor(status.st_rdev) == 3;  // /dev/null
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || null) return "";
  return S_ISDIR(status.st_mode) ? std::strerror(EISDIR) : "neither a file nor a pipe";
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path, size_t limit, std::string* error) {
  const auto fail = [&](const std::string& reason) {
    *error = "cannot read `" + path + "`: " + reason;
    return std::nullopt;
  };
  std::string bytes;
  if (path == "-") {
    if (!ReadAll(STDIN_FILENO, limit, &bytes)) return fail(std::strerror(errno));
    return bytes;
  }
  // A device is not even opened: that can do anything.
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fail(std::strerror(errno));
  if (const std::string refusal = Refusal(status); !refusal.empty()) return fail(refusal);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.value() < 0) return fail(std::strerror(errno));
  if (S_ISFIFO(status.st_mode)) {
    if (!HasWriter(file.value(), &bytes)) return fail("nothing writes to this pipe");
    fcntl(file.value(), F_SETFL, fcntl(file.value(), F_GETFL) & ~O_NONBLOCK);
  }
  if (!ReadAll(file.value(), limit, &bytes)) return fail(std::strerror(errno));
  return bytes;
}

}  // namespace kernelmap
