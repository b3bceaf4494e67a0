#include "datatype/signature.h"

#include <algorithm>
#include <utility>

#include "datatype/basic_type.h"

namespace lapwing::datatype {
namespace {

// A list this short is copied when repeated; a longer one is shared.
constexpr std::size_t kCopyLimit = 4;

void add(Signature& signature, const SignatureItem& item, std::uint64_t external_bytes) {
  if (item.basic != nullptr && !signature.items.empty() && signature.items.back().basic == item.basic) {
    SignatureItem& last = signature.items.back();
    last.count += item.count;
    last.bytes += item.bytes;
    last.elements += item.elements;
  } else {
    signature.items.push_back(item);
  }
  signature.iteration_bytes += item.bytes;
  signature.iteration_elements += item.elements;
  signature.external_bytes += external_bytes;
}

SignatureItem basic_item(const BasicType& basic, std::uint64_t count) {
  return {&basic, nullptr, count, count * basic.size, count};
}

void append_child(Signature& parent, const SignaturePtr& child) {
  add(parent, {nullptr, child.get(), 1, child->bytes(), child->elements()}, child->external_bytes);
  if (parent.children.empty() || parent.children.back() != child) parent.children.push_back(child);
}

bool is_single_basic(const Signature& signature) {
  return signature.repeat == 1 && signature.items.size() == 1 && signature.items[0].basic != nullptr;
}

}  // namespace

SignaturePtr basic_signature(const BasicType& basic) {
  auto signature = std::make_shared<Signature>();
  add(*signature, basic_item(basic, 1), basic.external_size);
  return signature;
}

SignaturePtr repeated(const SignaturePtr& signature, std::uint64_t count) {
  if (count == 1 || signature->items.empty()) return signature;
  auto result = std::make_shared<Signature>();
  if (count == 0) return result;
  if (is_single_basic(*signature)) {
    const SignatureItem& item = signature->items[0];
    add(*result, basic_item(*item.basic, item.count * count), signature->external_bytes * count);
  } else if (signature->items.size() <= kCopyLimit) {
    *result = *signature;
    result->repeat *= count;
    result->external_bytes *= count;
  } else {
    append_child(*result, signature);
    result->repeat = count;
    result->external_bytes *= count;
  }
  return result;
}

void SignatureList::append(const SignaturePtr& signature, std::uint64_t count) {
  const SignaturePtr block = repeated(signature, count);
  if (block->items.empty()) return;
  if (block->repeat == 1 && block->items.size() <= kCopyLimit) {
    // The external size belongs to the whole block: hand it over with the first item.
    std::uint64_t external = block->external_bytes;
    for (const SignatureItem& item : block->items) add(*result_, item, std::exchange(external, 0));
    result_->children.insert(result_->children.end(), block->children.begin(), block->children.end());
  } else {
    append_child(*result_, block);
  }
}

SignaturePtr SignatureList::finish() {
  return std::exchange(result_, std::make_shared<Signature>());
}

std::uint64_t elements_in(const Signature& signature, std::uint64_t bytes, std::uint64_t* rest) noexcept {
  *rest = bytes;
  if (signature.iteration_bytes == 0) return 0;
  std::uint64_t elements = bytes / signature.iteration_bytes * signature.iteration_elements;
  bytes %= signature.iteration_bytes;
  *rest = bytes;
  for (const SignatureItem& item : signature.items) {
    if (bytes < item.bytes) {
      if (item.nested != nullptr) return elements + elements_in(*item.nested, bytes, rest);
      *rest = bytes % item.basic->size;
      return elements + bytes / item.basic->size;
    }
    elements += item.elements;
    bytes -= item.bytes;
  }
  return elements;
}

std::uint64_t bytes_of(const Signature& signature, std::uint64_t elements) noexcept {
  if (signature.iteration_elements == 0) return 0;
  std::uint64_t bytes = elements / signature.iteration_elements * signature.iteration_bytes;
  elements %= signature.iteration_elements;
  for (const SignatureItem& item : signature.items) {
    if (elements < item.elements) {
      return bytes + (item.nested ? bytes_of(*item.nested, elements) : elements * item.basic->size);
    }
    elements -= item.elements;
    bytes += item.bytes;
  }
  return bytes;
}

}  // namespace lapwing::datatype
