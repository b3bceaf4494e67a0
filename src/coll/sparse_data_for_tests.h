// Operands for tests: ints, one after the other or every second of a row.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "coll/call.h"
#include "datatype/construct.h"

namespace lapwing::coll {

inline datatype::Datatype* int_type() {
  return datatype::resolve(MPI_INT);
}

inline MPI_Datatype sparse_int() {
  static datatype::Datatype* const kType = [] {
    datatype::Datatype* made = nullptr;
    EXPECT_TRUE(datatype::make_resized(*int_type(), 0, 2 * sizeof(int), &made).ok());
    made->commit();
    return made;
  }();
  return kType->handle();
}

struct Data {
  Data(bool sparse, std::uint64_t elements) : sparse(sparse), ints((sparse ? 2 : 1) * elements + 1, -7) {}
  int& operator[](std::uint64_t i) { return ints[(sparse ? 2 : 1) * i]; }
  Side side(std::uint64_t count) {
    Side made;
    made.buffer = ints.data();
    made.count = count;
    made.type = sparse ? sparse_int() : MPI_INT;
    return made;
  }
  bool sparse;
  std::vector<int> ints;
};

}  // namespace lapwing::coll
