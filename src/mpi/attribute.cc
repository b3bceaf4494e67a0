// MPI 5.0, section 7.7 (caching) and the deprecated MPI_Attr_* and MPI_Keyval_*. The data and the callbacks' order are
// in comm/attributes.h.
#include "mpi/attribute.h"

#include <memory>
#include <mutex>
#include <utility>

#include "comm/attributes.h"
#include "mpi/error_code.h"
#include "mpi/handles.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {

namespace {

// Keyvals may be made before MPI_Init and live as long as the process. The numbers tell the kinds apart.
template <typename Handle>
comm::KeyvalTable<Handle>& table();
template <>
comm::KeyvalTable<MPI_Comm>& table() {
  static auto* keyvals = new comm::KeyvalTable<MPI_Comm>(0x01000000);
  return *keyvals;
}
template <>
comm::KeyvalTable<MPI_Datatype>& table() {
  static auto* keyvals = new comm::KeyvalTable<MPI_Datatype>(0x02000000);
  return *keyvals;
}
template <>
comm::KeyvalTable<MPI_Win>& table() {
  static auto* keyvals = new comm::KeyvalTable<MPI_Win>(0x03000000);
  return *keyvals;
}

// What hangs on an object: the set, under the base class that the object's room knows.
template <typename Handle, typename Base>
struct Holder : Base {
  comm::AttributeSet<Handle> set;
};
using OfCommunicator = Holder<MPI_Comm, comm::Extra>;
using OfDatatype = Holder<MPI_Datatype, datatype::Extras>;

std::mutex creation_mutex;  // of sets, which objects get with their first attribute

comm::AttributeSet<MPI_Comm>* existing(comm::Communicator& communicator) {
  const std::lock_guard guard(creation_mutex);
  return communicator.attributes != nullptr ? &static_cast<OfCommunicator&>(*communicator.attributes).set : nullptr;
}

comm::AttributeSet<MPI_Comm>& attributes(comm::Communicator& communicator) {
  const std::lock_guard guard(creation_mutex);
  if (communicator.attributes == nullptr) communicator.attributes = std::make_unique<OfCommunicator>();
  return static_cast<OfCommunicator&>(*communicator.attributes).set;
}

comm::AttributeSet<MPI_Datatype>* existing(datatype::Datatype& type) {
  const std::lock_guard guard(creation_mutex);
  return type.extras != nullptr ? &static_cast<OfDatatype&>(*type.extras).set : nullptr;
}

comm::AttributeSet<MPI_Datatype>& attributes(datatype::Datatype& type) {
  const std::lock_guard guard(creation_mutex);
  if (type.extras == nullptr) type.extras = std::make_unique<OfDatatype>();
  return static_cast<OfDatatype&>(*type.extras).set;
}

Status bad_keyval(int keyval) {
  if (keyval == MPI_KEYVAL_INVALID) return Status::error(MPI_ERR_KEYVAL, "the key is MPI_KEYVAL_INVALID");
  return Status::error(MPI_ERR_KEYVAL,
                       "%d is no attribute key for this kind of object, or it was freed and is in use no more", keyval);
}

template <typename Handle, typename Object>
Status set_attribute(Handle handle, Object& object, int number, void* value) {
  auto keyval = table<Handle>().find(number);
  if (keyval == nullptr) return bad_keyval(number);
  return attributes(object).set(handle, std::move(keyval), value);
}

template <typename Handle, typename Object>
Status get_attribute(Object& object, int number, void* value, int* flag) {
  if (table<Handle>().find(number) == nullptr) return bad_keyval(number);
  const auto* set = existing(object);
  *flag = set != nullptr && set->get(number, static_cast<void**>(value));
  return {};
}

template <typename Handle, typename Object>
Status delete_attribute(Handle handle, Object& object, int number) {
  if (table<Handle>().find(number) == nullptr) return bad_keyval(number);
  auto* set = existing(object);
  if (set == nullptr) return Status::error(MPI_ERR_KEYVAL, "there is no attribute under keyval %d", number);
  return set->remove(handle, number);
}

template <typename Handle>
Status free_keyval(int* keyval) {
  if (!table<Handle>().free(*keyval)) return bad_keyval(*keyval);
  *keyval = MPI_KEYVAL_INVALID;
  return {};
}

// The attributes that every communicator has from the start. Null: this one has no value.
int* predefined_attribute(int keyval) {
  static int tag_upper_bound = INT_MAX;
  static int host = MPI_PROC_NULL;
  static int io = MPI_ANY_SOURCE;  // every process can do input and output
  static int wtime_is_global = 0;
  static int appnum, universe_size;
  switch (keyval) {
    case MPI_TAG_UB:
      return &tag_upper_bound;
    case MPI_HOST:
      return &host;
    case MPI_IO:
      return &io;
    case MPI_WTIME_IS_GLOBAL:
      return &wtime_is_global;
    case MPI_LASTUSEDCODE:
      return last_used_code();
    case MPI_APPNUM:
      appnum = process().job.appnum();
      return appnum >= 0 ? &appnum : nullptr;
    case MPI_UNIVERSE_SIZE:
      universe_size = process().job.universe_size();
      return universe_size > 0 ? &universe_size : nullptr;
    default:
      return nullptr;
  }
}

bool is_predefined_keyval(int keyval) noexcept {
  return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

Status check_writable(int keyval) {
  if (!is_predefined_keyval(keyval)) return {};
  return Status::error(MPI_ERR_KEYVAL, "key %d is predefined; its value belongs to the library", keyval);
}

}  // namespace

Status copy_attributes(comm::Communicator& from, comm::Communicator& to) {
  const auto* set = existing(from);
  return set != nullptr && set->size() > 0 ? set->copy_to(from.handle(), attributes(to)) : Status();
}

Status delete_attributes(comm::Communicator& communicator) {
  auto* set = existing(communicator);
  return set != nullptr ? set->clear(communicator.handle()) : Status();
}

Status copy_attributes(datatype::Datatype& from, datatype::Datatype& to) {
  const auto* set = existing(from);
  return set != nullptr && set->size() > 0 ? set->copy_to(from.handle(), attributes(to)) : Status();
}

Status delete_attributes(datatype::Datatype& type) {
  auto* set = existing(type);
  return set != nullptr ? set->clear(type.handle()) : Status();
}

Status comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                          MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval, void* extra_state) {
  *comm_keyval = table<MPI_Comm>().create(comm_copy_attr_fn, comm_delete_attr_fn, extra_state);
  return {};
}

