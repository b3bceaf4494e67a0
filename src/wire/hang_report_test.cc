#include "wire/hang_report.h"

#include <gtest/gtest.h>

namespace lapwing::wire {
namespace {

HangItem receive_from(int peer) {
  HangItem item;
  item.kind = HangItem::Kind::kReceive;
  item.peer = peer;
  item.tag = 7;
  item.communicator = "a name with blanks";
  item.context = 0xfff0000000000001u;
  item.bytes = 12;
  item.awaited = {peer, 3};
  item.state = "no message yet";
  return item;
}

HangReport report_of_a_receive() {
  HangReport report;
  report.inquiry = 5;
  report.visits = 77;
  report.waits.push_back({"MPI_Waitany", 1234, true, {receive_from(1), receive_from(2)}});
  report.pending = {20, {receive_from(1)}};
  report.unexpected = {1, {receive_from(2)}};
  return report;
}

TEST(HangReport, ComesBackAsItWas) {
  const std::string text = report_of_a_receive().encode();
  HangReport report;
  ASSERT_TRUE(HangReport::decode(text, report).ok());
  EXPECT_EQ(report.inquiry, 5u);
  EXPECT_EQ(report.visits, 77u);
  ASSERT_EQ(report.waits.size(), 1u);
  EXPECT_EQ(report.waits[0].call, "MPI_Waitany");
  EXPECT_EQ(report.waits[0].age_ms, 1234);
  EXPECT_TRUE(report.waits[0].any);
  ASSERT_EQ(report.waits[0].items.size(), 2u);
  const HangItem& item = report.waits[0].items[0];
  EXPECT_EQ(item.kind, HangItem::Kind::kReceive);
  EXPECT_EQ(item.communicator, "a name with blanks");
  EXPECT_EQ(item.context, 0xfff0000000000001u);
  EXPECT_EQ(item.awaited, (std::vector<int>{1, 3}));
  EXPECT_EQ(report.pending.count, 20u);
  EXPECT_EQ(report.pending.items.size(), 1u);
  EXPECT_EQ(report.unexpected.items.size(), 1u);
  EXPECT_EQ(report.encode(), text);
}

TEST(HangReport, IsBoundedWhateverIsInIt) {
  HangReport report;
  HangItem item = receive_from(1);
  item.state.assign(1000, '%');
  item.awaited.assign(1000, 2000000000);
  report.waits.assign(20, {"MPI_Wait", 0, false, std::vector<HangItem>(20, item)});
  const std::string text = report.encode();
  EXPECT_LE(text.size(), HangReport::kMaxBytes);
  HangReport again;
  EXPECT_TRUE(HangReport::decode(text, again).ok());
}

// A part of the ranks of which one is enough would make the launcher see a deadlock where there is none.
TEST(HangReport, NamesAllOfWhichOneIsEnoughOrNone) {
  HangReport report;
  HangItem item = receive_from(1);
  item.any = true;
  item.awaited.assign(HangReport::kMaxAwaited + 1, 4);
  report.waits.push_back({"MPI_Recv", 0, false, {item}});
  HangReport again;
  ASSERT_TRUE(HangReport::decode(report.encode(), again).ok());
  EXPECT_TRUE(again.waits[0].items[0].awaited.empty());
}

TEST(HangReport, KeepsTheTerminalFromHarm) {
  HangReport report = report_of_a_receive();
  report.waits[0].call = "\x1b[2J";
  HangReport again;
  ASSERT_TRUE(HangReport::decode(report.encode(), again).ok());
  EXPECT_EQ(again.waits[0].call, "?[2J");
}

TEST(HangReport, RefusesWhatNoRankSends) {
  const std::string good = report_of_a_receive().encode();
  const std::string rank = good.substr(0, good.find('\n') + 1);
  const std::string item = good.substr(good.find("cmd=item"), good.find('\n', good.find("cmd=item")) - good.find("cmd=item") + 1);
  std::string too_many = rank + "cmd=pending count=1\n";
  for (std::size_t i = 0; i <= HangReport::kMaxItems; ++i) too_many += item;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& bad :
       {std::string(), std::string("\n"), rank + item, rank + rank, too_many, item, with("age=1234", "age=-1"),
        with("awaited=1,3", "awaited=1,-3"), with("awaited=1,3", "awaited=1,,3"), with("kind=receive", "kind=swallow"),
        with("peer=1", "peer=-3"), with("bytes=12", "bytes=12x"), with("any=1", "any=2"), with(" tag=7", ""),
        std::string(HangReport::kMaxBytes + 1, ' ')}) {
    HangReport report;
    EXPECT_FALSE(HangReport::decode(bad, report).ok()) << bad.substr(0, 200);
    EXPECT_TRUE(report.waits.empty());
  }
}

}  // namespace
}  // namespace lapwing::wire
