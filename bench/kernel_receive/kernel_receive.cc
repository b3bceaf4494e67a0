// What receive in the kernel takes by itself, without MPI: two processes of this machine play ping-pong with frames, by raw sockets that spin, and
// past the program of src/net/kernel/, in the same run. To see what a library can reach with it, and what it adds.
//
//   raw sockets       the frame is read from a socket, header and payload
//   mapped memory     the program has put it into the memory that it shares with the process, and there it is used
//   any memory        ... and the process copies it to where it belongs
//   passed by turns   every other frame matches nothing, so the program passes it on and it is read from the socket
//   answered          one process computes; the program answers the other's request, which then sends a frame: what MPI_Ssend of a long message takes
//
// --connections: so many are in the map, all but one idle. --busy: as many processes compute as there are cores.
//
// Before that it counts what comes of frames that a connection held when it joined (--joins): unread, and where a part of one had been read.
extern "C" {
#include "../common.h"
}

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "net/kernel/intake.h"
#include "net/kernel/program.h"
#include "wire/message_header.h"

namespace {

using namespace lapwing::net;

constexpr std::uint64_t kContext = 7, kTag = 1;
constexpr auto kPassedOn = static_cast<std::uint64_t>(lapwing::wire::MessageKind::kRts);  // a kind that no program takes

long connections = 1, busy = 0, joins = 20;
Sizes sizes;
const char* wanted_busy = "no";
const char* const yes_or_no[] = {"no", "yes", nullptr};
const Option options[] = {
    {"--sizes", "LIST", "payloads (8,1K,16K,64K)", nullptr, nullptr, nullptr, &sizes},
    {"--connections", "N", "in the map (1)", &connections, nullptr, nullptr, nullptr},
    {"--busy", "YES", "yes: every core computes beside it (no)", nullptr, &wanted_busy, yes_or_no, nullptr},
    {"--joins", "N", "connections that join with bytes, of each kind (20)", &joins, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}};
const Program program_of_bench = {"kernel_receive", "Latency of receive in the kernel, beside raw sockets.", options};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "kernel_receive: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// ---- sockets ----

void prepare(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, O_NONBLOCK);
}

struct Pair {
  int here, there;
};

Pair connect_pair() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), here = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, any, length) != 0 || listen(listener, 1) != 0 || getsockname(listener, any, &length) != 0 ||
      connect(here, any, length) != 0)
    fail("cannot connect");
  const int there = accept(listener, nullptr, nullptr);
  if (there < 0) fail("cannot accept");
  close(listener);
  prepare(here);
  prepare(there);
  return {here, there};
}

void send_all(int fd, const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) fail("cannot send");
    if (sent > 0) bytes += sent, count -= static_cast<std::size_t>(sent);
  }
}

// What is there, at most; 0: nothing.
std::size_t receive_some(int fd, std::byte* bytes, std::size_t most) {
  const ssize_t got = recv(fd, bytes, most, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN)) fail("the other process is gone");
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

void receive_all(int fd, std::byte* bytes, std::size_t count) {
  while (count > 0) {
    const std::size_t got = receive_some(fd, bytes, count);
    bytes += got, count -= got;
  }
}

// ---- frames ----

void describe(std::byte* frame, std::size_t payload, std::uint64_t tag, std::uint64_t kind = kernel::kPlainKind) {
  std::uint64_t words[kernel::kHeaderWords] = {};
  words[0] = payload | std::uint64_t{kernel::kPlainProtocol} << 32;
  words[2] = kind;
  words[3] = kContext;
  words[4] = tag << 32;
  if (kind == kernel::kRequestKind) words[5] = words[6] = 1;  // the message's length, and the sender's name for it: any
  std::memcpy(frame, words, sizeof words);
}

// Of the process that computes: in how many turns it has begun to, and of the other: in how many it need no more.
struct Turns {
  std::atomic<long> begun{0}, over{0};
};

// One side of the ping-pong.
struct Side {
  int raw, socket;  // the one for raw sockets, which also carries what is agreed; the one that the program sees
  int answers;      // by which the program answers
  Turns& turns;     // in memory of both
  kernel::Intake* intake;
  bool leads;
  std::vector<std::byte> out, passed_on, in;
  std::size_t payload = 0;
  enum { kRaw, kMapped, kAny, kByTurns } way = kRaw;
  unsigned turn = 0;

