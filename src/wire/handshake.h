// How a new connection proves that it belongs to the job, before a single frame is parsed: challenge and response with
// the job's key. Pure: bytes in, bytes out; no sockets and no clock. The caller gives deadlines and randomness.
//
//   connector                                          acceptor
//     | -- Hello: job id, from, to, nonce, terms ------>  |   checks job id and names
//     | <------------- Challenge: nonce, terms, proof --  |
//     |    checks the acceptor's proof, and its terms     |
//     | -- Response: proof ---------------------------->  |   checks the connector's proof
//     | <------ Verdict: accepted, duplicate, gone or --  |   the caller decides (see net/tcp/link.h); proven, unless frames are plain
//     |         given up; next frame, or when and why     |
//     | <============== frames, both ways ==============> |
//
// A proof is HMAC-SHA512-256, keyed with the job's key (job_key.h: made of the secret, and of the key file where there is
// one), of a label that names the role and of everything said so far, so that a proof cannot be replayed, reflected, or
// moved to another pair of ranks. Every message has a fixed size and begins with the same eight bytes in all versions, so
// that different versions can tell each other what is wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/protection.h"
#include "base/status.h"
#include "wire/aead.h"
#include "wire/frame.h"
#include "wire/job_key.h"
#include "wire/job_rank.h"
#include "wire/secret.h"
#include "wire/session_keys.h"

namespace lapwing::wire {

inline constexpr std::size_t kNonceBytes = 32;
using Nonce = std::array<std::byte, kNonceBytes>;
Nonce random_nonce() noexcept;

// Both sides keep frames until they are acknowledged, and go on over another connection when this one breaks.
inline constexpr std::uint32_t kFeatureResume = 1;
// Frames travel in records (record.h) that are checked, or sealed. Both sides must ask for the same.
inline constexpr std::uint32_t kFeatureChecked = 2;
inline constexpr std::uint32_t kFeatureSealed = 4;
// The side can seal by AES-256-GCM.
inline constexpr std::uint32_t kFeatureAes = 8;
// The side has a key file. Nothing is agreed on by this: where the proofs differ it tells why.
inline constexpr std::uint32_t kFeatureKeyFile = 16;
// Takes further connections to the same peer, its rails, which carry frames that need no order.
inline constexpr std::uint32_t kFeatureRails = 32;
// Knows the verdict kGivenUp.
inline constexpr std::uint32_t kFeatureGivenUp = 64;
// The side reads and answers only while its application calls MPI. Nothing is agreed on by this.
inline constexpr std::uint32_t kFeaturePolls = 128;

// A program in this side's kernel may answer requests, by a connection of its own (net/tcp/answer_way.h). Nothing is agreed on by this.
inline constexpr std::uint32_t kFeatureAnswers = 256;

// What a side asks for: the features of the terms that stand for it.
std::uint32_t features_of(Protection protection) noexcept;

// Every rank takes frames of this payload, so that a sender need not know its peer's limit before they have met.
inline constexpr std::uint32_t kLeastFrameLimit = 1u << 20;

// Where a side stands in what the two say to each other over all their connections.
struct Position {
  std::uint64_t next_expected = 0;  // number of the first frame that it has not had
  std::uint64_t attempt = 0;        // counts the connections of this pair, those included that were only tried
};

// What a side tells that it has given up: in a verdict, in the place of its position.
struct GivingUp {
  std::uint64_t unreached_ms = 0;  // for how long it had not reached the other then; 0: that was not the cause
  std::uint64_t ago_ms = 0;
};

// What a side asks of this connection, and tells of itself; covered by the proofs. A feature is on when both sides have its bit.
struct Terms {
  static constexpr std::size_t kPublicKeyBytes = 32;
  static constexpr std::size_t kBytes = 2 + 2 + 4 + 8 + 8 + kPublicKeyBytes;

  std::uint32_t features = 0;  // two bytes of them travel
  // The connector's: 0 the link of the two, others one of its rails, 0xffff that by which programs in the kernel answer. In a Challenge it is not
  // read.
  std::uint16_t rail = 0;
  std::uint32_t frame_limit = static_cast<std::uint32_t>(kMaxPayloadBytes);  // payload bytes of a frame that it takes
  Position position;  // the connector's. The acceptor tells its own with the verdict: until then frames may come over an older connection
  std::array<std::byte, kPublicKeyBytes> public_key{};  // X25519, of this handshake alone, where the side asks to seal; filled in by Handshake
};

enum class Verdict : std::uint8_t {
  kAccepted = 1,
  kDuplicate = 2,  // the acceptor's own connection to this peer is on its way and wins
  kGone = 3,       // the acceptor has closed its connection to this peer for good
  kVersion = 4,    // in place of Challenge: the acceptor speaks the version named in the message
  // The acceptor has lost this peer, and does not take it back. Only for a connector that knows this verdict; another one hears kGone.
  kGivenUp = 5,
};

class Handshake {
 public:
  enum class State {
    kHello,      // acceptor: waits for Hello
    kChallenge,  // connector: Hello is out; neither side has proven anything
    kResponse,   // acceptor: Challenge is out
    kVerdict,    // connector: the peer is the rank that it claims to be and our Response is out: the peer may decide at any time
    kProven,     // acceptor: the peer is proven; decide() is due
    kAccepted,   // frames may flow
    kDuplicate,  // connector: wait for the peer's connection instead
    kGone,       // connector: the peer has closed this pair's connection for good; failure() says so
    kGivenUp,    // connector: the peer has given this process up; giving_up() says when, and failure() that it is so
    kFailed,     // close the connection; failure() says why
  };
  // What a connector has found wrong with the answer.
  enum class Fault : std::uint8_t {
    kNone,      // nothing that is known: it may have been changed on the way
    kStranger,  // what answers is no rank of this job
    kSettings,  // the two ranks are set up in different ways: key file, protection, version. failure() says what to do
  };
  static constexpr std::size_t kPrefixBytes = 8;
  static constexpr std::size_t kHelloBytes =
      kPrefixBytes + JobKey::kIdBytes + 2 * JobRank::kBytes + kNonceBytes + Terms::kBytes;
  static constexpr std::size_t kChallengeBytes = kPrefixBytes + kNonceBytes + Terms::kBytes + kProofBytes;
  static constexpr std::size_t kResponseBytes = kPrefixBytes + kProofBytes;
  static constexpr std::size_t kVerdictBytes = kPrefixBytes + 16;  // and a proof, where frames are checked or sealed
  static constexpr std::size_t kMaxMessageBytes = kHelloBytes;

