/* What the program in the kernel (steer.bpf.c) and its loader (steering.cc) both read; C, for both. */
#ifndef LAPWING_NET_ETHER_STEERING_MAPS_H
#define LAPWING_NET_ETHER_STEERING_MAPS_H

#include <linux/types.h>

/* One endpoint: a receive queue of an interface that a rank has taken. All of it is 0 where no rank has. */
struct endpoint {
  __u64 tag;        /* of its job and rank, in the byte order of the wire */
  __u32 address;    /* IPv4; this and what follows in the byte order of the network */
  __u16 ether_type; /* of packets straight on Ethernet; 0: it takes none */
  __u16 port;       /* of UDP at this address; 0: it takes no datagrams */
};

enum { LAPWING_MOST_QUEUES = 256 };

#endif