  void set(std::size_t bytes) {
    payload = bytes;
    out.assign(kernel::kHeaderLength + bytes, std::byte{1});
    passed_on = out;
    in = out;
    describe(out.data(), bytes, kTag);
    describe(passed_on.data(), bytes, kTag, kPassedOn);
  }
  void lend() { intake->queue().lend({kContext, kTag}, kernel::kMostPayload, {in.data(), this, 1, 1}); }
  void take() {
    while (!intake->has_arrivals()) {
      if (intake->has_passed()) return read_passed();
    }
    const kernel::Intake::Frame frame = intake->take();
    const bool matched = frame.position != kernel::kUnmatched;  // else it came when nothing was lent yet
    if (way != kMapped || !matched) std::memcpy(in.data(), frame.payload, payload);
    if (matched) intake->queue().land(frame.position, frame.header);
    intake->release(frame);
    intake->queue().collect([](const LentRoom&, const lapwing::wire::FrameHeader&) {});
  }
  void read_passed() {
    for (std::size_t got = 0; got < in.size();) {
      if (!intake->has_passed()) continue;
      const std::size_t some = receive_some(socket, in.data() + got, in.size() - got);
      if (some > 0) got += some - intake->skip(some);
    }
    intake->read_all();
  }
  void receive() {
    if (way == kRaw) return receive_all(raw, in.data(), in.size());
    if (way == kByTurns && turn++ % 2 == 1) return read_passed();
    take();
    lend();
  }
  void send(unsigned number) {
    const bool matches = way != kByTurns || number % 2 == 0;
    send_all(way == kRaw ? raw : socket, (matches ? out : passed_on).data(), out.size());
  }
};

// The process that is asked.
void compute_meanwhile(Side& side, long turn) {
  kernel::Intake& intake = *side.intake;
  intake.close_to_attended();
  side.turns.begun.store(turn);
  while (side.turns.over.load() < turn) increment(1000);
  intake.open();
  while (!intake.has_arrivals()) lapwing::cpu_relax();
  const kernel::Intake::Frame request = intake.take();
  intake.queue().land(request.position, request.header);
  intake.release(request);
  intake.queue().collect([](const LentRoom&, const lapwing::wire::FrameHeader&) {});
  side.read_passed();
  side.lend();
}

// Seconds until the answer is here and the frame has left. The other process has computed for a while then, as in busy_receiver.c.
double ask(Side& side, long turn) {
  std::byte request[kernel::kHeaderLength], answer[kernel::kHeaderLength];
  describe(request, 0, kTag, kernel::kRequestKind);
  while (side.turns.begun.load() < turn) lapwing::cpu_relax();
  compute_for(5e-3);
  const double begin = now();
  send_all(side.socket, request, sizeof request);
  receive_all(side.answers, answer, sizeof answer);
  send_all(side.socket, side.passed_on.data(), side.passed_on.size());
  const double end = now();
  side.turns.over.store(turn);
  return end - begin;
}

void ping_pong(void* context, int times) {
  auto& side = *static_cast<Side*>(context);
  side.turn = 0;
  for (int i = 0; i < times; ++i) {
    if (side.leads) side.send(static_cast<unsigned>(i));
    side.receive();
    if (!side.leads) side.send(static_cast<unsigned>(i));
  }
}

long agree(void* context, long value) {
  const auto& side = *static_cast<const Side*>(context);
  if (side.leads)
    send_all(side.raw, reinterpret_cast<const std::byte*>(&value), sizeof value);
  else
    receive_all(side.raw, reinterpret_cast<std::byte*>(&value), sizeof value);
  return value;
}

// ---- what a connection held when it joined ----

// How many of three frames come, the first `read` bytes of which were read before the join.
int frames_after_join(kernel::Program& program, std::size_t read) {
  constexpr std::size_t kPayload = 100, kFrame = kernel::kHeaderLength + kPayload;
  constexpr int kFrames = 3;
  const Pair pair = connect_pair();
  std::byte frame[kFrame], in[4 * kFrame];
  std::memset(frame, 0, sizeof frame);
  for (int i = 0; i < kFrames; ++i) {
    describe(frame, kPayload, kTag + static_cast<std::uint64_t>(i));
    send_all(pair.there, frame, sizeof frame);
  }
  receive_all(pair.here, in, read);
  if (const lapwing::Status joined = program.join(0, pair.here).status; !joined.ok()) {
    std::fprintf(stderr, "kernel_receive: %s\n", joined.text());
    std::exit(1);
  }
  std::size_t got = read;
  for (const double until = now() + 0.01; now() < until;) {
    const ssize_t some = recv(pair.here, in + got, sizeof in - got, 0);
    if (some > 0) got += static_cast<std::size_t>(some);
  }
  int right = 0;
  for (int i = 0; i < kFrames && got == kFrames * kFrame; ++i) {
    describe(frame, kPayload, kTag + static_cast<std::uint64_t>(i));
    right += std::memcmp(in + static_cast<std::size_t>(i) * kFrame, frame, kFrame) == 0;
  }
  close(pair.here);
  close(pair.there);
  program.forget(0);
  return right;
}

void count_joins(kernel::Program& program) {
  for (const std::size_t read : {std::size_t{0}, std::size_t{10}}) {
    int right = 0;
    for (long i = 0; i < joins; ++i) right += frames_after_join(program, read);
    report_one(&program_of_bench,
               {read == 0 ? "frames that came, held unread at the join"
                          : "frames that came, one of them read in part at the join",
                "%", "higher", 0, nullptr, nullptr},
               100.0 * right / (3.0 * static_cast<double>(joins)));
  }
}

