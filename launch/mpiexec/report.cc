#include "mpiexec/report.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/plain_text.h"
#include "machine.h"

namespace lapwing::launch {
namespace {

struct SignalName {
  int number;
  const char* name;
};

constexpr SignalName kSignalNames[] = {
    {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGHUP, "SIGHUP"},
    {SIGILL, "SIGILL"},   {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"},
    {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},   {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGTTIN, "SIGTTIN"},
    {SIGTTOU, "SIGTTOU"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
};

bool is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT ||
         signal == SIGSYS || signal == SIGTRAP;
}

std::string line(const std::string& text) {
  return "mpiexec: " + text + "\n";
}
std::string more(const std::string& text) {
  return "mpiexec:   " + text + "\n";
}

std::string others(const RankName& name) {
  if (name.ranks == 1) return "";
  return name.others_go_on ? "; the other ranks go on" : "; the other ranks are being ended";
}

std::string core_hint(bool dumped) {
  std::string pattern = read_small_file("/proc/sys/kernel/core_pattern");
  while (!pattern.empty() && pattern.back() == '\n') pattern.pop_back();
  if (dumped) {
    if (pattern.find("systemd-coredump") != std::string::npos) return "a core was kept: coredumpctl gdb";
    if (pattern.compare(0, 1, "|") == 0) return "a core was handed to " + pattern.substr(1);
    return "a core file was written (kernel.core_pattern: " + pattern + ")";
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return limit.rlim_cur == 0 ? "no core file was written; ulimit -c unlimited allows it" : "no core file was written";
}

// As a shell takes it for one word.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char letter) { return is_letter_or_digit(letter) || std::string_view("_./:=+,@%^-").find(letter) != std::string_view::npos; };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::string debugger_hint(const RankName& name) {
  std::string command = "to see where: mpiexec -n " + std::to_string(name.ranks) + " gdb -batch -ex run -ex bt --args";
  for (const std::string& argument : name.arguments) command += " " + quoted(argument);
  return command;
}

}  // namespace

bool survives_signal(pid_t process, int signal) {
  const std::string status = read_small_file("/proc/" + std::to_string(process) + "/status");
  for (const char* set : {"SigBlk:", "SigIgn:", "SigCgt:"}) {
    const std::size_t place = status.find(set);
    if (place == std::string::npos) continue;
    const unsigned long long signals = std::strtoull(status.c_str() + place + std::strlen(set), nullptr, 16);
    if ((signals >> (signal - 1) & 1) != 0) return true;
  }
  return false;
}

std::string signal_name(int signal) {
  const char* meaning = ::strsignal(signal);
  for (const SignalName& entry : kSignalNames) {
    if (entry.number == signal) return std::string(entry.name) + " (" + meaning + ")";
  }
  return "signal " + std::to_string(signal) + " (" + meaning + ")";
}

std::string describe(const RankName& name) {
  return "rank " + std::to_string(name.rank) + " of " + std::to_string(name.ranks) + " (" +
         (name.arguments.empty() ? "?" : name.arguments.front()) + ", pid " + std::to_string(name.process) + ")";
}

std::string killed_report(const RankName& name, int signal, bool dumped_core) {
  std::string text = line(describe(name) + " was killed by " + signal_name(signal) + others(name));
  if (is_crash(signal)) {
    text += more(core_hint(dumped_core));
    text += more(debugger_hint(name));
  } else if (signal == SIGPIPE) {
    text += more("what it wrote to has no reader any more: the next program of a pipeline that ended, say");
  } else if (signal == SIGKILL) {
    text += more("perhaps by the kernel for want of memory: see dmesg, or the container's memory limit");
  }
  return text;
}

std::string exited_report(const RankName& name, int code, bool inside_mpi) {
  std::string text = describe(name) + " exited with code " + std::to_string(code);
  if (inside_mpi) text += " without calling MPI_Finalize, or MPI_Session_finalize for each session";
  return line(text + others(name));
}

std::string late_failure_report(const RankName& name, int code) {
  return line(describe(name) + " exited with code " + std::to_string(code) + " after MPI_Finalize");
}

std::string aborted_report(const RankName& name, int code, const std::string& text) {
  std::string report = line(describe(name) + " ended the job by MPI_Abort with code " + std::to_string(code));
  if (!text.empty()) report += more(text);
  return report;
}

}  // namespace lapwing::launch
