#include "base/status.h"

#include <cstdarg>
#include <cstdio>

namespace lapwing {

Status Status::error(int error_class, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  Status status;
  status.failure_ = std::make_unique<Failure>();
  status.failure_->error_class = error_class;
  if (length > 0) {
    status.failure_->text.resize(static_cast<std::size_t>(length));
    std::vsnprintf(status.failure_->text.data(), static_cast<std::size_t>(length) + 1, format, again);
  }
  va_end(again);
  return status;
}

Status Status::copy() const {
  Status status;
  if (failure_) status.failure_ = std::make_unique<Failure>(*failure_);
  return status;
}

}  // namespace lapwing
