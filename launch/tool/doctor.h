// `lapwing doctor`: looks at this machine as a job would and says what to change.
//
// Every check is one function that returns one finding; none changes anything on the machine.
#pragma once

#include <string>
#include <vector>

namespace lapwing::launch {

enum class Verdict { kOk, kWarning, kError };

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string subject;  // "shared memory"
  std::string fact;     // what was seen
  std::string remedy;   // what to do; empty when all is well
};

// doctor_launcher.cc
Finding check_launcher();

// doctor_system.cc
Finding check_settings();
Finding check_cores();
Finding check_open_files();
Finding check_shared_memory();
Finding check_single_copy();
Finding check_event_calls();
Finding check_wake_up();

// doctor_network.cc
Finding check_loopback();
Finding check_port_range();
Finding check_local_sockets();
Finding check_interfaces();
Finding check_congestion_control();
Finding check_protection();
Finding check_receive();

// doctor_ether.cc
Finding check_ether();

// doctor_queues.cc
Finding check_queues();

// Returns the exit code: 1 when there was an error.
int run_doctor(const std::vector<std::string>& arguments);

}  // namespace lapwing::launch
