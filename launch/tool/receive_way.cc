#include "tool/receive_way.h"

#include <filesystem>
#include <system_error>

#include "net/kernel/intakes.h"
#include "net/kernel/own_loader.h"

namespace lapwing::launch {
namespace {

// Of this installation.
std::string installed(const std::string& below_prefix) {
  std::error_code error;
  const std::filesystem::path tool = std::filesystem::read_symlink("/proc/self/exe", error);
  return (tool.parent_path().parent_path() / below_prefix).string();
}

std::string remedy_of_receive() {
  if (!net::kernel::OwnLoader::built()) return "build the library where a clang compiles for bpf, on x86-64";
  const std::string unit = installed("lib/systemd/system/lapwing-accelerator.service"), tool = installed("bin/lapwing");
  std::error_code error;
  const bool has_unit = std::filesystem::exists(unit, error);
  return "an administrator of this host enables it for all users (Linux 5.15): `" +
         (has_unit ? "systemctl enable --now " + unit
                   : tool + " accelerator`, as root, under whatever starts services here, such as `setsid " + tool + " accelerator &") +
         "`, then any user sees it work: `lapwing doctor` (docs/ethernet.md)";
}

}  // namespace

ReceiveWay find_receive_way(const Settings& settings, bool tries) {
  ReceiveWay way;
  net::kernel::Intakes intakes;
  way.kernel = intakes.prepare(1, settings.receive_memory, tries ? settings.receive_zone : 0, settings.accelerator);
  if (way.kernel.ok()) way.by = intakes.by();
  if (way.kernel.ok() && tries) way.kernel = intakes.load();
  if (!way.kernel.ok()) way.remedy = remedy_of_receive();
  return way;
}

std::string describe(const ReceiveWay& way, const Settings& settings) {
  const std::string asked = " (LAPWING_RECEIVE=" + settings::ReceiveKind::print(settings.receive) + ")";
  if (!way.kernel.ok()) return "by the library" + asked + "; not in the kernel, for " + way.kernel.text();
  if (settings.receive == Receive::kUser) return "by the library" + asked + "; it can be had in the kernel, " + way.by;
  return "in the kernel, " + way.by + asked;
}

}  // namespace lapwing::launch
