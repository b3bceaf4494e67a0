// The datatype chapter through the functions behind the shims; layouts and kernels are tested in src/datatype.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "datatype/datatype.h"
#include "mpi/implementation.h"
#include "mpi/status_fields.h"

namespace lapwing::mpi {
namespace {

#define EXPECT_OK(expression)                    \
  do {                                           \
    const Status status_ = (expression);         \
    EXPECT_TRUE(status_.ok()) << status_.text(); \
  } while (false)

struct Envelope {
  MPI_Count integers = -1, addresses = -1, counts = -1, datatypes = -1;
  int combiner = -1;
};

Envelope envelope_of(MPI_Datatype type) {
  Envelope envelope;
  EXPECT_OK(type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.counts, &envelope.datatypes,
                              &envelope.combiner));
  return envelope;
}

TEST(DatatypeFunctions, ContentsComeBackWithReferences) {
  MPI_Datatype vector, type;
  EXPECT_OK(type_vector(3, 2, 5, MPI_INT, &vector, false));
  const int lengths[] = {1, 2};
  const MPI_Aint displacements[] = {0, 64};
  const MPI_Datatype types[] = {vector, MPI_DOUBLE};
  EXPECT_OK(type_create_struct(2, lengths, displacements, types, &type, false));
  EXPECT_OK(type_free(&vector));
  EXPECT_EQ(vector, MPI_DATATYPE_NULL);

  const Envelope envelope = envelope_of(type);
  EXPECT_EQ(envelope.combiner, MPI_COMBINER_STRUCT);
  EXPECT_EQ(envelope.integers, 3);
  EXPECT_EQ(envelope.addresses, 2);
  EXPECT_EQ(envelope.counts, 0);
  EXPECT_EQ(envelope.datatypes, 2);
  int integers[3];
  MPI_Aint addresses[2];
  MPI_Datatype components[2];
  EXPECT_OK(type_get_contents(type, 3, 2, 0, 2, integers, addresses, nullptr, components));
  EXPECT_EQ(integers[2], 2);
  EXPECT_EQ(addresses[1], 64);
  EXPECT_EQ(components[1], MPI_DOUBLE);
  EXPECT_EQ(type_get_contents(type, 2, 2, 0, 2, integers, addresses, nullptr, components).error_class(), MPI_ERR_ARG);

  EXPECT_OK(type_free(&type));
  EXPECT_EQ(envelope_of(components[0]).combiner, MPI_COMBINER_VECTOR);
  EXPECT_OK(type_free(&components[0]));
}

TEST(DatatypeFunctions, LargeFormIsReportedAsSuch) {
  MPI_Datatype type;
  EXPECT_OK(type_create_resized(MPI_INT, -8, 32, &type, true));
  const Envelope envelope = envelope_of(type);
  EXPECT_EQ(envelope.combiner, MPI_COMBINER_RESIZED);
  EXPECT_EQ(envelope.counts, 2);
  EXPECT_EQ(envelope.addresses, 0);
  MPI_Count counts[2];
  MPI_Datatype component;
  EXPECT_OK(type_get_contents(type, 0, 0, 2, 1, nullptr, nullptr, counts, &component));
  EXPECT_EQ(counts[0], -8);
  EXPECT_EQ(counts[1], 32);
  EXPECT_EQ(type_get_contents(type, 9, 9, 0, 9, nullptr, nullptr, nullptr, &component).error_class(), MPI_ERR_ARG);
  EXPECT_OK(type_free(&type));
}

TEST(DatatypeFunctions, PredefinedTypesCannotBeFreedOrTakenApart) {
  MPI_Datatype type = MPI_INT;
  EXPECT_EQ(type_free(&type).error_class(), MPI_ERR_TYPE);
  EXPECT_EQ(envelope_of(MPI_INT).combiner, MPI_COMBINER_NAMED);
  EXPECT_EQ(type_get_contents(MPI_INT, 0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr).error_class(), MPI_ERR_TYPE);
}

TEST(DatatypeFunctions, NamesAreCutToTheirMaximum) {
  MPI_Datatype type;
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  EXPECT_OK(type_get_name(MPI_DOUBLE, name, &length));
  EXPECT_STREQ(name, "MPI_DOUBLE");
  EXPECT_EQ(length, 10);
  EXPECT_OK(type_contiguous(2, MPI_INT, &type, false));
  EXPECT_OK(type_get_name(type, name, &length));
  EXPECT_EQ(length, 0);
  EXPECT_OK(type_set_name(type, std::string(500, 'x').c_str()));
  EXPECT_OK(type_get_name(type, name, &length));
  EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
  EXPECT_EQ(std::strlen(name), static_cast<std::size_t>(length));
  EXPECT_OK(type_free(&type));
}

TEST(DatatypeFunctions, FortranKinds) {
  MPI_Datatype type, again;
  MPI_Count size;
  EXPECT_OK(type_create_f90_real(15, MPI_UNDEFINED, &type));
  EXPECT_OK(type_create_f90_real(15, MPI_UNDEFINED, &again));
  EXPECT_EQ(type, again);
  EXPECT_OK(type_size(type, &size));
  EXPECT_EQ(size, 8);
  const Envelope envelope = envelope_of(type);
  EXPECT_EQ(envelope.combiner, MPI_COMBINER_F90_REAL);
  EXPECT_EQ(envelope.integers, 2);
  int arguments[2];
  EXPECT_OK(type_get_contents(type, 2, 0, 0, 0, arguments, nullptr, nullptr, nullptr));
  EXPECT_EQ(arguments[0], 15);
  EXPECT_EQ(arguments[1], MPI_UNDEFINED);
  EXPECT_EQ(type_free(&type).error_class(), MPI_ERR_TYPE);

  EXPECT_OK(type_create_f90_complex(6, 30, &type));
  EXPECT_OK(type_size(type, &size));
  EXPECT_EQ(size, 8);
  EXPECT_OK(type_create_f90_integer(10, &type));
  EXPECT_OK(type_size(type, &size));
  EXPECT_EQ(size, 8);
  double in = 2.5, inout = 1.5;
  EXPECT_OK(reduce_local(&in, &inout, 1, again, MPI_SUM));
  EXPECT_EQ(inout, 4.0);
  EXPECT_EQ(type_create_f90_real(99, 2, &type).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_create_f90_integer(77, &type).error_class(), MPI_ERR_ARG);
}

TEST(DatatypeFunctions, MatchBySize) {
  MPI_Datatype type;
  EXPECT_OK(type_match_size(MPI_TYPECLASS_REAL, 8, &type));
  EXPECT_EQ(type, MPI_REAL8);
  EXPECT_OK(type_match_size(MPI_TYPECLASS_COMPLEX, 8, &type));
  EXPECT_EQ(type, MPI_COMPLEX8);
  EXPECT_OK(type_match_size(MPI_TYPECLASS_INTEGER, 2, &type));
  EXPECT_EQ(type, MPI_INTEGER2);
  EXPECT_EQ(type_match_size(MPI_TYPECLASS_INTEGER, 3, &type).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(type_match_size(12345, 4, &type).error_class(), MPI_ERR_ARG);
}

TEST(DatatypeFunctions, ValueIndexPairs) {
  MPI_Datatype type, again;
  EXPECT_OK(type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
  EXPECT_EQ(type, MPI_DOUBLE_INT);
  EXPECT_OK(type_get_value_index(MPI_DOUBLE, MPI_COUNT, &type));
  EXPECT_OK(type_get_value_index(MPI_DOUBLE, MPI_COUNT, &again));
  EXPECT_EQ(type, again);
  EXPECT_EQ(envelope_of(type).combiner, MPI_COMBINER_VALUE_INDEX);
  EXPECT_EQ(envelope_of(type).datatypes, 2);
  EXPECT_OK(type_get_value_index(MPI_CHAR, MPI_INT, &type));
  EXPECT_EQ(type, MPI_DATATYPE_NULL);
}

TEST(DatatypeFunctions, CountsOfAStatus) {
  MPI_Datatype type;
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT};
  EXPECT_OK(type_create_struct(2, lengths, displacements, types, &type, false));
  MPI_Status status;
  MPI_Count count;
  EXPECT_OK(status_set_elements(&status, type, 5));
  EXPECT_EQ(status_bytes(status), 12u * 2 + 8);
  EXPECT_OK(get_elements(&status, type, &count));
  EXPECT_EQ(count, 5);
  EXPECT_OK(get_count(&status, type, &count));
  EXPECT_EQ(count, MPI_UNDEFINED);
  EXPECT_OK(status_set_elements_x(&status, type, 6));
  EXPECT_OK(get_count(&status, type, &count));
  EXPECT_EQ(count, 3);
  EXPECT_EQ(status_set_elements_x(&status, type, -6).error_class(), MPI_ERR_COUNT);
  EXPECT_OK(type_free(&type));
}

TEST(PackFunctions, PositionsAdvanceAndAreChecked) {
  const int values[] = {1, 2, 3};
  char buffer[16];
  MPI_Count position = 0;
  EXPECT_OK(pack(values, 3, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
  EXPECT_EQ(position, 12);
  EXPECT_EQ(pack(values, 3, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD).error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(position, 12);
  position = 4;
  int result[2] = {};
  EXPECT_OK(unpack(buffer, 12, &position, result, 2, MPI_INT, MPI_COMM_WORLD));
  EXPECT_EQ(result[0], 2);
  EXPECT_EQ(result[1], 3);
  EXPECT_EQ(unpack(buffer, 12, &position, result, 1, MPI_INT, MPI_COMM_WORLD).error_class(), MPI_ERR_TRUNCATE);
  position = -1;
  EXPECT_EQ(pack(values, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD).error_class(), MPI_ERR_ARG);
}

TEST(PackFunctions, PackedDataAtNull) {
  int value = 0;
  MPI_Count position = 0;
  const char* const external = "external32";
  EXPECT_EQ(pack(&value, 1, MPI_INT, nullptr, 64, &position, MPI_COMM_WORLD).error_class(), MPI_ERR_BUFFER);
  EXPECT_EQ(unpack(nullptr, 64, &position, &value, 1, MPI_INT, MPI_COMM_WORLD).error_class(), MPI_ERR_BUFFER);
  EXPECT_EQ(pack_external(external, &value, 1, MPI_INT, nullptr, 64, &position).error_class(), MPI_ERR_BUFFER);
  EXPECT_EQ(unpack_external(external, nullptr, 64, &position, &value, 1, MPI_INT).error_class(), MPI_ERR_BUFFER);
  EXPECT_EQ(position, 0);
  EXPECT_OK(pack(&value, 0, MPI_INT, nullptr, 0, &position, MPI_COMM_WORLD));
  EXPECT_OK(unpack(nullptr, 0, &position, &value, 0, MPI_INT, MPI_COMM_WORLD));
  EXPECT_OK(pack_external(external, &value, 0, MPI_INT, nullptr, 0, &position));
  EXPECT_OK(unpack_external(external, nullptr, 0, &position, &value, 0, MPI_INT));
}

TEST(PackFunctions, External32) {
  const int values[] = {1, 2};
  unsigned char buffer[8];
  MPI_Count position = 0;
  MPI_Count size = 0;
  EXPECT_OK(pack_external_size("external32", 2, MPI_INT, &size));
  EXPECT_EQ(size, 8);
  EXPECT_OK(pack_external("external32", values, 2, MPI_INT, buffer, size, &position));
  EXPECT_EQ(position, 8);
  EXPECT_EQ(buffer[3], 1);
  int result[2] = {};
  position = 0;
  EXPECT_OK(unpack_external("external32", buffer, size, &position, result, 2, MPI_INT));
  EXPECT_EQ(result[1], 2);
  EXPECT_EQ(pack_external_size("native", 2, MPI_INT, &size).error_class(), MPI_ERR_ARG);
}

void add(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

TEST(OpFunctions, LifeOfAnOperation) {
  MPI_Op op;
  int commutes = -1;
  EXPECT_OK(op_create(add, 0, &op));
  EXPECT_OK(op_commutative(op, &commutes));
  EXPECT_EQ(commutes, 0);
  int in = 3, inout = 4;
  EXPECT_OK(reduce_local(&in, &inout, 1, MPI_INT, op));
  EXPECT_EQ(inout, 7);
  EXPECT_OK(op_free(&op));
  EXPECT_EQ(op, MPI_OP_NULL);
  op = MPI_SUM;
  EXPECT_EQ(op_free(&op).error_class(), MPI_ERR_OP);
  EXPECT_EQ(reduce_local(&in, &inout, 1, MPI_INT, MPI_MAXLOC).error_class(), MPI_ERR_OP);
}

TEST(Addresses, Arithmetic) {
  int values[4] = {};
  MPI_Aint first, third;
  EXPECT_OK(get_address(&values[0], &first));
  EXPECT_OK(get_address(&values[2], &third));
  EXPECT_EQ(aint_diff(third, first), 8);
  EXPECT_EQ(aint_add(first, 8), third);
}

}  // namespace
}  // namespace lapwing::mpi
