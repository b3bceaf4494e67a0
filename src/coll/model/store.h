// Where measured parameters are kept: a file per user and host, as `lapwing model` writes it.
#pragma once

#include <string>

#include "coll/model/parameters.h"

namespace lapwing::coll::model {

// $XDG_CONFIG_HOME/lapwing/model-HOST, without that variable ~/.config/lapwing/model-HOST. Empty: there is neither.
std::string usual_path(const std::string& host);

// The file that a setting names (LAPWING_MODEL): nothing: the usual one; "none": none, and an empty path; else its name.
std::string path_for(const std::string& setting, const std::string& host);

struct Loaded {
  Parameters parameters = Parameters::defaults();
  std::string path;    // where they come from; empty: the defaults
  std::string notice;  // what is wrong with the file, so that the defaults are in force
};
// The usual file need not be there.
Loaded load(const std::string& setting, const std::string& host);

// Writes the file, with the folders above it: as a whole or not at all, because a job that starts meanwhile reads it.
Status keep(const std::string& path, const Parameters& parameters);

}  // namespace lapwing::coll::model
