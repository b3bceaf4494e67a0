// Attributes of netlink messages.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lapwing::net::ether {

// Of a nest of attributes, the one of this type; null: none.
inline const rtattr* find_attribute(const rtattr* attribute, std::size_t bytes, unsigned type) noexcept {
  auto left = static_cast<int>(bytes);
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if ((attribute->rta_type & NLA_TYPE_MASK) == type) return attribute;
  }
  return nullptr;
}

template <typename Value>
bool read_attribute(const rtattr* attribute, Value& value) noexcept {
  if (attribute == nullptr || RTA_PAYLOAD(attribute) < sizeof value) return false;
  std::memcpy(&value, RTA_DATA(attribute), sizeof value);
  return true;
}

}  // namespace lapwing::net::ether
