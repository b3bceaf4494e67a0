// How fast one thread on each side can make a sealed stream over TCP, to see what the library adds: libsodium and sockets over loopback, without MPI.
// Both sides spin, as ranks in MPI calls do.
//
// A process sends from 4 MiB of memory to another one, which has as much. They do as Lapwing does: records of 16 KiB, two of which are sealed right
// before they leave with one system call, and opened right after they have come, so that the second cache holds them, and one side opens while the
// other seals. By turns in each round, bytes of the content per second:
//
//   sealing, opening             by themselves, on the sender's thread
//   sockets                      the same pieces, neither sealed nor opened
//   sending, receiving           by the calls alone that moved something, without what a side waited for the other
//   all together                 the sealed stream
extern "C" {
#include "../common.h"
}

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t kRecordBytes = 16 << 10, kTagBytes = 16, kRecordsAtOnce = 2;
constexpr std::size_t kPieceBytes = kRecordsAtOnce * kRecordBytes;
constexpr std::size_t kSealedBytes = kRecordsAtOnce * (kRecordBytes + kTagBytes);
constexpr std::size_t kMemoryBytes = 4 << 20;

long rounds = 9;
const char* cipher_name = nullptr;
const char* const cipher_names[] = {"aes", "chacha", nullptr};
const Option options[] = {{"--rounds", "N", "of all measurements by turns (9)", &rounds, nullptr, nullptr, nullptr},
                          {"--cipher", "NAME", "aes or chacha (aes where the processor has it)", nullptr, &cipher_name, cipher_names, nullptr},
                          {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr}};
const Program program = {"sealed_sockets", "A sealed stream of libsodium and TCP sockets over loopback, and its parts, without MPI.", options};

[[noreturn]] void fail(const char* what) {
  std::perror((std::string("sealed_sockets: ") + what).c_str());
  std::exit(1);
}

// ---- records --------------------------------------------------------------------------------------------------------

class Cipher {
 public:
  explicit Cipher(bool aes) : aes_(aes) {
    if (aes_) crypto_aead_aes256gcm_beforenm(&expanded_, kKey);
  }
  void seal(std::uint64_t number, const unsigned char* body, unsigned char* record) const {
    unsigned char nonce[12] = {};
    std::memcpy(nonce, &number, sizeof number);
    if (aes_)
      crypto_aead_aes256gcm_encrypt_detached_afternm(record, record + kRecordBytes, nullptr, body, kRecordBytes, nullptr, 0, nullptr, nonce, &expanded_);
    else
      crypto_aead_chacha20poly1305_ietf_encrypt_detached(record, record + kRecordBytes, nullptr, body, kRecordBytes, nullptr, 0, nullptr, nonce, kKey);
  }
  bool open(std::uint64_t number, const unsigned char* record, unsigned char* body) const {
    unsigned char nonce[12] = {};
    std::memcpy(nonce, &number, sizeof number);
    if (aes_)
      return crypto_aead_aes256gcm_decrypt_detached_afternm(body, nullptr, record, kRecordBytes, record + kRecordBytes, nullptr, 0, nonce, &expanded_) == 0;
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(body, nullptr, record, kRecordBytes, record + kRecordBytes, nullptr, 0, nonce, kKey) == 0;
  }

 private:
  static constexpr unsigned char kKey[32] = {1};
  const bool aes_;
  crypto_aead_aes256gcm_state expanded_;
};

// ---- a side ---------------------------------------------------------------------------------------------------------

class Side {
 public:
  Side(int stream, bool aes, std::size_t bytes)
      : stream_(stream), bytes_(bytes), cipher_(aes), memory_(kMemoryBytes), sealed_(kSealedBytes) {
    const int one = 1;
    setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fill(memory_.data(), memory_.size(), 1);
  }

