#include "datatype/construct.h"

#include <unordered_map>

#include "datatype/construct_detail.h"

namespace lapwing::datatype {
namespace {

// The layouts of blocks of one type, each block length built once.
class BlockLayouts {
 public:
  explicit BlockLayouts(const Datatype& type) : type_(type) {}

  const Layout& of(std::int64_t length) {
    if (length == last_length_) return last_;
    last_length_ = length;
    last_ = type_.contiguous() ? repeated(length) : known(length);
    return last_;
  }

 private:
  Layout repeated(std::int64_t length) const { return type_.layout().repeated(length, type_.extent()); }
  const Layout& known(std::int64_t length) {
    auto [entry, inserted] = known_.try_emplace(length);
    if (inserted) entry->second = repeated(length);
    return entry->second;
  }

  const Datatype& type_;
  std::unordered_map<std::int64_t, Layout> known_;
  std::int64_t last_length_ = -1;
  Layout last_;
};

Status strided(std::int64_t count, std::int64_t block_length, std::int64_t stride, Datatype& old_type,
               ContentsRecorder& recorder, Datatype** result) {
  Description description;
  BoundsCollector bounds;
  LAPWING_TRY(check_bytes(Int128{count} * block_length * old_type.size()));
  // The outermost blocks decide.
  if (count > 0) bounds.add_block(0, block_length, old_type);
  if (count > 1) bounds.add_block(Int128{count - 1} * stride, block_length, old_type);
  LAPWING_TRY(bounds.finish(&description.bounds, &description.alignment));
  const Layout block = old_type.layout().repeated(block_length, old_type.extent());
  description.layout = block.repeated(count, stride);
  description.signature = repeated(old_type.signature(), static_cast<std::uint64_t>(count) * block_length);
  description.contents = recorder.type(old_type).finish();
  *result = new Datatype(std::move(description));
  return {};
}

// Blocks of one type: `length(i)` elements at byte `displacement(i)`.
template <typename Length, typename Displacement>
Status blocks(std::int64_t count, Length length, Displacement displacement, Datatype& old_type,
              ContentsRecorder& recorder, Datatype** result) {
  Description description;
  BoundsCollector bounds;
  LayoutList list;
  BlockLayouts layouts(old_type);
  Int128 elements = 0;
  for (std::int64_t i = 0; i < count; ++i) bounds.add_block(displacement(i), length(i), old_type);
  LAPWING_TRY(bounds.finish(&description.bounds, &description.alignment));
  list.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    list.append(layouts.of(length(i)), static_cast<std::int64_t>(displacement(i)));
    elements += length(i);
  }
  description.layout = list.finish();
  description.signature = repeated(old_type.signature(), static_cast<std::uint64_t>(elements));
  description.contents = recorder.type(old_type).finish();
  *result = new Datatype(std::move(description));
  return {};
}

}  // namespace

Status make_contiguous(std::int64_t count, Datatype& old_type, Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_CONTIGUOUS, large_form);
  return strided(1, count, 0, old_type, recorder.count(count), result);
}

Status make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride_elements, Datatype& old_type,
                   Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_VECTOR, large_form);
  recorder.count(count).count(block_length).count(stride_elements);
  const Int128 stride = Int128{stride_elements} * old_type.extent();
  LAPWING_TRY(check_bytes(stride));
  return strided(count, block_length, static_cast<std::int64_t>(stride), old_type, recorder, result);
}

Status make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride, Datatype& old_type,
                    Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_HVECTOR, large_form);
  recorder.count(count).count(block_length).address(stride);
  return strided(count, block_length, stride, old_type, recorder, result);
}

Status make_indexed(std::int64_t count, CountArray block_lengths, CountArray displacements, Datatype& old_type,
                    Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_INDEXED, large_form);
  recorder.count(count).counts(block_lengths, count).counts(displacements, count);
  const auto displacement = [&](std::int64_t i) { return Int128{displacements[i]} * old_type.extent(); };
  return blocks(
      count, [&](std::int64_t i) { return block_lengths[i]; }, displacement, old_type, recorder, result);
}

