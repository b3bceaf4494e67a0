/* What the program in the kernel (steer.bpf.c) and its loader (steering.cc) both read; C, for both. */
#ifndef LAPWING_NET_ETHER_STEERING_MAPS_H
#define LAPWING_NET_ETHER_STEERING_MAPS_H

#include <linux/types.h>

/* One endpoint: a rank's place behind a receive queue of an interface. The rank that has queue N for itself, or is the first of those that share it, has
   number N; the others have numbers that are N modulo the number of queues. All of it is 0 where there is no rank. */
struct endpoint {
  __u64 tag;        /* of its job and rank, in the byte order of the wire */
  __u32 address;    /* IPv4; in the byte order of the network, as the next two */
  __u16 ether_type; /* of packets straight on Ethernet; 0: it takes none */
  __u16 port;       /* of UDP at this address; 0: it takes no datagrams */
  __u32 queue;      /* that its packets come in by */
  /* What the first rank of a queue offers the others of its job (shared_queue.h); the program in the kernel does not look at it. */
  __u32 process;
  __u64 job;        /* 0: it offers nothing */
  __u64 cookie;     /* of its socket */
  __s32 socket, memory; /* its descriptors */
};

enum { LAPWING_MOST_ENDPOINTS = 256 };

#endif
