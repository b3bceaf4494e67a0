// The key file (LAPWING_KEY_FILE): what the ranks of a user's jobs know beside the secret of each job. The secret comes from the launcher, and some
// launchers send it over the network in clear; the key file never crosses it, unless the user's home does.
//
// It is text: 64 hexadecimal digits and the end of the line. It belongs to its user (or to root), and no other user may read it.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace lapwing::runtime {

// Of the setting. A file that is not there is not missed at this place, and at any other it is.
inline constexpr const char* kDefaultKeyFile = "~/.config/lapwing/key";
inline constexpr std::size_t kKeyBytes = 32;

// The path that a setting means: `~/` is the home of the user. Empty: none.
std::string key_file_path(const std::string& setting);
// The key; empty where none is to be used.
Status read_key_file(const std::string& setting, std::string& key);
// Makes a new one, and the folders above it. One that is there stays, and is an error.
Status make_key_file(const std::string& path);

}  // namespace lapwing::runtime
