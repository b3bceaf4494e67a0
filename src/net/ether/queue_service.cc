#include "net/ether/queue_service.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <optional>

#include "base/plain_text.h"
#include "base/processor_list.h"
#include "base/read_file.h"
#include "net/ether/napi.h"

namespace lapwing::net::ether {
namespace {

// ---- the names of interrupts ------------------------------------------------------------------------------------------

std::string lower_case_of(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), lower_case);
  return lower;
}

bool contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

// As a word of its own: eth1 is not named by eth10-rx-0.
bool names(std::string_view text, std::string_view word) noexcept {
  if (word.empty()) return false;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_letter_or_digit(text[at - 1]);
    if (begins && (end == text.size() || !is_letter_or_digit(text[end]))) return true;
  }
  return false;
}

// What only sends, and what tells the driver of other things.
bool receives(const std::string& lower) noexcept {
  for (const char* other : {"async", "mgmnt", "config", "ctrl", "output"}) {
    if (contains(lower, other)) return false;
  }
  return contains(lower, "rx") || !contains(lower, "tx");
}

// The digits at the end, or before "@pci:...". One that is called as the interface is the only one.
std::optional<unsigned> queue_in(std::string_view name, std::string_view interface) noexcept {
  if (name == interface) return 0;
  name = name.substr(0, name.find('@'));
  std::size_t begin = name.size();
  while (begin > 0 && is_digit(name[begin - 1])) --begin;
  unsigned queue = 0;
  const auto [stop, error] = std::from_chars(name.data() + begin, name.data() + name.size(), queue);
  return error == std::errc() ? std::optional(queue) : std::nullopt;
}

std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// "38:  0  4995  PCI-MSIX-0000:00:03.0  1-edge  virtio2-input.0"
bool parse_line(std::string_view line, int& number, std::string_view& name) noexcept {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const auto [stop, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc() || stop == line.data() + line.size() || *stop != ':') return false;
  const std::size_t last = line.find_last_not_of(' ');
  name = line.substr(0, last + 1);
  name.remove_prefix(name.find_last_of(' ') + 1);
  return true;
}

// ---- who runs what ------------------------------------------------------------------------------------------------------

std::string device_of(const std::string& interface) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(("/sys/class/net/" + interface + "/device").c_str(), target, sizeof target);
  const std::string_view path(target, length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(path.substr(path.find_last_of('/') + 1));
}

QueueService service(QueueService::By by, int number, const ProcessorSet& processors) noexcept {
  QueueService found;
  if (processors.none()) return found;
  found.by = by;
  found.number = number;
  found.processors = processors;
  return found;
}

// In a container with processes of its own the number may be another's.
QueueService service_by_thread(int thread) {
  const bool is_one = read_file("/proc/" + std::to_string(thread) + "/comm").rfind("napi/", 0) == 0;
  return is_one ? service(QueueService::By::kThread, thread, processors_of(thread)) : QueueService();
}

// Of the processors that may take it the controller uses one, which newer kernels tell.
QueueService service_by_interrupt(int interrupt) {
  const std::string folder = "/proc/irq/" + std::to_string(interrupt);
  std::vector<int> processors = parse_processor_list(read_file(folder + "/effective_affinity_list"));
  if (processors.empty()) processors = parse_processor_list(read_file(folder + "/smp_affinity_list"));
  return service(QueueService::By::kInterrupt, interrupt, set_of_processors(processors));
}

QueueService service_by_steering(const std::string& interface, unsigned queue) {
  const std::string mask = read_file("/sys/class/net/" + interface + "/queues/rx-" + std::to_string(queue) + "/rps_cpus");
  return service(QueueService::By::kSteering, static_cast<int>(queue), parse_processor_mask(mask));
}

}  // namespace

std::vector<int> parse_interrupts(std::string_view table, std::string_view interface, std::string_view device, unsigned queues) {
  std::vector<int> interrupts(queues, -1);
  while (!table.empty()) {
    int number = 0;
    std::string_view name;
    if (!parse_line(take_line(table), number, name)) continue;
    if ((!names(name, interface) && !names(name, device)) || !receives(lower_case_of(name))) continue;
    const std::optional<unsigned> queue = queue_in(name, interface);
    if (queue && *queue < queues && interrupts[*queue] < 0) interrupts[*queue] = number;
  }
  return interrupts;
}

std::string QueueService::text() const {
  switch (by) {
    case By::kThread:
      return "kernel thread " + std::to_string(number);
    case By::kInterrupt:
      return "interrupt " + std::to_string(number);
    case By::kSteering:
      return "rps_cpus of rx-" + std::to_string(number);
    case By::kUnknown:
      break;
  }
  return "not known";
}

std::vector<QueueService> queue_services(const Interface& interface, unsigned most) {
  const unsigned queues = receive_queues(interface.name);
  std::vector<Napi> napis = napis_of_queues(interface.index, queues);
  napis.resize(queues);
  const std::vector<int> named = parse_interrupts(read_file("/proc/interrupts"), interface.name, device_of(interface.name), queues);
  std::vector<QueueService> services(queues);
  for (unsigned queue = 0; queue < queues; ++queue) {
    const int interrupt = napis[queue].interrupt > 0 ? napis[queue].interrupt : named[queue];
    QueueService& found = services[queue];
    if (napis[queue].thread > 0) found = service_by_thread(napis[queue].thread);
    if (!found.known() && interrupt >= 0) found = service_by_interrupt(interrupt);
    if (!found.known()) found = service_by_steering(interface.name, queue);
  }
  if (most != 0 && most < queues) services.resize(most);
  return services;
}

}  // namespace lapwing::net::ether
