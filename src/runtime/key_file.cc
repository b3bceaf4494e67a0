#include "runtime/key_file.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace lapwing::runtime {
namespace {

constexpr std::size_t kDigits = 2 * kKeyBytes;
constexpr std::string_view kHexadecimal = "0123456789abcdef";

class File {
 public:
  File(const char* path, int flags, mode_t mode = 0) noexcept : fd_(::open(path, flags | O_CLOEXEC, mode)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string home() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

Status unusable(const std::string& path, const std::string& why) {
  return Status::error(MPI_ERR_OTHER, "the key file %s (LAPWING_KEY_FILE) cannot be used: %s", path.c_str(), why.c_str());
}

// What another user could read, or put there, is no key.
Status check_owner(const std::string& path, int fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return unusable(path, std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return unusable(path, "it is no ordinary file");
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return unusable(path, "it belongs to another user (" + std::to_string(about.st_uid) + ")");
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) return unusable(path, "other users may read or write it; `chmod 600` it");
  return {};
}

bool decode(std::string_view digits, std::string& key) {
  key.clear();
  for (std::size_t i = 0; i < kDigits; i += 2) {
    const std::size_t high = kHexadecimal.find(digits[i]), low = kHexadecimal.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    key += static_cast<char>(high << 4 | low);
  }
  return true;
}

std::string encode(const unsigned char* bytes) {
  std::string digits;
  for (std::size_t i = 0; i < kKeyBytes; ++i) {
    digits += kHexadecimal[bytes[i] >> 4];
    digits += kHexadecimal[bytes[i] & 15];
  }
  return digits + '\n';
}

}  // namespace

std::string key_file_path(const std::string& setting) {
  if (setting.rfind("~/", 0) != 0) return setting;
  const std::string folder = home();
  return folder.empty() ? "" : folder + setting.substr(1);
}

Status read_key_file(const std::string& setting, std::string& key) {
  key.clear();
  const std::string path = key_file_path(setting);
  if (path.empty()) {
    if (setting.empty() || setting == kDefaultKeyFile) return {};
    return unusable(setting, "the user's home is not known; set HOME, or name the file by its whole path");
  }
  const File file(path.c_str(), O_RDONLY | O_NONBLOCK);  // a pipe is opened, and then refused
  if (file.fd() < 0) {
    const bool not_there = errno == ENOENT || errno == ENOTDIR || errno == EACCES;
    if (not_there && setting == kDefaultKeyFile) return {};
    return unusable(path, std::strerror(errno) + std::string("; `lapwing key` makes one"));
  }
  LAPWING_TRY(check_owner(path, file.fd()));
  char text[kDigits + 2];
  const ssize_t count = ::read(file.fd(), text, sizeof text);
  const bool whole = count == static_cast<ssize_t>(kDigits) || (count == static_cast<ssize_t>(kDigits) + 1 && text[kDigits] == '\n');
  if (whole && decode({text, kDigits}, key)) return {};
  key.clear();
  return unusable(path, "it does not hold 64 hexadecimal digits, as `lapwing key` writes them");
}

Status make_key_file(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && std::filesystem::create_directories(folder, error)) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  unsigned char bytes[kKeyBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return unusable(path, "the system gives no random bytes");
  const std::string digits = encode(bytes);
  const File file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (file.fd() < 0)
    return Status::error(MPI_ERR_OTHER, "the key file %s cannot be made: %s", path.c_str(),
                         errno == EEXIST ? "there is one, and jobs may be using it" : std::strerror(errno));
  if (::write(file.fd(), digits.data(), digits.size()) == static_cast<ssize_t>(digits.size())) return {};
  ::unlink(path.c_str());
  return Status::error(MPI_ERR_OTHER, "the key file %s cannot be written", path.c_str());
}

}  // namespace lapwing::runtime
