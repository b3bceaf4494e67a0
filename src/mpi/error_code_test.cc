#include "mpi/error_code.h"

#include <gtest/gtest.h>

#include <string>

#include "mpi/implementation.h"

namespace lapwing::mpi {
namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = -1;
  EXPECT_TRUE(error_string(code, text, &length).ok());
  EXPECT_EQ(static_cast<std::size_t>(length), std::string(text).size());
  return text;
}

TEST(ErrorCode, EveryStandardClassHasASentence) {
  for (int number = MPI_ERR_BUFFER; number <= MPI_ERR_ABI; ++number) {
    int found = -1;
    EXPECT_TRUE(error_class(number, &found).ok()) << number;
    EXPECT_EQ(found, number);
    EXPECT_EQ(text_of(number).substr(0, 8), "MPI_ERR_") << number;
  }
  EXPECT_EQ(text_of(MPI_SUCCESS), "MPI_SUCCESS: no error");
}

TEST(ErrorCode, UnknownCodesAreRefused) {
  int found;
  EXPECT_EQ(error_class(-1, &found).error_class(), MPI_ERR_ARG);
  EXPECT_EQ(error_class(MPI_ERR_ABI + 1, &found).error_class(), MPI_ERR_ARG);
}

TEST(ErrorCode, TheLastErrorAddsItsText) {
  remember_error(MPI_ERR_RANK, "MPI_Send: dest is 9");
  EXPECT_EQ(text_of(MPI_ERR_RANK), "MPI_ERR_RANK: invalid rank: MPI_Send: dest is 9");
  EXPECT_EQ(text_of(MPI_ERR_TAG), "MPI_ERR_TAG: invalid tag");
  remember_error(MPI_ERR_TAG, std::string(2000, 'x'));
  EXPECT_EQ(text_of(MPI_ERR_TAG).size(), static_cast<std::size_t>(MPI_MAX_ERROR_STRING - 1));
  remember_error(MPI_SUCCESS, "");
}

TEST(ErrorCode, ProgramsAddAndRemoveTheirOwn) {
  int error_class_number, code, found;
  ASSERT_TRUE(add_error_class(&error_class_number).ok());
  EXPECT_GT(error_class_number, MPI_ERR_LASTCODE);
  EXPECT_EQ(*last_used_code(), error_class_number);
  EXPECT_EQ(text_of(error_class_number), "");
  ASSERT_TRUE(add_error_code(error_class_number, &code).ok());
  EXPECT_EQ(*last_used_code(), code);
  ASSERT_TRUE(error_class(code, &found).ok());
  EXPECT_EQ(found, error_class_number);
  ASSERT_TRUE(add_error_string(code, "too hot").ok());
  EXPECT_EQ(text_of(code), "too hot");

  EXPECT_FALSE(remove_error_class(error_class_number).ok()) << "it still has a code";
  EXPECT_FALSE(remove_error_code(code).ok()) << "it still has a string";
  EXPECT_TRUE(remove_error_string(code).ok());
  EXPECT_FALSE(remove_error_string(code).ok());
  EXPECT_TRUE(remove_error_code(code).ok());
  EXPECT_FALSE(remove_error_code(code).ok());
  EXPECT_TRUE(remove_error_class(error_class_number).ok());
  EXPECT_FALSE(remove_error_class(error_class_number).ok());
}

TEST(ErrorCode, TheStandardsOwnStay) {
  int code;
  EXPECT_FALSE(remove_error_class(MPI_ERR_RANK).ok());
  EXPECT_FALSE(remove_error_code(MPI_SUCCESS).ok());
  EXPECT_FALSE(remove_error_string(MPI_ERR_RANK).ok());
  EXPECT_FALSE(add_error_string(MPI_ERR_RANK, "mine").ok());
  EXPECT_FALSE(add_error_code(424242, &code).ok());
  ASSERT_TRUE(add_error_code(MPI_ERR_OTHER, &code).ok());
  EXPECT_FALSE(remove_error_class(code).ok());
  EXPECT_TRUE(remove_error_code(code).ok());
}

}  // namespace
}  // namespace lapwing::mpi
