// The type signature: which basic types a datatype is made of, in order, without where they lie.
//
// Together with a Walk, which yields the bytes in the same order, it is all that external32 and MPI_Get_elements need.
// Like the layout it is a shared tree whose size follows the description: `repeat` times a list of items.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpi.h"

namespace lapwing::datatype {

struct BasicType;
struct Signature;

struct SignatureItem {
  const BasicType* basic = nullptr;  // null: `nested` instead
  const Signature* nested = nullptr;
  std::uint64_t count = 0;     // of basic elements; 1 for a nested signature
  std::uint64_t bytes = 0;     // in all
  std::uint64_t elements = 0;  // in all
};

struct Signature {
  std::uint64_t repeat = 1;
  std::vector<SignatureItem> items;
  std::vector<std::shared_ptr<const Signature>> children;
  std::uint64_t iteration_bytes = 0;
  std::uint64_t iteration_elements = 0;
  std::uint64_t external_bytes = 0;  // of the whole, in external32

  std::uint64_t bytes() const noexcept { return repeat * iteration_bytes; }
  std::uint64_t elements() const noexcept { return repeat * iteration_elements; }
};

using SignaturePtr = std::shared_ptr<const Signature>;

SignaturePtr basic_signature(const BasicType& basic);
SignaturePtr repeated(const SignaturePtr& signature, std::uint64_t count);

class SignatureList {
 public:
  void append(const SignaturePtr& signature, std::uint64_t count);
  SignaturePtr finish();

 private:
  std::shared_ptr<Signature> result_ = std::make_shared<Signature>();
};

// Basic elements in the first `bytes` of the stream that `signature` describes over and over; the number of a stream
// that ends inside an element counts that element not. `rest` receives the bytes of the unfinished element.
std::uint64_t elements_in(const Signature& signature, std::uint64_t bytes, std::uint64_t* rest) noexcept;
// Bytes of the first `elements` basic elements of that stream.
std::uint64_t bytes_of(const Signature& signature, std::uint64_t elements) noexcept;

}  // namespace lapwing::datatype
