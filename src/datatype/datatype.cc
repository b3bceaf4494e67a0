#include "datatype/datatype.h"

#include <utility>

namespace lapwing::datatype {

Datatype::Datatype(Description description)
    : Object(ObjectKind::kDatatype),
      layout_(std::move(description.layout)),
      signature_(std::move(description.signature)),
      bounds_(description.bounds),
      size_(static_cast<std::int64_t>(layout_.bytes())),
      true_lb_(layout_.low()),
      true_ub_(layout_.high()),
      alignment_(description.alignment),
      contiguous_(size() == 0 || (layout_.single_run() && size() == extent())),
      handle_(reinterpret_cast<MPI_Datatype>(this)),
      contents_(std::move(description.contents)) {
  for (Datatype* component : contents_.datatypes) component->retain();
}

Datatype::~Datatype() {
  for (Datatype* component : contents_.datatypes) free(component);
}

void free(Datatype* type) noexcept {
  if (type->is_predefined()) return;
  if (type->release()) delete type;
}

}  // namespace lapwing::datatype
