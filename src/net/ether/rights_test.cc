#include "net/ether/rights.h"

#include <gtest/gtest.h>

namespace lapwing::net::ether {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0}, kIpcLock = std::uint64_t{1} << 14, kBpf = std::uint64_t{1} << 39;

TEST(EtherRights, NamesWhatIsMissing) {
  EXPECT_EQ(lacking_rights(kAll, 0), "");
  EXPECT_EQ(lacking_rights(kAll & ~kIpcLock, kLockedBytes), "");
  EXPECT_EQ(lacking_rights(kAll & ~kIpcLock, kLockedBytes - 1), "8 MiB of lockable memory (ulimit -l)");
  EXPECT_EQ(lacking_rights(kAll & ~kBpf, kLockedBytes), "CAP_BPF");
  EXPECT_EQ(lacking_rights(0, 0), "CAP_NET_RAW, CAP_BPF, CAP_NET_ADMIN, CAP_SYS_ADMIN, 8 MiB of lockable memory (ulimit -l)");
}

}  // namespace
}  // namespace lapwing::net::ether
