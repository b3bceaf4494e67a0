// What LAPWING_LOG=info says when a process has joined its job: once per job what holds for all, once per rank where it is.
#pragma once

namespace lapwing::process {

struct Process;

void announce(const Process& process);

}  // namespace lapwing::process
