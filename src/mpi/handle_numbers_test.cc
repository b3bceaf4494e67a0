#include "mpi/handle_numbers.h"

#include <gtest/gtest.h>

#include "mpi.h"

namespace lapwing::mpi {
namespace {

TEST(HandleNumbers, APredefinedHandleIsItsOwnNumber) {
  EXPECT_EQ(0x101, number_of_handle(MPI_COMM_WORLD));
  EXPECT_EQ(0x209, number_of_handle(MPI_INT));
  EXPECT_EQ(MPI_COMM_WORLD, handle_of_number(0x101));
}

TEST(HandleNumbers, AUsersHandleKeepsItsNumberOutsideTheReservedRange) {
  long objects[2] = {};
  const int first = number_of_handle(&objects[0]);
  const int second = number_of_handle(&objects[1]);
  EXPECT_GT(first, 4095);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, number_of_handle(&objects[0]));
  EXPECT_EQ(&objects[0], handle_of_number(first));
  EXPECT_EQ(&objects[1], handle_of_number(second));
}

TEST(HandleNumbers, AForgottenNumberNamesNothing) {
  struct Thing : Object {
    Thing() : Object(ObjectKind::kInfo) {}
  } thing;
  const int number = number_of_handle(&thing);
  forget_handle_number(thing);
  EXPECT_EQ(nullptr, handle_of_number(number));
}

TEST(HandleNumbers, AForgottenNumberIsGivenOutAgain) {
  struct Thing : Object {
    Thing() : Object(ObjectKind::kInfo) {}
  } first, second, third;
  const int number = number_of_handle(&first);
  const int other = number_of_handle(&second);
  forget_handle_number(first);
  EXPECT_EQ(number, number_of_handle(&third));
  EXPECT_EQ(&third, handle_of_number(number));
  EXPECT_EQ(other, number_of_handle(&second));
  EXPECT_NE(number, number_of_handle(&first));
}

TEST(HandleNumbers, ANumberGoesWithTheLastOfEqualHandles) {
  struct Thing : Object {
    Thing() : Object(ObjectKind::kGroup) {}
  } thing;
  count_handle(thing);
  count_handle(thing);
  const int number = number_of_handle(&thing);
  uncount_handle(thing);
  EXPECT_EQ(&thing, handle_of_number(number));
  uncount_handle(thing);
  EXPECT_EQ(nullptr, handle_of_number(number));
}

TEST(HandleNumbers, ANumberThatNobodyHasGivesNothing) {
  EXPECT_EQ(nullptr, handle_of_number(0));
  EXPECT_EQ(nullptr, handle_of_number(-5));
  EXPECT_EQ(nullptr, handle_of_number(2000000000));
}

}  // namespace
}  // namespace lapwing::mpi