  // The key must outlive the handshake. A connector has output() at once. `ephemeral`: fresh random bytes where the terms ask to seal.
  static Handshake connector(const JobKey& key, JobRank self, JobRank peer, const Nonce& nonce,
                             const Terms& terms = {}, const Secret& ephemeral = {});
  // `job_size`: ranks of the own job, whose are the only ones that know the key.
  static Handshake acceptor(const JobKey& key, JobRank self, std::uint32_t job_size, const Nonce& nonce,
                            const Terms& terms = {}, const Secret& ephemeral = {});

  State state() const noexcept { return state_; }
  // How many bytes to read next, never beyond this handshake's end; 0 when none are expected.
  std::size_t wanted() const noexcept;
  // Takes bytes, at most wanted().
  void receive(const std::byte* bytes, std::size_t count);
  // What has to be sent now. Valid until the next call that changes the state; send it once.
  const std::byte* output() const noexcept { return output_.data(); }
  std::size_t output_bytes() const noexcept { return output_bytes_; }
  // Acceptor, in kProven: answers. Accepted, or the end of this connection. `how`: of kGivenUp, which tells no position.
  void decide(Verdict verdict, const Position& own = {}, const GivingUp& how = {});

  // The other process; for an acceptor valid from kProven on.
  JobRank peer() const noexcept { return peer_; }
  // Its terms; valid when it is proven, and then they agree with ours.
  const Terms& peer_terms() const noexcept { return peer_terms_; }
  // A feature that both sides have asked for.
  bool has(std::uint32_t feature) const noexcept { return (own_terms_.features & peer_terms_.features & feature) != 0; }
  // How both sides protect their frames, and, where they are sealed, with which keys; valid when the peer is proven.
  Protection protection() const noexcept { return asked_for(own_terms_); }
  const SessionKeys& session_keys() const noexcept { return session_keys_; }
  // Where the peer stands; valid for a connector from kAccepted on.
  const Position& peer_position() const noexcept { return peer_terms_.position; }
  // Of a connector in kGivenUp.
  const GivingUp& giving_up() const noexcept { return giving_up_; }
  const Status& failure() const noexcept { return failure_; }
  Fault fault() const noexcept { return fault_; }
  // The other side speaks another version of Lapwing (or says so: nothing is proven).
  bool version_differs() const noexcept { return version_differs_; }

 private:
  enum class Role : std::uint8_t { kConnector, kAcceptor };
  enum class Kind : std::uint8_t { kHello = 1, kChallenge = 2, kResponse = 3, kVerdict = 4 };

  Handshake(const JobKey& key, Role role, State state, JobRank self, const Nonce& nonce, const Terms& terms,
            const Secret& ephemeral);
  static Protection asked_for(const Terms& terms) noexcept;
  void begin_output(Kind kind, std::uint8_t code) noexcept;
  void append_output(const std::byte* bytes, std::size_t count) noexcept;
  void make_public_key() noexcept;
  void append_terms() noexcept;
  bool take_terms(const std::byte* in);
  bool agree_on_keys() noexcept;
  Status disagreement() const;
  Status not_proven() const;
  void receive_prefix();
  void receive_hello();
  void receive_challenge();
  void receive_response();
  void receive_verdict();
  std::size_t verdict_bytes() const noexcept;
  void prove_verdict(const std::byte* verdict, std::byte* proof) const noexcept;
  void expect(std::size_t bytes) noexcept;
  bool peer_has_key_file() const noexcept { return (peer_terms_.features & kFeatureKeyFile) != 0; }
  void fail(Status why, Fault fault = Fault::kNone);
  void prove(Role role, std::byte* proof) const noexcept;

  const JobKey* key_;
  Role role_;
  State state_;
  bool version_differs_ = false;
  bool terms_agree_ = false;
  JobRank self_;
  JobRank peer_;
  std::uint32_t job_size_ = 0;
  Nonce own_nonce_;
  Nonce peer_nonce_{};
  Terms own_terms_;
  Terms peer_terms_;
  Secret ephemeral_;
  SessionKeys session_keys_;
  GivingUp giving_up_;
  std::array<std::byte, kProofBytes> connectors_proof_{};  // stands for all that was said before the verdict
  std::array<std::byte, kMaxMessageBytes> input_{};
  std::size_t input_bytes_ = 0;   // received of the current message
  std::size_t input_wanted_ = 0;  // prefix first, then the whole message
  std::array<std::byte, kMaxMessageBytes> output_{};
  std::size_t output_bytes_ = 0;
  Status failure_;
  Fault fault_ = Fault::kNone;
};

}  // namespace lapwing::wire
