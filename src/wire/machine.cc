#include "wire/machine.h"

namespace lapwing::wire {
namespace {

struct WithinKernel {
  std::string_view network, user;
};

WithinKernel within_kernel(std::string_view identity) noexcept {
  identity = machine_of(identity);
  identity.remove_prefix(kernel_of(identity).size());
  if (!identity.empty()) identity.remove_prefix(1);
  const std::size_t slash = identity.find(kWithinKernel);
  return {identity.substr(0, slash), slash == std::string_view::npos ? std::string_view() : identity.substr(slash + 1)};
}

}  // namespace

const char* why_apart(std::string_view identity, std::string_view other) noexcept {
  if (kernel_of(identity) != kernel_of(other)) return "";
  const WithinKernel one = within_kernel(identity), two = within_kernel(other);
  if (one.network != two.network)
    return "both run on one machine, but in different network namespaces, which count as different hosts: run all ranks in one, or join the two";
  if (one.user != two.user) return "both run on one machine, but as different users, which count as different hosts: run all ranks as one";
  return "";
}

}  // namespace lapwing::wire
