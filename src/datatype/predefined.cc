// The predefined datatypes: built on first use, never destroyed, found by the value of their handle.
//
// They are constants of the standard, not state of a job, which is why this one table is global.
#include <algorithm>
#include <array>
#include <utility>

#include "datatype/basic_type.h"
#include "datatype/construct.h"
#include "datatype/construct_detail.h"
#include "datatype/datatype.h"

namespace lapwing::datatype {

// The one way to a type that cannot be freed.
class PredefinedBuilder {
 public:
  static Datatype* basic(const BasicType& row) {
    Description description;
    description.layout = Layout::run(0, row.size);
    description.signature = basic_signature(row);
    description.bounds.ub = row.size;
    description.alignment = row.alignment;
    return finish(std::move(description), row.handle, row.name, row.element, row.category);
  }

  static Datatype* pair(const Datatype& value, const Datatype& index, MPI_Datatype handle, const char* name,
                        Contents contents) {
    const std::int64_t second = (value.size() + index.alignment() - 1) / index.alignment() * index.alignment();
    Description description;
    LayoutList list;
    SignatureList signature;
    list.append(value.layout(), 0);
    list.append(index.layout(), second);
    signature.append(value.signature(), 1);
    signature.append(index.signature(), 1);
    description.layout = list.finish();
    description.signature = signature.finish();
    description.alignment = std::max(value.alignment(), index.alignment());
    const std::int64_t end = second + index.size();
    description.bounds.ub = (end + description.alignment - 1) / description.alignment * description.alignment;
    description.contents = std::move(contents);
    Datatype* type = finish(std::move(description), handle, name, Element::kNone, Category::kPair);
    type->pair_ = {value.element(), index.element()};
    return type;
  }

  static Datatype* alias(const Datatype& original, Contents contents) {
    Description description;
    description.layout = original.layout();
    description.signature = original.signature();
    description.bounds = original.bounds();
    description.alignment = original.alignment();
    description.contents = std::move(contents);
    return finish(std::move(description), MPI_DATATYPE_NULL, "", original.element(), original.category());
  }

 private:
  // A null handle stands for the object's own address.
  static Datatype* finish(Description description, MPI_Datatype handle, const char* name, Element element,
                          Category category) {
    auto* type = new Datatype(std::move(description));
    if (handle != MPI_DATATYPE_NULL) type->handle_ = handle;
    type->name_ = name;
    type->element_ = element;
    type->category_ = category;
    type->predefined_ = true;
    type->committed_ = true;
    return type;
  }
};

namespace {

using Table = std::array<Datatype*, kPredefinedHandles>;

Table build_table() {
  Table table{};
  const auto entry = [&](MPI_Datatype handle) -> Datatype*& {
    return table[reinterpret_cast<std::uintptr_t>(handle) - kFirstPredefined];
  };
  const BasicTypeTable basics = basic_types();
  for (std::size_t i = 0; i < basics.count; ++i) {
    entry(basics.rows[i].handle) = PredefinedBuilder::basic(basics.rows[i]);
  }
  const PairTypeTable pairs = pair_types();
  for (std::size_t i = 0; i < pairs.count; ++i) {
    const PairType& row = pairs.rows[i];
    entry(row.handle) = PredefinedBuilder::pair(*entry(row.value), *entry(row.index), row.handle, row.name, {});
  }
  return table;
}

bool is_integer(const Datatype& type) {
  switch (type.category()) {
    case Category::kCInteger:
    case Category::kFortranInteger:
    case Category::kMultiLanguage:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::atomic<Datatype* const*> predefined_types{nullptr};

Datatype* const* make_predefined_types() noexcept {
  static const Table table = build_table();
  predefined_types.store(table.data(), std::memory_order_release);
  return table.data();
}

Datatype* make_fortran_type(MPI_Datatype same_as, int combiner, int precision, int range) {
  ContentsRecorder recorder(combiner, false);
  if (combiner == MPI_COMBINER_F90_INTEGER) {
    recorder.integer(range);
  } else {
    recorder.integer(precision).integer(range);
  }
  return PredefinedBuilder::alias(*resolve(same_as), recorder.finish());
}

Datatype* make_pair_type(Datatype& value_type, Datatype& index_type) {
  const bool has_order = is_integer(value_type) || value_type.category() == Category::kFloatingPoint;
  if (!has_order || !is_integer(index_type)) return nullptr;
  ContentsRecorder recorder(MPI_COMBINER_VALUE_INDEX, false);
  return PredefinedBuilder::pair(value_type, index_type, MPI_DATATYPE_NULL, "",
                                 recorder.type(value_type).type(index_type).finish());
}

}  // namespace lapwing::datatype
