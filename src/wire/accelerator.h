// What a rank and the service `lapwing accelerator` (launch/accelerator/) say to each other over a local socket that keeps messages apart
// (SOCK_SEQPACKET). The rank asks, the service answers each request once, in order; descriptors travel beside the bytes.
//
//   magic u32, version u16, kind u16, and by kind:
//     hello    purpose u32, connections u32, fingerprint u64, zone bytes u64    first, once; answered with the zone
//     load                                                                      second, once; answered with the areas, the keeper and the notices
//     join     index u32                                                        with one socket
//     leave    index u32                                                        another socket may take the place of the one that has joined
//     way      index u32                                                        of one that has joined: with the socket for answers, which stays
//     forget   index u32                                                        both sockets
//     memory                                                                    raw Ethernet: second, once; with a memfd, answered with a socket
//     bind     interface u32, queue u32, ether type u32, address u32,           answered with the program's attachment, or kQueueTaken; once granted
//              port u32, tag u64, network namespace u64, in pieces u32
//     answer   granted u16, descriptors u16, then a text for a person, to the end: why not
//
// All little-endian. A request has exactly the length of its kind; an answer is bounded. A message that breaks a rule ends the connection, with an
// answer that says which rule. The first 8 bytes and the answer are the same in all versions, so that each side can say what the other speaks.
//
// A purpose has requests of its own: receive in the kernel (net/kernel/) has load, join, leave, way and forget, raw Ethernet (net/ether/)
// memory, bind, and leave with its queue. In a hello of raw Ethernet `connections` is 1 and `zone bytes` those of the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace lapwing::wire {

constexpr std::uint16_t kAcceleratorVersion = 3;

struct AcceleratorRequest {
  enum class Kind : std::uint16_t { kHello = 1, kLoad = 2, kJoin = 3, kLeave = 4, kMemory = 5, kBind = 6, kWay = 7, kForget = 8 };
  static constexpr std::size_t kMaxBytes = 48;
  enum : std::uint32_t { kReceive = 1, kEther = 2 };  // purposes

  Kind kind = Kind::kHello;
  std::uint32_t purpose = kReceive;
  std::uint32_t connections = 0;
  std::uint64_t fingerprint = 0;  // of the program that the rank shares memory with
  std::uint64_t zone_bytes = 0;
  std::uint32_t index = 0;  // of a connection; of a queue
  std::uint32_t interface = 0;
  std::uint32_t ether_type = 0;  // 0: no packets come straight on Ethernet
  std::uint32_t address = 0;     // IPv4, as a number
  std::uint32_t port = 0;        // of UDP there, for queue 0; 0: no datagrams come
  std::uint64_t tag = 0;
  std::uint32_t in_pieces = 0;  // 1: packets of several chunks as well (net/ether/packet_socket.h)
  std::uint64_t network = 0;  // SO_NETNS_COOKIE, by which the rank and the service know that they mean the same interface

  std::string encode() const;
  // On an error `request` is as it was.
  static Status decode(std::string_view message, AcceleratorRequest& request);
  // How many come with it.
  std::size_t descriptors() const noexcept { return kind == Kind::kJoin || kind == Kind::kMemory || kind == Kind::kWay ? 1 : 0; }
};

struct AcceleratorAnswer {
  static constexpr std::size_t kMaxText = 480;
  static constexpr std::size_t kMaxBytes = 12 + kMaxText;
  static constexpr std::size_t kMaxDescriptors = 4;
  static constexpr const char* kQueueTaken = "another socket has this receive queue";  // a text

  bool granted = false;
  std::uint16_t descriptors = 0;  // that come with it
  std::string text;               // in one line; what is too long is cut off

  std::string encode() const;
  // On an error `answer` is as it was.
  static Status decode(std::string_view message, AcceleratorAnswer& answer);
};

}  // namespace lapwing::wire
