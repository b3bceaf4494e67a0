// By what messages over TCP would be received in a job that is started here: the library, or a program in the kernel, and by whose rights.
#pragma once

#include <string>

#include "base/settings.h"
#include "base/status.h"

namespace lapwing::launch {

struct ReceiveWay {
  Status kernel;       // what is missing for the kernel; ok: nothing is
  std::string by;      // "by this process's own rights", "by the service at ..."; empty where something is missing
  std::string remedy;  // of what is missing
};

// As a rank would find out. `tries`: as well whether the kernel does what it must, which takes a fraction of a second.
ReceiveWay find_receive_way(const Settings& settings, bool tries);

// In a line, with what LAPWING_RECEIVE makes of it.
std::string describe(const ReceiveWay& way, const Settings& settings);

}  // namespace lapwing::launch