  void seal_alone() {
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) seal(done);
  }
  void open_alone() {
    seal(0);
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) {
      number_ -= kRecordsAtOnce;
      open(done);
    }
  }
  void send_plain() {
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) send_all(sealed_.data(), sealed_.size());
  }
  void receive_plain() {
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) receive_all(sealed_.data(), sealed_.size());
  }
  void send_sealed() {
    number_ = 0;
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) {
      seal(done);
      send_all(sealed_.data(), sealed_.size());
    }
  }
  void receive_sealed() {
    number_ = 0;
    for (std::size_t done = 0; done < bytes_; done += kPieceBytes) {
      receive_all(sealed_.data(), sealed_.size());
      open(done);
    }
  }
  // Seconds in calls that moved something, since this was asked last.
  double take_busy() { return std::exchange(busy_, 0); }
  // The receiver has all.
  void confirm() {
    const unsigned char byte = 0;
    send_all(&byte, 1);
  }
  void await_confirmation() {
    unsigned char byte;
    receive_all(&byte, 1);
  }

 private:
  void seal(std::size_t at) {
    for (std::size_t i = 0; i < kRecordsAtOnce; ++i) cipher_.seal(number_++, body(at, i), record(i));
  }
  void open(std::size_t at) {
    for (std::size_t i = 0; i < kRecordsAtOnce; ++i)
      if (!cipher_.open(number_++, record(i), body(at, i))) fail("a record is wrong");
  }
  unsigned char* body(std::size_t at, std::size_t i) { return memory_.data() + at % kMemoryBytes + i * kRecordBytes; }
  unsigned char* record(std::size_t i) { return sealed_.data() + i * (kRecordBytes + kTagBytes); }

  void send_all(const unsigned char* from, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t sent = moved([&] { return ::send(stream_, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT); });
      from += sent;
      bytes -= sent;
    }
  }
  void receive_all(unsigned char* to, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t received = moved([&] { return ::recv(stream_, to, bytes, MSG_DONTWAIT); });
      to += received;
      bytes -= received;
    }
  }
  // What a call moved; 0 if there is nothing to do for now, which is not counted as busy.
  template <typename Call>
  std::size_t moved(const Call& call) {
    const double begin = now();
    const ssize_t bytes = call();
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (bytes <= 0) fail("the other process is gone");
    busy_ += now() - begin;
    return static_cast<std::size_t>(bytes);
  }

  const int stream_;
  const std::size_t bytes_;
  const Cipher cipher_;
  std::vector<unsigned char> memory_, sealed_;
  std::uint64_t number_ = 0;
  double busy_ = 0;
};

// ---- what is measured -----------------------------------------------------------------------------------------------

template <typename Work>
void sample(Samples& samples, const Work& work) {
  const double begin = now();
  work();
  add_sample(&samples, now() - begin);
}

// `receiving`: seconds of the receiver's calls, for the sender to read once that is confirmed.
void receive(Side& side, double* receiving) {
  for (long round = 0; round < rounds; ++round) {
    side.take_busy();
    side.receive_plain();
    *receiving = side.take_busy();
    side.confirm();
    side.receive_sealed();
    side.confirm();
  }
}

void print(const char* series, Samples& seconds, std::size_t bytes) {
  samples_to_rates(&seconds, static_cast<double>(bytes) / 1e9);
  report(&program, {series, "GB/s", "higher", 0, nullptr, nullptr}, &seconds);
  std::free(seconds.values);
}

void send(Side& side, const double* received, std::size_t bytes) {
  Samples sealing = {}, opening = {}, sockets = {}, sending = {}, receiving = {}, together = {};
  for (long round = 0; round < rounds; ++round) {
    sample(sealing, [&] { side.seal_alone(); });
    sample(opening, [&] { side.open_alone(); });
    side.take_busy();
    sample(sockets, [&] {
      side.send_plain();
      add_sample(&sending, side.take_busy());
      side.await_confirmation();
    });
    add_sample(&receiving, *received);
    sample(together, [&] {
      side.send_sealed();
      side.await_confirmation();
    });
  }
  print("sealing", sealing, bytes);
  print("opening", opening, bytes);
  print("sockets", sockets, bytes);
  print("sending", sending, bytes);
  print("receiving", receiving, bytes);
  print("all together", together, bytes);
}

// ---- two processes --------------------------------------------------------------------------------------------------

int listen_here(sockaddr_in& address) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof address;
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (listener < 0 || bind(listener, any, length) != 0 || listen(listener, 1) != 0 || getsockname(listener, any, &length) != 0) fail("cannot listen");
  return listener;
}

int run(bool aes, std::size_t bytes) {
  sockaddr_in address;
  const int listener = listen_here(address);
  void* const shared = mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("no memory to share");
  auto* const receiving = static_cast<double*>(shared);
  const pid_t child = fork();
  if (child < 0) fail("cannot start a second process");
  stay_on_processor(child == 0);
  if (child == 0) {
    const int stream = accept(listener, nullptr, nullptr);
    if (stream < 0) fail("cannot accept");
    Side side(stream, aes, bytes);
    receive(side, receiving);
    return 0;
  }
  const int stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (stream < 0 || connect(stream, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("cannot connect");
  Side side(stream, aes, bytes);
  send(side, receiving, bytes);
  int status = 1;
  waitpid(child, &status, 0);
  return status != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const CommandLine line = read_command_line(&program, argc, argv);
  if (line.stop) return std::fputs(line.text, line.code == 0 ? stdout : stderr), line.code;
  if (sodium_init() < 0) return 1;
  const bool has_aes = crypto_aead_aes256gcm_is_available() == 1;
  const bool aes = cipher_name == nullptr ? has_aes : std::strcmp(cipher_name, "aes") == 0;
  if (aes && !has_aes) return std::fputs("sealed_sockets: this processor has no instructions for AES\n", stderr), 2;
  return run(aes, quick ? std::size_t{128} << 20 : std::size_t{1} << 30);
}
