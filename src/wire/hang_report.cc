#include "wire/hang_report.h"

#include <algorithm>
#include <charconv>

#include "mpi.h"
#include "wire/pmi.h"

namespace lapwing::wire {
namespace {

constexpr std::string_view kKinds[] = {"receive", "send", "probe", "collective", "other"};

// ---- writing

std::string text_of(std::string_view text) {
  return pmi_escape(text.substr(0, HangReport::kMaxText));
}

std::string awaited_by(const HangItem& item) {
  const std::vector<int>& ranks = item.awaited;
  if (item.any && ranks.size() > HangReport::kMaxAwaited) return "";  // part of them would say what is not so
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), HangReport::kMaxAwaited); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
  return text;
}

std::string line_of(const HangItem& item) {
  PmiMessage line("item");
  line.add("kind", kKinds[static_cast<std::size_t>(item.kind)]).add("peer", item.peer).add("tag", item.tag);
  line.add("what", text_of(item.what)).add("comm", text_of(item.communicator));
  line.add("context", std::to_string(item.context)).add("bytes", std::to_string(item.bytes));
  line.add("number", item.number).add("root", item.root).add("any", item.any).add("moving", item.moving);
  line.add("awaited", awaited_by(item)).add("state", text_of(item.state));
  return line.encode();
}

std::string line_of(const HangWait& wait) {
  PmiMessage line("wait");
  line.add("call", text_of(wait.call)).add("age", std::to_string(wait.age_ms)).add("any", wait.any);
  return line.encode();
}

// Adds whole lines, as long as the packet has room.
class Packet {
 public:
  bool add(const std::string& line) {
    if (text.size() + line.size() > HangReport::kMaxBytes) return false;
    text += line;
    return true;
  }
  void add_items(const std::vector<HangItem>& items) {
    for (std::size_t i = 0; i < std::min(items.size(), HangReport::kMaxItems); ++i)
      if (!add(line_of(items[i]))) return;
  }
  void add(const char* name, const HangList& list) {
    if (add(PmiMessage(name).add("count", std::to_string(list.count)).encode())) add_items(list.items);
  }
  std::string text;
};

// ---- reading

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Reads the attributes of one line; remembers whether all were there and good.
class Attributes {
 public:
  explicit Attributes(const PmiMessage& line) : line_(line) {}
  template <typename Number>
  Attributes& number(std::string_view name, Number& value, Number least = 0) {
    const std::string* text = line_.find(name);
    good_ = good_ && text != nullptr && read_number(*text, value) && value >= least;
    return *this;
  }
  Attributes& flag(std::string_view name, bool& value) {
    const std::string* text = line_.find(name);
    good_ = good_ && text != nullptr && (*text == "0" || *text == "1");
    value = good_ && *text == "1";
    return *this;
  }
  // Whatever a terminal would take for a command becomes '?'.
  Attributes& text(std::string_view name, std::string& value) {
    const std::string* text = line_.find(name);
    if (!(good_ = good_ && text != nullptr)) return *this;
    value = pmi_unescape(*text);
    good_ = value.size() <= HangReport::kMaxText;
    std::replace_if(value.begin(), value.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return *this;
  }
  Attributes& list(std::string_view name, std::vector<int>& values) {
    const std::string* text = line_.find(name);
    good_ = good_ && text != nullptr;
    std::string_view rest = good_ ? std::string_view(*text) : std::string_view();
    while (good_ && !rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      int value = 0;
      good_ = read_number(rest.substr(0, comma), value) && value >= 0 && values.size() < HangReport::kMaxAwaited;
      values.push_back(value);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return *this;
  }
  Attributes& kind(std::string_view name, HangItem::Kind& value) {
    const std::string* text = line_.find(name);
    const auto* found = text == nullptr ? std::end(kKinds) : std::find(std::begin(kKinds), std::end(kKinds), *text);
    good_ = good_ && found != std::end(kKinds);
    if (good_) value = static_cast<HangItem::Kind>(found - std::begin(kKinds));
    return *this;
  }
  bool good() const { return good_; }

 private:
  const PmiMessage& line_;
  bool good_ = true;
};

bool read_item(const PmiMessage& line, HangItem& item) {
  return Attributes(line)
      .kind("kind", item.kind)
      .number("peer", item.peer, HangItem::kAny)
      .number("tag", item.tag, HangItem::kAny)
      .text("what", item.what)
      .text("comm", item.communicator)
      .number("context", item.context)
      .number("bytes", item.bytes)
      .number("number", item.number, HangItem::kNone)
      .number("root", item.root, HangItem::kAny)
      .flag("any", item.any)
      .flag("moving", item.moving)
      .list("awaited", item.awaited)
      .text("state", item.state)
      .good();
}

// Takes one line after the other.
class Reader {
 public:
  explicit Reader(HangReport& report) : report_(report) {}

  bool take(const PmiMessage& line) {
    const std::string& command = line.command();
    if (first_) {
      first_ = false;
      return command == "rank" && Attributes(line).number("inquiry", report_.inquiry).number("visits", report_.visits).flag("threads", report_.threads).good();
    }
    if (command == "wait") return take_wait(line);
    if (command == "pending") return take_list(line, report_.pending);
    if (command == "unexpected") return take_list(line, report_.unexpected);
    if (command != "item" || items_ == nullptr || items_->size() >= HangReport::kMaxItems) return false;
    return read_item(line, items_->emplace_back());
  }
  bool complete() const { return !first_; }

 private:
  bool take_wait(const PmiMessage& line) {
    if (report_.waits.size() >= HangReport::kMaxWaits) return false;
    HangWait& wait = report_.waits.emplace_back();
    items_ = &wait.items;
    return Attributes(line).text("call", wait.call).number("age", wait.age_ms).flag("any", wait.any).good();
  }
  bool take_list(const PmiMessage& line, HangList& list) {
    items_ = &list.items;
    return Attributes(line).number("count", list.count).good();
  }

  HangReport& report_;
  std::vector<HangItem>* items_ = nullptr;
  bool first_ = true;
};

}  // namespace

std::string HangReport::encode() const {
  Packet packet;
  PmiMessage first("rank");
  first.add("inquiry", std::to_string(inquiry)).add("visits", std::to_string(visits)).add("threads", threads);
  packet.add(first.encode());
  for (std::size_t i = 0; i < std::min(waits.size(), kMaxWaits); ++i) {
    if (!packet.add(line_of(waits[i]))) break;
    packet.add_items(waits[i].items);
  }
  packet.add("pending", pending);
  packet.add("unexpected", unexpected);
  return packet.text;
}

Status HangReport::decode(std::string_view text, HangReport& report) {
  report = {};
  Status failure;
  if (text.size() > kMaxBytes) failure = Status::error(MPI_ERR_OTHER, "a report of %zu bytes is too long", text.size());
  Reader reader(report);
  while (failure.ok() && !text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    PmiMessage line;
    failure = line.parse(text.substr(0, end));
    if (failure.ok() && !reader.take(line))
      failure = Status::error(MPI_ERR_OTHER, "a report has a malformed line '%.20s'", line.command().c_str());
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (failure.ok() && !reader.complete()) failure = Status::error(MPI_ERR_OTHER, "a report is empty");
  if (!failure.ok()) report = {};
  return failure;
}

}  // namespace lapwing::wire
