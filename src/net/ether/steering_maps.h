/* What the program in the kernel (steer.bpf.c) and its loader (steering.cc) both read; C, for both. */
#ifndef LAPWING_NET_ETHER_STEERING_MAPS_H
#define LAPWING_NET_ETHER_STEERING_MAPS_H

#include <linux/types.h>

/* One endpoint: a receive queue of an interface that a rank has taken. */
struct endpoint {
  __u64 tag;        /* of its job and rank, in the byte order of the wire */
  __u32 ether_type; /* in the byte order of the network; 0: no rank has taken it */
  __u32 reserved;
};

enum { LAPWING_MOST_QUEUES = 256 };

#endif