Status comm_free_keyval(int* comm_keyval) {
  return free_keyval<MPI_Comm>(comm_keyval);
}

Status comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  LAPWING_TRY(check_writable(comm_keyval));
  return set_attribute(comm, *resolve(comm), comm_keyval, attribute_val);
}

Status comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  if (!is_predefined_keyval(comm_keyval))
    return get_attribute<MPI_Comm>(*resolve(comm), comm_keyval, attribute_val, flag);
  int* value = predefined_attribute(comm_keyval);
  *flag = value != nullptr;
  if (value != nullptr) *static_cast<int**>(attribute_val) = value;
  return {};
}

Status comm_delete_attr(MPI_Comm comm, int comm_keyval) {
  LAPWING_TRY(check_writable(comm_keyval));
  return delete_attribute(comm, *resolve(comm), comm_keyval);
}

Status type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                          MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval, void* extra_state) {
  *type_keyval = table<MPI_Datatype>().create(type_copy_attr_fn, type_delete_attr_fn, extra_state);
  return {};
}

Status type_free_keyval(int* type_keyval) {
  return free_keyval<MPI_Datatype>(type_keyval);
}

Status type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  return set_attribute(datatype, *datatype::resolve(datatype), type_keyval, attribute_val);
}

Status type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  return get_attribute<MPI_Datatype>(*datatype::resolve(datatype), type_keyval, attribute_val, flag);
}

Status type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  return delete_attribute(datatype, *datatype::resolve(datatype), type_keyval);
}

Status win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn, MPI_Win_delete_attr_function* win_delete_attr_fn,
                         int* win_keyval, void* extra_state) {
  *win_keyval = table<MPI_Win>().create(win_copy_attr_fn, win_delete_attr_fn, extra_state);
  return {};
}

Status win_free_keyval(int* win_keyval) {
  return free_keyval<MPI_Win>(win_keyval);
}

Status keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval, void* extra_state) {
  return comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

Status keyval_free(int* keyval) {
  return comm_free_keyval(keyval);
}

Status attr_put(MPI_Comm comm, int keyval, void* attribute_val) {
  return comm_set_attr(comm, keyval, attribute_val);
}

Status attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return comm_get_attr(comm, keyval, attribute_val, flag);
}

Status attr_delete(MPI_Comm comm, int keyval) {
  return comm_delete_attr(comm, keyval);
}

}  // namespace lapwing::mpi
