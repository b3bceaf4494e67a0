// lapwing-model-probe: measures the parameters of the model (coll/model/parameters.h) as a job of its own, and prints them, one a line, as
// files have them. `lapwing model` starts it, once for each kind of link.
//
//   MPI program, two ranks:  --link KIND    L, o, g, G and O of the messages between them
//                            --memory       l, C and y of memory that they share, w
//                            --keep-hosts   the same between two hosts, and keeps it
//   more ranks than cores:   --turn CORES   W
//
// Of links: a parametrized round trip PRTT(n, d, s) is n messages of s bytes, with so much computing d between two of them, and an answer of one
// (Hoefler, Lichei, Rehm: "Low-overhead LogGP parameter assessment for modern interconnection networks", PMEO-PDS 2007; the saturated and
// the delayed streams are those of Culler et al., "Assessing fast network interfaces", IEEE Micro 1996). In LogGP
//
//   PRTT(1, 0, s) = 2 (L + 2o + s G)       PRTT(n, 0, s) - PRTT(1, 0, s) = (n - 1) (g + s G)
//   PRTT(n, d, s) - PRTT(1, 0, s) = (n - 1) (o + s O + d)    for a d that is longer than the gap
//
// so o and O come from delayed streams, g from saturated ones, and L from what is left of a single round trip. G is fitted to single messages,
// not to streams, because it is single messages that an algorithm's next step waits for; but not where a link between hosts gives single messages
// more than it can keep up, as one does whose rate is limited by a token bucket: the bucket fills while a message of the ping-pong is answered, and
// an algorithm that sends and receives all the time finds it empty. There the stream says what a byte takes.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "coll/model/store.h"
#include "runtime/host_identity.h"

