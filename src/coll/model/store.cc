#include "coll/model/store.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/read_file.h"

namespace lapwing::coll::model {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return text;
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return file.good();
}

}  // namespace

std::string usual_path(const std::string& host) {
  const std::string base = variable("XDG_CONFIG_HOME"), home = variable("HOME");
  if (base.empty() && home.empty()) return "";
  return (base.empty() ? home + "/.config" : base) + "/lapwing/model-" + host;
}

std::string path_for(const std::string& setting, const std::string& host) {
  if (setting == "none") return "";
  return setting.empty() ? usual_path(host) : setting;
}

Loaded load(const std::string& setting, const std::string& host) {
  Loaded loaded;
  const std::string path = path_for(setting, host);
  if (path.empty() || (setting.empty() && access(path.c_str(), F_OK) != 0)) return loaded;
  const std::string text = read_file(path);
  const Status status = text.empty() ? Status::error(MPI_ERR_OTHER, "it is empty or cannot be read")
                                     : read(text, loaded.parameters);
  if (status.ok()) {
    loaded.path = path;
  } else {
    loaded.notice = path + ": " + status.text() +
                    ". The default parameters are used; `lapwing model` measures them again";
  }
  return loaded;
}

Status keep(const std::string& path, const Parameters& parameters) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::string text = print(parameters);
  text.insert(text.find('\n') + 1, "# measured " + now_text() + " by lapwing model; times in nanoseconds\n");
  const std::string draft = path + "." + std::to_string(getpid());
  if (write(draft, text) && std::rename(draft.c_str(), path.c_str()) == 0) return {};
  return Status::error(MPI_ERR_OTHER, "%s cannot be written: %s", path.c_str(), std::strerror(errno));
}

}  // namespace lapwing::coll::model
