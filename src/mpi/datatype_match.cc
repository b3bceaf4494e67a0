// Predefined datatypes found by what they must hold: MPI 5.0, section 19.1.9 (Fortran kinds by precision and range,
// types by class and size) and section 6.9.4 (pairs of value and index).
//
// The unnamed ones are made on demand and live as long as the process: equal arguments yield the same handle, and
// it is never freed. Any thread.
#include <map>
#include <mutex>
#include <tuple>

#include "base/status.h"
#include "datatype/basic_type.h"
#include "datatype/construct.h"
#include "datatype/datatype.h"
#include "mpi/implementation.h"

namespace lapwing::mpi {
namespace {

using datatype::Datatype;

// ---- Fortran kinds.

struct RealKind {
  int digits;
  int range;
  MPI_Datatype real;
  MPI_Datatype complex;
};

// gfortran's kinds. Kind 10, where it exists, is the C long double.
const RealKind kRealKinds[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
#if __LDBL_MANT_DIG__ == 64
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#endif
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

struct IntegerKind {
  int range;
  MPI_Datatype integer;
};

const IntegerKind kIntegerKinds[] = {
    {2, MPI_INTEGER1}, {4, MPI_INTEGER2}, {9, MPI_INTEGER4}, {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

MPI_Datatype fortran_type(MPI_Datatype same_as, int combiner, int precision, int range) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::tuple<int, int, int>, Datatype*>;
  const std::lock_guard lock(mutex);
  Datatype*& type = known[{combiner, precision, range}];
  if (type == nullptr) type = datatype::make_fortran_type(same_as, combiner, precision, range);
  return datatype::handle_of(type);
}

Status find_real_kind(int precision, int range, const RealKind** kind) {
  if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED) {
    return Status::error(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED: one of them must be given");
  }
  for (const RealKind& candidate : kRealKinds) {
    const bool precise = precision == MPI_UNDEFINED || precision <= candidate.digits;
    const bool wide = range == MPI_UNDEFINED || range <= candidate.range;
    if (precise && wide) {
      *kind = &candidate;
      return {};
    }
  }
  if (precision == MPI_UNDEFINED) return Status::error(MPI_ERR_ARG, "no real kind has a decimal exponent range of %d", range);
  if (range == MPI_UNDEFINED) return Status::error(MPI_ERR_ARG, "no real kind has %d decimal digits", precision);
  return Status::error(MPI_ERR_ARG, "no real kind has %d decimal digits and a decimal exponent range of %d", precision, range);
}

// ---- Types by class and size.

struct Match {
  int type_class;
  int size;
  MPI_Datatype type;
};

const Match kMatches[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
    {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
    {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
};

bool is_type_class(int type_class) {
  return type_class == MPI_TYPECLASS_INTEGER || type_class == MPI_TYPECLASS_REAL || type_class == MPI_TYPECLASS_COMPLEX;
}

}  // namespace

Status type_create_f90_integer(int r, MPI_Datatype* newtype) {
  for (const IntegerKind& kind : kIntegerKinds) {
    if (r <= kind.range) {
      *newtype = fortran_type(kind.integer, MPI_COMBINER_F90_INTEGER, 0, r);
      return {};
    }
  }
  return Status::error(MPI_ERR_ARG, "No integer kind has a decimal range of %d", r);
}

Status type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
  const RealKind* kind = nullptr;
  LAPWING_TRY(find_real_kind(p, r, &kind));
  *newtype = fortran_type(kind->real, MPI_COMBINER_F90_REAL, p, r);
  return {};
}

Status type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
  const RealKind* kind = nullptr;
  LAPWING_TRY(find_real_kind(p, r, &kind));
  *newtype = fortran_type(kind->complex, MPI_COMBINER_F90_COMPLEX, p, r);
  return {};
}

Status type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  if (!is_type_class(typeclass)) {
    return Status::error(MPI_ERR_ARG, "typeclass is %d, not MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX", typeclass);
  }
  for (const Match& match : kMatches) {
    if (match.type_class == typeclass && match.size == size) {
      *datatype = match.type;
      return {};
    }
  }
  return Status::error(MPI_ERR_ARG, "No predefined datatype of that class has %d bytes", size);
}

Status type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype* pair_type) {
  const datatype::PairTypeTable named = datatype::pair_types();
  for (std::size_t i = 0; i < named.count; ++i) {
    if (named.rows[i].value == value_type && named.rows[i].index == index_type) {
      *pair_type = named.rows[i].handle;
      return {};
    }
  }
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<MPI_Datatype, MPI_Datatype>, Datatype*>;
  Datatype& value = *datatype::resolve(value_type);
  Datatype& index = *datatype::resolve(index_type);
  const bool has_unnamed_pair = value.is_predefined() && index.is_predefined();
  if (!has_unnamed_pair) {
    *pair_type = MPI_DATATYPE_NULL;
    return {};
  }
  const std::lock_guard lock(mutex);
  Datatype*& type = known[{value_type, index_type}];
  if (type == nullptr) type = datatype::make_pair_type(value, index);
  *pair_type = datatype::handle_of(type);
  return {};
}

}  // namespace lapwing::mpi
