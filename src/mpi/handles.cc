// From handles to objects; communicators: resolve.h. One comparison for a user's handle, no lock.
#include "mpi/handles.h"

#include "mpi/handle_numbers.h"

namespace lapwing::mpi {

namespace {

template <typename T>
T* alive(const void* handle, ObjectKind kind) noexcept {
  auto* object = static_cast<T*>(const_cast<void*>(handle));
  return object->Object::kind() == kind ? object : nullptr;  // a request has a kind() of its own as well
}

comm::Group& empty_group() {
  static comm::Group* group = comm::Group::make({}, {});
  return *group;
}

}  // namespace

comm::Group* resolve(MPI_Group handle) noexcept {
  if (!is_predefined(handle)) return alive<comm::Group>(handle, ObjectKind::kGroup);
  return handle == MPI_GROUP_EMPTY ? &empty_group() : nullptr;
}

request::Request* resolve(MPI_Request handle) noexcept {
  return is_predefined(handle) ? nullptr : alive<request::Request>(handle, ObjectKind::kRequest);
}

comm::ErrorHandler* resolve(MPI_Errhandler handle) noexcept {
  return is_predefined(handle) ? nullptr : alive<comm::ErrorHandler>(handle, ObjectKind::kErrorHandler);
}

comm::Session* resolve(MPI_Session handle) noexcept {
  return is_predefined(handle) ? nullptr : alive<comm::Session>(handle, ObjectKind::kSession);
}

MPI_Group give_handle(comm::Group* group) noexcept {
  if (group->size() > 0) {
    count_handle(*group);
    return reinterpret_cast<MPI_Group>(group);
  }
  if (group != &empty_group()) comm::Group::drop(group);
  return MPI_GROUP_EMPTY;
}

}  // namespace lapwing::mpi
