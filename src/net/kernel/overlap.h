// Of the programs in the kernel, the part that is for packets of which the front has come before (area.h, Bytes that come twice). Compiled for the
// kernel (overlap.bpf.c) and for the tests, where area.h is included before.
#ifndef LAPWING_NET_KERNEL_OVERLAP_H
#define LAPWING_NET_KERNEL_OVERLAP_H

#ifdef __cplusplus
#include "net/kernel/area.h"
namespace lapwing::net::kernel {
#endif
#ifdef LAPWING_PACKET

enum { kMostCutAtOnce = 0xfff, kCuts = 8 };  // the first is the kernel's

// Packet and this function are the includer's. 0: so many bytes of its front, perhaps none, are gone. Otherwise it is as before.
static inline int cut_front(LAPWING_PACKET packet, Half bytes);

// Without a branch, each of which would make the proof without CAP_PERFMON longer.
static inline Half at_most(Half value, Half most) {
  const Half beyond = value - most, is_beyond = (Half)((int)(most - value) >> 31);
  return value - (beyond & is_beyond);
}

// 1: some of what has come before has been cut off, and more has to be: packets that TCP has put together were seen to overlap by 256 KiB, and Linux
// lets a program call others 33 times. Otherwise that was all, or it cannot be done: then the rest is for pass_on_new().
static inline int cut_some(struct ConnectionArea* area, LAPWING_PACKET packet) {
  Half twice = (Half)area->twice;
  int failed = 0;
  LAPWING_UNROLLED
  for (int i = 0; i < kCuts; ++i) {
    const Half some = at_most(twice, kMostCutAtOnce);
    failed |= cut_front(packet, some);
    twice -= some;
  }
  area->twice = failed ? 1 : twice;
  return !failed && twice != 0;
}

// A packet after cut_some(), as long as it is now. Where not all could be cut off, the connection is torn.
static inline void pass_on_new(struct ConnectionArea* area, Half length) {
  if (area->twice != 0) return tear(area, length);
  begin_packet(area);
  area->cut += 1;
  pass_on(area, length);
  end_packet(area);
}

#endif
#ifdef __cplusplus
}  // namespace lapwing::net::kernel
#endif
#endif
