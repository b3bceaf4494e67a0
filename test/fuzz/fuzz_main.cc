// Runs a libFuzzer-style target without libFuzzer: a bounded number of mutated seeds, the same ones on every machine.
//
//   fuzz_x [--runs N] [--seed S] FILE_OR_DIRECTORY...
//
// First every file as it is, then N mutations. An input that ends the process is left in fuzz-crash.bin; giving that
// file alone repeats it. With clang, linking the target with -fsanitize=fuzzer instead of this file gives the real
// thing.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMaxSize = 70000;

// The signal handler's: the input being run.
const std::uint8_t* current_data = nullptr;
std::size_t current_size = 0;

void on_crash(int signal) {
  const int fd = ::open("fuzz-crash.bin", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd >= 0) {
    [[maybe_unused]] const ssize_t ignored = ::write(fd, current_data, current_size);
    ::close(fd);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void run(const Input& input) {
  current_data = input.data();
  current_size = input.size();
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

class Mutator {
 public:
  Mutator(std::vector<Input> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  Input next() {
    Input input = seeds_[below(seeds_.size())];
    for (std::size_t steps = 1 + below(6); steps > 0; --steps) mutate(input);
    if (input.size() > kMaxSize) input.resize(kMaxSize);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit); }

  void mutate(Input& input) {
    if (input.empty()) input.push_back(0);
    const std::size_t place = below(input.size());
    switch (below(8)) {
      case 0:
        input[place] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        input[place] = static_cast<std::uint8_t>(random_());
        break;
      case 2:
        input.insert(at(input, place), 1 + below(8), static_cast<std::uint8_t>(random_()));
        break;
      case 3:
        input.erase(at(input, place), at(input, place + below(std::min<std::size_t>(input.size() - place, 16) + 1)));
        break;
      case 4:
        input.resize(place);
        break;
      case 5:
        overwrite_number(input, place);
        break;
      case 6:
        repeat(input, place);
        break;
      case 7:
        splice(input, place);
        break;
      default:
        break;
    }
  }

  static Input::iterator at(Input& input, std::size_t place) {
    return input.begin() + static_cast<std::ptrdiff_t>(place);
  }

  // Lengths and indices at the edges of their types, in little-endian order.
  void overwrite_number(Input& input, std::size_t place) {
    constexpr std::uint64_t kNumbers[] = {0,
                                          1,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fff,
                                          0xffff,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xffffffffffffffff};
    const std::uint64_t number = kNumbers[below(std::size(kNumbers))];
    const std::size_t width = std::size_t{1} << below(4);
    for (std::size_t i = 0; i < width && place + i < input.size(); ++i) {
      input[place + i] = static_cast<std::uint8_t>(number >> (8 * i));
    }
  }

  void repeat(Input& input, std::size_t place) {
    const Input part(at(input, place), at(input, std::min(input.size(), place + 1 + below(64))));
    for (std::size_t times = 1 + below(below(20) == 0 ? 2000 : 8); times > 0 && input.size() < kMaxSize; --times) {
      input.insert(at(input, place), part.begin(), part.end());
    }
  }

  void splice(Input& input, std::size_t place) {
    const Input& other = seeds_[below(seeds_.size())];
    const std::size_t from = below(other.size());
    input.resize(place);
    input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
  }

  std::vector<Input> seeds_;
  std::mt19937_64 random_;
};

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void collect(const std::filesystem::path& path, std::vector<std::filesystem::path>& files) {
  if (!std::filesystem::is_directory(path)) {
    files.push_back(path);
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      collect(argument, files);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const auto& file : files) seeds.push_back(read_input(file));
  if (seeds.empty()) seeds.emplace_back();

  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(signal, on_crash);
  for (const Input& input : seeds) run(input);
  Mutator mutator(seeds, seed);
  for (std::uint64_t i = 0; i < runs; ++i) run(mutator.next());
  std::printf("%zu seeds and %llu mutations passed\n", seeds.size(), static_cast<unsigned long long>(runs));
  return 0;
}
