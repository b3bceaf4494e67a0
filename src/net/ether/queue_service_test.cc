#include "net/ether/queue_service.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/processor_list.h"
#include "net/ether/napi.h"
#include "net/ether/netlink_attribute.h"

namespace lapwing::net::ether::tests {
namespace {

using Numbers = std::vector<int>;

TEST(Interrupts, AreFoundByTheNameOfTheInterface) {
  constexpr const char* kTable =
      "           CPU0       CPU1       \n"
      " 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n"
      " 50:          7          0  PCI-MSIX-0000:3b:00.0   1-edge      eth1-TxRx-0\n"
      " 51:          7          0  PCI-MSIX-0000:3b:00.0   2-edge      eth1-TxRx-1\n"
      " 52:          7          0  PCI-MSIX-0000:3b:00.1   1-edge      eth10-TxRx-0\n"
      " 53:          7          0  PCI-MSIX-0000:3b:00.1   2-edge      i40e-eth10-TxRx-1\n"
      " 54:          7          0  PCI-MSIX-0000:3c:00.0   2-edge      eth2\n"
      " 55:          7          0  PCI-MSIX-0000:3d:00.0   2-edge      eth3-Rx-1\n"
      " 56:          7          0  PCI-MSIX-0000:3d:00.0   2-edge      eth3-Tx-0\n"
      "NMI:          0          0   Non-maskable interrupts\n";
  EXPECT_EQ(parse_interrupts(kTable, "eth1", "0000:3b:00.0", 2), (Numbers{50, 51}));
  EXPECT_EQ(parse_interrupts(kTable, "eth10", "", 3), (Numbers{52, 53, -1}));
  EXPECT_EQ(parse_interrupts(kTable, "eth2", "", 1), (Numbers{54}));
  EXPECT_EQ(parse_interrupts(kTable, "eth3", "", 2), (Numbers{-1, 55}));
  EXPECT_EQ(parse_interrupts(kTable, "eth4", "", 2), (Numbers{-1, -1}));
}

TEST(Interrupts, AreFoundByTheNameOfTheDevice) {
  constexpr const char* kTable =
      " 37:          0          0 PCI-MSIX-0000:00:03.0   0-edge      virtio2-config\n"
      " 38:          0       4995 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
      " 39:       4456          0 PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0\n"
      " 40:       4456          0 PCI-MSIX-0000:00:03.0   2-edge      virtio20-input.0\n"
      " 60:       4456          0 PCI-MSIX-0000:af:00.0   2-edge      mlx5_async0@pci:0000:af:00.0\n"
      " 61:       4456          0 PCI-MSIX-0000:af:00.0   2-edge      mlx5_comp0@pci:0000:af:00.0\n"
      " 62:       4456          0 PCI-MSIX-0000:af:00.0   2-edge      mlx5_comp1@pci:0000:af:00.0   \n";
  EXPECT_EQ(parse_interrupts(kTable, "eth0", "virtio2", 1), (Numbers{38}));
  EXPECT_EQ(parse_interrupts(kTable, "ens1", "0000:af:00.0", 2), (Numbers{61, 62}));
}

TEST(Interrupts, OfWhatIsNoTableAreNone) {
  for (const char* table : {"", "\n\n", "38", "38:", "x: eth0-0", ":", "99999999999: eth0-0\n", "38: eth0-99999999999\n"}) {
    EXPECT_EQ(parse_interrupts(table, "eth0", "", 1), (Numbers{-1})) << table;
  }
}

// Attributes as netlink lays them out.
class Attributes {
 public:
  Attributes& add(std::uint16_t type, std::uint32_t value) {
    rtattr header{RTA_LENGTH(sizeof value), type};
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof header + sizeof value);
    std::memcpy(bytes_.data() + at, &header, sizeof header);
    std::memcpy(bytes_.data() + at + sizeof header, &value, sizeof value);
    return *this;
  }
  std::span<const std::byte> bytes(std::size_t less = 0) const { return std::span(bytes_).first(bytes_.size() - less); }

 private:
  std::vector<std::byte> bytes_;
};

TEST(Napi, IsReadFromItsAttributes) {
  Napi napi;
  ASSERT_TRUE(read_napi(Attributes().add(2, 259).add(1, 3).add(8, 1).add(4, 31007).bytes(), napi));
  EXPECT_EQ(napi.id, 259u);
  EXPECT_EQ(napi.interrupt, -1);
  EXPECT_EQ(napi.thread, 31007);
  Napi by_interrupt;
  ASSERT_TRUE(read_napi(Attributes().add(3, 38).add(2, 7).bytes(), by_interrupt));
  EXPECT_EQ(by_interrupt.interrupt, 38);
  EXPECT_EQ(by_interrupt.thread, -1);
}

TEST(Napi, ThatIsDamagedIsNone) {
  Napi napi;
  EXPECT_FALSE(read_napi({}, napi));
  EXPECT_FALSE(read_napi(Attributes().add(1, 3).bytes(), napi));
  const Attributes whole = Attributes().add(2, 259);
  for (std::size_t less = 1; less <= whole.bytes().size(); ++less) EXPECT_FALSE(read_napi(whole.bytes(less), napi)) << less;
}

TEST(Napi, OfASendingQueueIsPassedOver) {
  QueueNapi pair;
  ASSERT_TRUE(read_queue(Attributes().add(1, 5).add(3, 0).add(2, 4).add(4, 257).bytes(), pair));
  EXPECT_EQ(pair.queue, 5u);
  EXPECT_EQ(pair.napi, 257u);
  EXPECT_FALSE(read_queue(Attributes().add(1, 5).add(3, 1).add(4, 257).bytes(), pair));
  EXPECT_FALSE(read_queue(Attributes().add(1, 5).add(3, 0).bytes(), pair)) << "it has none";
}

TEST(Napi, BelongsToItsQueue) {
  const std::vector<Napi> told{{259, -1, 31007}, {258, -1, 31008}};
  const std::vector<Napi> in_order = match_napis(told, {}, 2);
  ASSERT_EQ(in_order.size(), 2u);
  EXPECT_EQ(in_order[0].thread, 31008);
  EXPECT_EQ(in_order[1].thread, 31007);
  const std::vector<Napi> paired = match_napis(told, {{0, 259}, {7, 258}, {2, 1}}, 3);
  ASSERT_EQ(paired.size(), 3u);
  EXPECT_EQ(paired[0].thread, 31007);
  EXPECT_EQ(paired[1].thread, -1);
  EXPECT_EQ(paired[2].thread, -1);
  EXPECT_TRUE(match_napis(told, {}, 4).empty()) << "it is not known which";
}

TEST(QueueService, IsToldOfEachQueue) {
  Interface interface;
  for (const QueueService& service : queue_services(interface)) EXPECT_FALSE(service.known());
  interface.name = "lo";
  interface.index = 1;
  for (const QueueService& service : queue_services(interface)) {
    EXPECT_EQ(service.known(), service.processors.any());
  }
}

}  // namespace
}  // namespace lapwing::net::ether::tests