// ---- two processes ----

void measure_size(Side& side, std::size_t bytes) {
  static constexpr const char* kNames[] = {"raw sockets", "mapped memory", "any memory", "passed by turns"};
  Samples samples[4] = {};
  side.set(bytes);
  for (int round = 0; round < (quick ? 2 : 8); ++round) {
    for (int way = 0; way < 4; ++way) {
      side.way = static_cast<decltype(side.way)>(way);
      const Measurement measurement = {ping_pong, &side, agree, &side, side.leads, 0.06, 100e-6, nullptr};
      measure(&measurement, &samples[way]);
    }
  }
  if (!side.leads) return;
  for (int way = 0; way < 4; ++way) {
    scale_samples(&samples[way], 1e6 / 2);
    report(&program_of_bench, {kNames[way], "us", "lower", static_cast<double>(bytes), "message size", "B"},
           &samples[way]);
  }
}

void measure_answers(Side& side, std::size_t bytes) {
  Samples samples = {};
  side.set(bytes);
  side.way = Side::kAny;
  const long first = side.turns.over.load(), turns = quick ? 40 : 200;
  agree(&side, 0);
  for (long turn = first + 1; turn <= first + turns; ++turn) {
    if (side.leads)
      add_sample(&samples, ask(side, turn) * 1e6);
    else
      compute_meanwhile(side, turn);
  }
  if (side.leads) report(&program_of_bench, {"answered", "us", "lower", static_cast<double>(bytes), "message size", "B"}, &samples);
}

void answer_by(kernel::Program& program, int socket) {
  const kernel::Permission permission = program.answer_by(0, socket);
  if (permission.state == kernel::Permission::State::kGranted) return;
  std::fprintf(stderr, "kernel_receive: requests are not answered: %s\n", permission.why.text());
  std::exit(1);
}

// Each side waits for what it expects of the other and of the program, and would do so for ever where one of them does otherwise.
constexpr unsigned kLongest = 120;  // s, for one size

void give_up(int) {
  constexpr char kWhy[] = "kernel_receive: one size has taken 2 minutes: the program in the kernel does otherwise than this benchmark expects, or the machine is very busy\n";
  (void)!write(STDERR_FILENO, kWhy, sizeof kWhy - 1);
  _exit(1);
}

void play(const std::vector<Pair>& pairs, Pair answers, Turns& turns, bool leads, kernel::Program& program) {
  run_on_processor(leads ? 0 : 1);
  for (std::uint32_t i = 1; i < pairs.size(); ++i) {
    const lapwing::Status joined = program.join(i - 1, leads ? pairs[i].here : pairs[i].there).status;
    if (joined.ok()) continue;
    std::fprintf(stderr, "kernel_receive: %s\n", joined.text());
    std::exit(1);
  }
  kernel::Intake intake(program.area(0));
  Side side{leads ? pairs[0].here : pairs[0].there, leads ? pairs[1].here : pairs[1].there,
            leads ? answers.here : answers.there, turns, &intake, leads, {}, {}, {}};
  if (!leads) answer_by(program, answers.there);
  intake.answer(!leads);
  intake.open();
  side.set(8);
  side.lend();
  agree(&side, 0);
  signal(SIGALRM, give_up);
  for (int s = 0; s < sizes.count; ++s) {
    alarm(kLongest);
    measure_size(side, sizes.values[s]);
    measure_answers(side, sizes.values[s]);
  }
}

Turns& shared_turns() {
  void* memory = mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("no memory to share");
  return *new (memory) Turns;
}

void compute_beside() {
  for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on_processor(static_cast<int>(i));
    for (;;) increment(1000000);
  }
}

lapwing::Status load(kernel::Program& program, int connections) {
  LAPWING_TRY(program.prepare(static_cast<std::uint32_t>(connections), kernel::kZoneBlock));
  return program.load();
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program_of_bench, argc, argv);
  if (line.stop) {
    std::fputs(line.text, line.code == 0 ? stdout : stderr);
    return line.code;
  }
  default_sizes(&sizes, "8,1K,16K,64K", "8,64K");
  busy = std::strcmp(wanted_busy, "yes") == 0;
  kernel::Program program;
  if (const lapwing::Status loaded = load(program, connections); !loaded.ok()) {
    std::fprintf(stderr, "kernel_receive: %s\n", loaded.text());
    return 77;
  }
  count_joins(program);
  std::vector<Pair> pairs;
  for (long i = 0; i <= connections; ++i) pairs.push_back(connect_pair());
  const Pair answers = connect_pair();
  Turns& turns = shared_turns();
  if (busy != 0) compute_beside();
  const pid_t child = fork();
  if (child == 0) {
    kernel::Program own;
    if (!load(own, connections).ok()) return 1;
    play(pairs, answers, turns, false, own);
    _exit(0);
  }
  play(pairs, answers, turns, true, program);
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}
