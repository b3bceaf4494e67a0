// Of the programs in the kernel, the part that is for packets of which the front has come before (area.h, Bytes that come twice). Compiled for the
// kernel (overlap.bpf.c) and for the tests, which include area.h before.
#ifndef LAPWING_NET_KERNEL_OVERLAP_H
#define LAPWING_NET_KERNEL_OVERLAP_H

#ifdef __cplusplus
namespace lapwing::net::kernel {
#endif

enum { kMostCutAtOnce = 0xfff };  // by the kernel

// Packet and this function are the includer's. 0: so many bytes of its front are gone. Otherwise it is as before.
static inline int cut_front(LAPWING_PACKET packet, Half bytes);

// 1: some of what has come before has been cut off, and more has to be (Linux lets a program call others 33 times, which is enough for 64 KiB).
// Otherwise that was all, or it cannot be done: then the rest is for pass_on_new().
static inline int cut_some(struct ConnectionArea* area, LAPWING_PACKET packet) {
  const Half twice = (Half)area->twice;
  Half some = kMostCutAtOnce;
  if (twice < some) some = twice;
  if (cut_front(packet, some) != 0) return 0;
  area->twice = twice - some;
  return twice != some;
}

// A packet after cut_some(), as long as it is now. Where not all could be cut off, the connection is torn.
static inline void pass_on_new(struct ConnectionArea* area, Half length) {
  if (area->twice != 0) return tear(area, length);
  begin_packet(area);
  area->cut += 1;
  pass_on(area, length);
  end_packet(area);
}

#ifdef __cplusplus
}  // namespace lapwing::net::kernel
#endif
#endif
