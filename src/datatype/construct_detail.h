// What the constructors share: collecting bounds with overflow noticed, and recording the call.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/count_array.h"
#include "base/status.h"
#include "datatype/datatype.h"
#include "datatype/numbers.h"

namespace lapwing::datatype {

// The bounds of a type from the blocks it consists of (MPI 5.0, section "lower-bound and upper-bound markers"):
// explicit markers of the components win over what their data would give. Where the standard's type map would have the
// padding of a component, or one without data, leave no trace, they count as MPICH and Open MPI have them count:
// programs compare extents with sizeof, and types are exchanged with what was written by those libraries.
class BoundsCollector {
 public:
  void add_block(Int128 displacement, Int128 block_length, const Datatype& type);
  // Rounds the extent up to the strictest alignment, unless the upper bound is explicit.
  Status finish(Bounds* bounds, std::int64_t* alignment) const;

 private:
  struct Edge {
    Int128 value = 0;
    bool present = false;
    bool is_explicit = false;
  };
  template <typename Better>
  static void improve(Edge& edge, Int128 value, bool is_explicit, Better better);

  Edge lower_;
  Edge upper_;
  Int128 bytes_ = 0;
  std::int64_t alignment_ = 1;
};

Status check_bytes(Int128 bytes);

// Records the arguments of a constructor in the order of its parameters. In the large form counts and byte
// displacements are all MPI_Counts; in the int form they are ints and addresses.
class ContentsRecorder {
 public:
  ContentsRecorder(int combiner, bool large) : large_(large) { contents_.combiner = combiner; }

  ContentsRecorder& integer(std::int64_t value) { return add(contents_.integers, value); }
  ContentsRecorder& count(std::int64_t value) { return add(large_ ? contents_.counts : contents_.integers, value); }
  ContentsRecorder& address(std::int64_t value) { return add(large_ ? contents_.counts : contents_.addresses, value); }
  ContentsRecorder& counts(CountArray values, std::int64_t number);
  ContentsRecorder& addresses(CountArray values, std::int64_t number);
  ContentsRecorder& integers(const int* values, int number);
  ContentsRecorder& type(Datatype& type) {
    contents_.datatypes.push_back(&type);
    return *this;
  }
  Contents finish() { return std::move(contents_); }

 private:
  ContentsRecorder& add(std::vector<std::int64_t>& values, std::int64_t value) {
    values.push_back(value);
    return *this;
  }
  ContentsRecorder& add_all(std::vector<std::int64_t>& list, CountArray values, std::int64_t number);

  Contents contents_;
  bool large_;
};

}  // namespace lapwing::datatype