Status make_hindexed(std::int64_t count, CountArray block_lengths, CountArray displacements, Datatype& old_type,
                     Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_HINDEXED, large_form);
  recorder.count(count).counts(block_lengths, count).addresses(displacements, count);
  const auto displacement = [&](std::int64_t i) { return Int128{displacements[i]}; };
  return blocks(
      count, [&](std::int64_t i) { return block_lengths[i]; }, displacement, old_type, recorder, result);
}

Status make_indexed_block(std::int64_t count, std::int64_t block_length, CountArray displacements, Datatype& old_type,
                          Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_INDEXED_BLOCK, large_form);
  recorder.count(count).count(block_length).counts(displacements, count);
  const auto displacement = [&](std::int64_t i) { return Int128{displacements[i]} * old_type.extent(); };
  return blocks(
      count, [&](std::int64_t) { return block_length; }, displacement, old_type, recorder, result);
}

Status make_hindexed_block(std::int64_t count, std::int64_t block_length, CountArray displacements, Datatype& old_type,
                           Datatype** result, bool large_form) {
  ContentsRecorder recorder(MPI_COMBINER_HINDEXED_BLOCK, large_form);
  recorder.count(count).count(block_length).addresses(displacements, count);
  const auto displacement = [&](std::int64_t i) { return Int128{displacements[i]}; };
  return blocks(
      count, [&](std::int64_t) { return block_length; }, displacement, old_type, recorder, result);
}

Status make_struct(std::int64_t count, CountArray block_lengths, CountArray displacements,
                   const MPI_Datatype* old_types, Datatype** result, bool large_form) {
  Description description;
  ContentsRecorder recorder(MPI_COMBINER_STRUCT, large_form);
  recorder.count(count).counts(block_lengths, count).addresses(displacements, count);
  BoundsCollector bounds;
  LayoutList list;
  SignatureList signature;
  for (std::int64_t i = 0; i < count; ++i) {
    Datatype* type = resolve(old_types[i]);
    if (type == nullptr) {
      return Status::error(MPI_ERR_TYPE, "Entry %lld of array_of_types is not a valid datatype",
                           static_cast<long long>(i));
    }
    bounds.add_block(displacements[i], block_lengths[i], *type);
    recorder.type(*type);
  }
  LAPWING_TRY(bounds.finish(&description.bounds, &description.alignment));
  for (std::int64_t i = 0; i < count; ++i) {
    const Datatype& type = *resolve(old_types[i]);
    list.append(type.layout().repeated(block_lengths[i], type.extent()), displacements[i]);
    signature.append(type.signature(), block_lengths[i]);
  }
  description.layout = list.finish();
  description.signature = signature.finish();
  description.contents = recorder.finish();
  *result = new Datatype(std::move(description));
  return {};
}

Status make_resized(Datatype& old_type, std::int64_t lb, std::int64_t extent, Datatype** result, bool large_form) {
  LAPWING_TRY(check_bytes(Int128{lb} + extent));
  Description description;
  description.layout = old_type.layout();
  description.signature = old_type.signature();
  description.bounds = {lb, lb + extent, true, true};
  description.alignment = old_type.alignment();
  description.contents =
      ContentsRecorder(MPI_COMBINER_RESIZED, large_form).address(lb).address(extent).type(old_type).finish();
  *result = new Datatype(std::move(description));
  return {};
}

Status make_dup(Datatype& old_type, Datatype** result) {
  Description description;
  description.layout = old_type.layout();
  description.signature = old_type.signature();
  description.bounds = old_type.bounds();
  description.alignment = old_type.alignment();
  description.contents = ContentsRecorder(MPI_COMBINER_DUP, false).type(old_type).finish();
  *result = new Datatype(std::move(description));
  if (old_type.committed()) (*result)->commit();
  return {};
}

}  // namespace lapwing::datatype
