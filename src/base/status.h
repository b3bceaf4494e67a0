// The result of an operation inside Lapwing: success, or an MPI error class with a sentence for the user.
//
// Rule: the first function to notice an error writes the message; every caller passes the Status on unchanged.
// A success costs one pointer comparison and no allocation.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "mpi.h"

namespace lapwing {

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  // `error_class` is an MPI_ERR_* constant. The text follows printf and names rank, peer, address, cause and remedy
  // as far as they are known; it has no trailing full stop or newline.
  static Status error(int error_class, const char* format, ...) __attribute__((format(printf, 2, 3)));

  bool ok() const noexcept { return failure_ == nullptr; }
  int error_class() const noexcept { return failure_ ? failure_->error_class : MPI_SUCCESS; }
  const char* text() const noexcept { return failure_ ? failure_->text.c_str() : ""; }

  // A second owner of the same news, for a failure that ends several requests.
  Status copy() const;

 private:
  struct Failure {
    int error_class;
    std::string text;
  };
  std::unique_ptr<Failure> failure_;
};

// Leaves the enclosing function with the Status of `expression` unless it is a success.
#define LAPWING_TRY(expression)                                                             \
  do {                                                                                      \
    if (auto lapwing_status_ = (expression); !lapwing_status_.ok()) return lapwing_status_; \
  } while (false)

}  // namespace lapwing
