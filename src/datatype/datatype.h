// Datatypes: the description a user's handle stands for.
//
// A datatype is immutable after construction except for its commit flag, name and attributes. It is shared by reference
// count: the user's handle holds one reference, every operation in flight and every type derived from it hold others,
// so MPI_Type_free never pulls a layout away from under a message.
//
// Any thread may read; construction and the last release happen on application threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/object.h"
#include "base/status.h"
#include "datatype/element.h"
#include "datatype/layout.h"
#include "datatype/signature.h"
#include "mpi.h"

namespace lapwing::datatype {

class Datatype;

// What rooms above hang on a datatype (attributes); destroyed with it.
class Extras {
 public:
  virtual ~Extras() = default;
};

// The call that made a type, as MPI_Type_get_envelope and MPI_Type_get_contents report it.
// The datatype owns a reference to each entry of `datatypes` that is not predefined.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> integers;   // arguments that are int in every form of the constructor
  std::vector<std::int64_t> addresses;  // byte displacements
  std::vector<std::int64_t> counts;     // arguments that are MPI_Count in the large form
  std::vector<Datatype*> datatypes;
};

struct Bounds {
  std::int64_t lb = 0;
  std::int64_t ub = 0;
  bool lb_explicit = false;  // set by MPI_Type_create_resized somewhere below: wins over what the data would give
  bool ub_explicit = false;
};

// What the constructors (construct.cc) fill in.
struct Description {
  Layout layout;
  std::shared_ptr<const Signature> signature;
  Bounds bounds;
  std::int64_t alignment = 1;
  Contents contents;
};

struct PairElements {
  Element value = Element::kNone;
  Element index = Element::kNone;
};

class Datatype final : public Object {
 public:
  // A derived type; takes its own references to the types in `contents`.
  explicit Datatype(Description description);

  std::int64_t size() const noexcept { return size_; }
  std::int64_t lb() const noexcept { return bounds_.lb; }
  std::int64_t ub() const noexcept { return bounds_.ub; }
  std::int64_t extent() const noexcept { return bounds_.ub - bounds_.lb; }
  std::int64_t true_lb() const noexcept { return true_lb_; }
  std::int64_t true_ub() const noexcept { return true_ub_; }
  std::int64_t true_extent() const noexcept { return true_ub_ - true_lb_; }

  bool committed() const noexcept { return committed_; }
  void commit() noexcept { committed_ = true; }
  // No gaps: `count` elements form one block of count * size() bytes that starts at buffer + true_lb().
  bool contiguous() const noexcept { return contiguous_; }
  // Cannot be freed: the named types of the standard and what MPI_Type_create_f90_* and _get_value_index return.
  bool is_predefined() const noexcept { return predefined_; }
  // False for an optional predefined type that this build lacks; MPI_Type_size then says MPI_UNDEFINED.
  bool supported() const noexcept { return supported_; }
  // May describe the data of a message.
  bool usable() const noexcept { return committed_ && supported_; }

  Element element() const noexcept { return element_; }
  Category category() const noexcept { return category_; }
  // Of a pair type: the kinds of its two parts.
  const PairElements& pair() const noexcept { return pair_; }
  std::int64_t alignment() const noexcept { return alignment_; }
  const Bounds& bounds() const noexcept { return bounds_; }
  const Layout& layout() const noexcept { return layout_; }
  const std::shared_ptr<const Signature>& signature() const noexcept { return signature_; }
  const Contents& contents() const noexcept { return contents_; }
  MPI_Datatype handle() const noexcept { return handle_; }

  const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  std::unique_ptr<Extras> extras;  // set and used by src/mpi alone

 private:
  friend class PredefinedBuilder;
  friend void free(Datatype* type) noexcept;
  ~Datatype();

  Layout layout_;
  std::shared_ptr<const Signature> signature_;
  Bounds bounds_;
  std::int64_t size_ = 0;
  std::int64_t true_lb_ = 0;
  std::int64_t true_ub_ = 0;
  std::int64_t alignment_ = 1;
  bool contiguous_ = false;
  bool committed_ = false;
  bool predefined_ = false;
  bool supported_ = true;
  Element element_ = Element::kNone;
  Category category_ = Category::kNone;
  PairElements pair_;
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  std::string name_;
  Contents contents_;
};

// Handles of predefined datatypes, as the standard ABI has them.
inline constexpr std::uintptr_t kFirstPredefined = 0x200, kPredefinedHandles = 0x100;
// By handle, from the first on; null until one of them is resolved for the first time (predefined.cc).
extern std::atomic<Datatype* const*> predefined_types;
Datatype* const* make_predefined_types() noexcept;

// The datatype behind a handle; null when the handle is MPI_DATATYPE_NULL, unknown or freed.
inline Datatype* resolve(MPI_Datatype handle) noexcept {
  if (is_address(handle)) {
    auto* type = reinterpret_cast<Datatype*>(handle);
    return type->kind() == ObjectKind::kDatatype ? type : nullptr;
  }
  const std::uintptr_t index = reinterpret_cast<std::uintptr_t>(handle) - kFirstPredefined;
  if (index >= kPredefinedHandles) return nullptr;
  Datatype* const* types = predefined_types.load(std::memory_order_acquire);
  if (types == nullptr) [[unlikely]]
    types = make_predefined_types();
  return types[index];
}
inline MPI_Datatype handle_of(const Datatype* type) noexcept {
  return type ? type->handle() : MPI_DATATYPE_NULL;
}

// Drops one reference and destroys the type with the last. Predefined types are never destroyed.
void free(Datatype* type) noexcept;

// A shared reference for code that keeps a type while an operation is in flight.
class TypeRef {
 public:
  TypeRef() noexcept = default;
  explicit TypeRef(Datatype& type) noexcept : type_(&type) { retain(); }
  TypeRef(const TypeRef& other) noexcept : type_(other.type_) { retain(); }
  TypeRef(TypeRef&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {}
  TypeRef& operator=(TypeRef other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~TypeRef() {
    if (type_ != nullptr) free(type_);
  }

  Datatype* get() const noexcept { return type_; }
  Datatype& operator*() const noexcept { return *type_; }
  Datatype* operator->() const noexcept { return type_; }
  explicit operator bool() const noexcept { return type_ != nullptr; }

 private:
  void retain() noexcept {
    if (type_ != nullptr && !type_->is_predefined()) type_->retain();
  }
  Datatype* type_ = nullptr;
};

}  // namespace lapwing::datatype