namespace {

constexpr int kBurst = 16;
constexpr int kLargest = 1 << 19;

int rank_of_process = 0, ranks = 1;
std::vector<char> buffer(static_cast<std::size_t>(kLargest));

double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void compute(double nanoseconds) {
  const double end = now() + nanoseconds;
  while (now() < end) {
  }
}

double median(std::vector<double>& samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

std::string line_of(const std::string& name, double value) {
  char number[32];
  std::snprintf(number, sizeof number, "%.6g", std::max(0.0, value));
  return name + " " + number + "\n";
}

void print(const std::string& name, double value) { std::fputs(line_of(name, value).c_str(), stdout); }

// With what was measured before, in the file of this user and host, or that LAPWING_MODEL names.
int keep(const std::string& lines) {
  namespace model = lapwing::coll::model;
  const char* named = std::getenv("LAPWING_MODEL");
  const std::string setting = named != nullptr ? named : "", host = lapwing::runtime::host_name();
  const std::string path = model::path_for(setting, host);
  model::Parameters parameters = model::load(setting, host).parameters;
  lapwing::Status status = model::read("lapwing-model 1\n" + lines, parameters);
  if (status.ok()) status = model::keep(path, parameters);
  if (status.ok())
    std::printf("%skept in %s\n", lines.c_str(), path.c_str());
  else
    std::fprintf(stderr, "lapwing model: %s\n", status.text());
  return status.ok() ? 0 : 1;
}

// One PRTT at rank 0; rank 1 answers.
double round_trip(int messages, double delay, int bytes) {
  const double begin = now();
  if (rank_of_process == 0) {
    for (int i = 0; i < messages; ++i) {
      if (i > 0 && delay > 0) compute(delay);
      MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    }
    MPI_Recv(buffer.data(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < messages; ++i)
      MPI_Recv(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer.data(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return now() - begin;
}

// Calls that take so long in all; the number is the same on both ranks.
int repetitions_for(double each, double budget) {
  int count = static_cast<int>(std::clamp(budget / std::max(each, 1.0), 5.0, 400.0));
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return count;
}

double usual_round_trip(int messages, double delay, int bytes) {
  for (int i = 0; i < 3; ++i) round_trip(messages, delay, bytes);
  const int count = repetitions_for(round_trip(messages, delay, bytes), 4e7);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(round_trip(messages, delay, bytes));
  return median(samples);
}

struct Line {
  double intercept, slope;
};
// Least squares of relative errors: short messages count as much as long ones.
Line fit(const std::vector<double>& x, const std::vector<double>& y) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    w += weight;
    wx += weight * x[i];
    wy += weight * y[i];
    wxx += weight * x[i] * x[i];
    wxy += weight * x[i] * y[i];
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return {(wy - slope * wx) / w, slope};
}

bool is_long(double bytes) { return bytes >= lapwing::coll::model::Link::kLong; }

Line fit_short(std::vector<double> x, std::vector<double> y) {
  while (is_long(x.back())) {
    x.pop_back();
    y.pop_back();
  }
  return fit(x, y);
}

// What a byte of a long message takes of what one of a short message does, by the fit of those; the mean of all sizes.
double long_share(const std::vector<double>& sizes, const std::vector<double>& times, const Line& short_ones) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_long(sizes[i])) continue;
    sum += (times[i] - short_ones.intercept) / (short_ones.slope * sizes[i]);
    ++count;
  }
  return sum / count;
}

// What a byte more takes in a saturated stream, between the last two of the short sizes.
double per_byte_of_stream(const std::vector<double>& sizes, const std::vector<double>& gaps) {
  std::size_t last = sizes.size() - 1;
  while (is_long(sizes[last])) --last;
  return (gaps[last] - gaps[last - 1]) / (sizes[last] - sizes[last - 1]);
}

// Of two hosts that are not limited so, a stream takes less for a byte than single messages, which do not overlap.
bool gives_bursts(const std::string& kind, const Line& single, double of_stream) { return kind == "hosts" && of_stream > 1.25 * single.slope; }

// What was measured, and what a fit says: for the table and the plot.
void print_point(const std::string& series, double bytes, double measured, double fitted) {
  std::printf("# point %s %.0f %.1f %.1f\n", series.c_str(), bytes, measured, fitted);
}

// Its lines at rank 0; nothing elsewhere.
std::string measure_link(const std::string& kind) {
  std::vector<double> sizes, single, gaps, overheads, short_sizes;
  for (int bytes = 8; bytes <= kLargest; bytes *= 4) {  // the last two are long
    const double one = usual_round_trip(1, 0, bytes);
    const double gap = (usual_round_trip(kBurst, 0, bytes) - one) / (kBurst - 1);
    const double delay = 2 * one;
    const double overhead = (usual_round_trip(kBurst, delay, bytes) - one) / (kBurst - 1) - delay;
    sizes.push_back(bytes);
    single.push_back(one / 2);
    gaps.push_back(gap);
    overheads.push_back(std::max(overhead, 10.0));
  }
  const Line work = fit_short(sizes, overheads);
  Line time = fit_short(sizes, single), stream = fit_short(sizes, gaps);
  const double of_stream = per_byte_of_stream(sizes, gaps);
  const bool bursts = gives_bursts(kind, time, of_stream);
  if (bursts) {
    stream = {gaps.front(), of_stream};
    time = {single.front(), of_stream};
  }
  const double share = bursts ? long_share(sizes, gaps, stream) : long_share(sizes, single, time);
  if (rank_of_process != 0) return "";
  const double overhead = std::max(0.0, std::min(work.intercept, time.intercept / 2));
  const std::string lines = line_of(kind + ".latency", time.intercept - 2 * overhead) +
                            line_of(kind + ".overhead", overhead) + line_of(kind + ".gap", stream.intercept) +
                            line_of(kind + ".per_byte", time.slope) +
                            line_of(kind + ".overhead_per_byte", std::min(work.slope, time.slope)) +
                            line_of(kind + ".long_share", share);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double counted = is_long(sizes[i]) ? sizes[i] * share : sizes[i];
    print_point(kind + ".single", sizes[i], single[i], time.intercept + time.slope * counted);
    print_point(kind + ".gap", sizes[i], gaps[i], stream.intercept + stream.slope * counted);
    print_point(kind + ".overhead", sizes[i], overheads[i], work.intercept + work.slope * counted);
  }
  return lines;
}

// Between the first two ranks of a job that a launcher started on two hosts.
int keep_hosts() {
  char name[MPI_MAX_PROCESSOR_NAME] = {}, other[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  if (rank_of_process < 2)
    MPI_Sendrecv(name, sizeof name, MPI_CHAR, 1 - rank_of_process, 0, other, sizeof other, MPI_CHAR,
                 1 - rank_of_process, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank_of_process >= 2) return 0;
  if (std::strcmp(name, other) == 0) {
    if (rank_of_process == 0) std::fprintf(stderr, "lapwing model: ranks 0 and 1 are both on %s; on one host, start it without a launcher\n", name);
    return 1;
  }
  if (rank_of_process == 0) std::fprintf(stderr, "measuring messages between %s and %s ...\n", name, other);
  const std::string lines = measure_link("hosts");
  return rank_of_process == 0 ? keep(lines) : 0;
}

// So many calls one after the other, each.
template <typename Act>
double usual_call(Act act) {
  std::vector<double> samples;
  for (int sample = 0; sample < 15; ++sample) {
    constexpr int kCalls = 200;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    for (int i = 0; i < kCalls; ++i) act();
    samples.push_back((now() - begin) / kCalls);
  }
  return median(samples);
}

// A rank that sleeps is woken by a message: what that takes beyond the message itself.
double measure_wakeup() {
  std::vector<double> samples;
  const double awake = usual_round_trip(1, 0, 1);
  for (int i = 0; i < 20; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_process == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    samples.push_back(round_trip(1, 0, 1) - awake);
  }
  return median(samples);
}

// The time of a collective against its bytes, on a shared area.
template <typename Call>
Line measure_slope(const char* series, Call call) {
  std::vector<double> sizes, times;
  for (int bytes = 1024; bytes <= 16384; bytes *= 2) {
    sizes.push_back(bytes);
    times.push_back(usual_call([&] { call(bytes); }));
  }
  const Line line = fit(sizes, times);
  for (std::size_t i = 0; i < sizes.size() && rank_of_process == 0; ++i)
    print_point(series, sizes[i], times[i], line.intercept + line.slope * sizes[i]);
  return line;
}

// On a shared area of two ranks an allgather of n bytes each takes 3 n C beside what does not depend on n, an allreduce 2 n C + n y. Half of a
// barrier's time is its two lines; the other half is the call, which counts in no choice.
void measure_memory() {
  static double all[2 * 16384 / sizeof(double)], operand[16384 / sizeof(double)];
  const double barrier = usual_call([] { MPI_Barrier(MPI_COMM_WORLD); });
  const Line gathered = measure_slope("memory.allgather", [](int bytes) {
    MPI_Allgather(buffer.data(), bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
  });
  const Line reduced = measure_slope("memory.allreduce", [](int bytes) {
    MPI_Allreduce(operand, all, bytes / static_cast<int>(sizeof(double)), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  });
  const double wakeup = measure_wakeup(), copy = gathered.slope / 3;
  if (rank_of_process != 0) return;
  print("memory.post", barrier / 4);
  print("memory.copy", copy);
  print("memory.reduce", std::max(copy / 4, reduced.slope - 2 * copy));
  print("memory.wakeup", wakeup);
}

// A barrier waits once, until all others of a core have had it. `cores` are shared by all ranks.
void measure_turn(double cores) {
  const double barrier = usual_call([] { MPI_Barrier(MPI_COMM_WORLD); });
  if (rank_of_process == 0) print("memory.turn", barrier / std::max(1.0, ranks / cores - 1));
}

int usage() {
  std::fputs("usage: lapwing-model-probe --link KIND | --memory | --keep-hosts | --turn CORES      (lapwing model starts it)\n", stderr);
  return 2;
}

int run(int argc, char** argv) {
  const std::string_view part = argc > 1 ? argv[1] : "";
  if (part == "--memory") {
    measure_memory();
  } else if (part == "--link" && argc > 2) {
    std::fputs(measure_link(argv[2]).c_str(), stdout);
  } else if (part == "--keep-hosts" && ranks > 1) {
    return keep_hosts();
  } else if (part == "--turn" && argc > 2) {
    measure_turn(std::strtod(argv[2], nullptr));
  } else {
    return usage();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_process);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
