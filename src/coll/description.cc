#include "coll/description.h"

#include <algorithm>
#include <cinttypes>

#include "datatype/element.h"

namespace lapwing::coll {
namespace {

constexpr unsigned kCallBits = 5, kOperationBits = 5, kElementBits = 5, kRootBits = 22, kBytesBits = 19;
static_assert(kCallBits + kOperationBits + kElementBits + kRootBits + kBytesBits == kHistoryShift);

constexpr std::uint64_t kUsersOperation = 31, kFirstPair = 20;
constexpr std::uint64_t kManyBytes = std::uint64_t{1} << (kBytesBits - 1);

struct Fields {
  std::uint64_t call = 0, operation = 0, element = 0, root = 0, bytes = 0, history = 0;
};

constexpr std::uint64_t pack(const Fields& f) noexcept {
  std::uint64_t packed = f.history;
  packed = packed << kBytesBits | f.bytes;
  packed = packed << kRootBits | f.root;
  packed = packed << kElementBits | f.element;
  packed = packed << kOperationBits | f.operation;
  return packed << kCallBits | f.call;
}

constexpr Fields unpack(std::uint64_t packed) noexcept {
  const auto take = [&packed](unsigned bits) {
    const std::uint64_t field = packed & ((std::uint64_t{1} << bits) - 1);
    packed >>= bits;
    return field;
  };
  Fields f;
  f.call = take(kCallBits);
  f.operation = take(kOperationBits);
  f.element = take(kElementBits);
  f.root = take(kRootBits);
  f.bytes = take(kBytesBits);
  f.history = packed;
  return f;
}

// As they are when they fit, else a hash that says that they are many.
constexpr std::uint64_t bytes_field(std::uint64_t bytes) noexcept {
  if (bytes < kManyBytes) return bytes;
  return kManyBytes | (bytes * 0x9e3779b97f4a7c15u) >> (64 - (kBytesBits - 1));
}

std::uint64_t operation_field(const datatype::Op& op) noexcept {
  constexpr std::uintptr_t kNoOperation = 0x20;  // MPI_OP_NULL in the standard's ABI
  return op.is_user() ? kUsersOperation : reinterpret_cast<std::uintptr_t>(op.handle()) - kNoOperation;
}

std::uint64_t element_field(const datatype::Datatype& type) noexcept {
  if (type.category() != datatype::Category::kPair) return static_cast<std::uint64_t>(type.element());
  return kFirstPair + static_cast<std::uint64_t>(type.pair().value) % 12;  // different for those that there are
}

std::uint64_t bytes_of(const Side& side) {
  return side.block().bytes();
}

// Of all blocks of a side that has counts.
std::uint64_t bytes_of_all(const Side& side, int ranks) {
  std::uint64_t elements = 0;
  for (int rank = 0; rank < ranks; ++rank)
    elements += side.counts ? static_cast<std::uint64_t>(side.counts[static_cast<std::size_t>(rank)]) : side.count;
  return block(nullptr, elements, datatype::resolve(side.type)).bytes();
}

std::uint64_t bytes_of(const Call& call, const comm::Communicator& communicator) {
  const bool is_root = call.root == communicator.rank();
  switch (call.what) {
    case Collective::kAllgather:
    case Collective::kAllreduce:
    case Collective::kAlltoall:
    case Collective::kBcast:
    case Collective::kExscan:
    case Collective::kReduce:
    case Collective::kReduceScatterBlock:
    case Collective::kScan:
      return bytes_of(call.receive);
    case Collective::kAllgatherv:
    case Collective::kReduceScatter:
      return bytes_of_all(call.receive, communicator.size());
    case Collective::kGather:
      return bytes_of(is_root ? call.receive : call.send);
    case Collective::kScatter:
      return bytes_of(is_root ? call.send : call.receive);
    default:
      return 0;
  }
}

const char* name_of_operation(std::uint64_t field) noexcept {
  const auto handle = reinterpret_cast<MPI_Op>(field + 0x20);
  struct Named {
    MPI_Op op;
    const char* name;
  };
  static const Named kNames[] = {{MPI_SUM, "MPI_SUM"},   {MPI_PROD, "MPI_PROD"},     {MPI_MIN, "MPI_MIN"},
                                 {MPI_MAX, "MPI_MAX"},   {MPI_BAND, "MPI_BAND"},     {MPI_BOR, "MPI_BOR"},
                                 {MPI_BXOR, "MPI_BXOR"}, {MPI_LAND, "MPI_LAND"},     {MPI_LOR, "MPI_LOR"},
                                 {MPI_LXOR, "MPI_LXOR"}, {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"}};
  for (const Named& named : kNames) {
    if (named.op == handle) return named.name;
  }
  return "a user's operation";
}

const char* name_of_element(std::uint64_t field) noexcept {
  static const char* const kNames[] = {"",
                                       "8-bit integers",
                                       "16-bit integers",
                                       "32-bit integers",
                                       "64-bit integers",
                                       "128-bit integers",
                                       "unsigned 8-bit integers",
                                       "unsigned 16-bit integers",
                                       "unsigned 32-bit integers",
                                       "unsigned 64-bit integers",
                                       "16-bit floats",
                                       "32-bit floats",
                                       "64-bit floats",
                                       "long doubles",
                                       "128-bit floats",
                                       "complex 16-bit floats",
                                       "complex 32-bit floats",
                                       "complex 64-bit floats",
                                       "complex long doubles",
                                       "complex 128-bit floats"};
  static_assert(sizeof kNames / sizeof *kNames == datatype::kElementKinds && kFirstPair == datatype::kElementKinds);
  return field < kFirstPair ? kNames[field] : "pairs";
}

bool is_rooted(std::uint64_t call) noexcept {
  return call >= 1 && call < kManagingCommunicators && is_rooted(static_cast<Collective>(call - 1));
}

const char* name_of_call(std::uint64_t call) noexcept {
  if (call >= 1 && call < kManagingCommunicators) return name(static_cast<Collective>(call - 1));
  if (call == 0) return "no collective call";
  return call == kManagingCommunicators ? "a call that makes or frees a communicator" : "an unknown call";
}

// What of two calls differs first, and the class of the error that this is.
struct Cause {
  int error_class;
  const char* text;
};
Cause cause(const Fields& ours, const Fields& theirs) noexcept {
  if (ours.call != theirs.call) return {MPI_ERR_OTHER, "every rank must call the same collectives in the same order"};
  if (ours.root != theirs.root) return {MPI_ERR_ROOT, "every rank must name the same root"};
  if (ours.operation != theirs.operation) return {MPI_ERR_OP, "every rank must name the same operation"};
  if (ours.element != theirs.element) return {MPI_ERR_TYPE, "every rank must name the same type"};
  if (ours.bytes != theirs.bytes)
    return {ours.bytes < theirs.bytes ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT, "every rank must give or take as much data"};
  return {MPI_ERR_OTHER,
          "their calls before this one were not the same, but every rank must call the same collectives in the same "
          "order, with the same root, operation and amount of data"};
}

std::string name_of(const comm::Communicator& communicator) {
  return communicator.name.empty() ? std::string("a communicator without a name") : communicator.name;
}

const char* of_group(const comm::Communicator& communicator) {
  return communicator.is_inter() ? " of the remote group" : "";
}

}  // namespace

std::uint64_t describe(const Call& call, const comm::Communicator& communicator) {
  Fields f;
  f.call = static_cast<std::uint64_t>(call.what) + 1;
  if (communicator.is_inter()) return pack(f);
  if (is_rooted(call.what)) f.root = static_cast<std::uint64_t>(call.root);
  if (call.op != nullptr) {
    f.operation = operation_field(*call.op);
    if (!call.op->is_user()) f.element = element_field(*datatype::resolve(call.receive.type));
  }
  f.bytes = bytes_field(bytes_of(call, communicator));
  return pack(f);
}

std::uint64_t described_bytes(std::uint64_t description) noexcept { return std::min(unpack(description).bytes, kManyBytes); }

std::string spell(std::uint64_t description) {
  const Fields f = unpack(description);
  std::string arguments;
  const auto add = [&arguments](const std::string& word) { arguments += (arguments.empty() ? "" : ", ") + word; };
  if (is_rooted(f.call)) add("root " + std::to_string(f.root));
  if (f.operation != 0) add(name_of_operation(f.operation));
  if (f.element != 0) add(name_of_element(f.element));
  if (f.bytes != 0) add(f.bytes < kManyBytes ? std::to_string(f.bytes) + " bytes" : "256 KiB or more");
  return name_of_call(f.call) + (arguments.empty() ? std::string() : "(" + arguments + ")");
}

Status mismatch(const comm::Communicator& communicator, Part ours, Part theirs) {
  if (theirs.description == kGivenUp)
    return Status::error(MPI_ERR_OTHER, "rank %d cannot go on with %s on %s: rank %d%s has given it up, after an error that it returns", ours.rank,
                         spell(ours.description).c_str(), name_of(communicator).c_str(), theirs.rank, of_group(communicator));
  const Cause why = cause(unpack(ours.description), unpack(theirs.description));
  return Status::error(why.error_class, "rank %d is in %s, rank %d%s in %s, on %s: %s", ours.rank,
                       spell(ours.description).c_str(), theirs.rank, of_group(communicator), spell(theirs.description).c_str(),
                       name_of(communicator).c_str(), why.text);
}

}  // namespace lapwing::coll
