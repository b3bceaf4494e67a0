// The program in the kernel that sees what an interface receives (steering.h): packets of this library for an endpoint that is there go to its
// socket, and everything else passes. They come straight on Ethernet, or as UDP datagrams over IPv4 (wire/encapsulation.h).
//
//   frame                                          endpoint that it names             verdict
//   of another EtherType, address or port                                             passes
//   of our EtherType, for another queue or tag                                        dropped: a stranger's, or the NIC has put it into the wrong queue
//   of our port, for another queue or tag                                             passes: a port may be another program's as well
//   of ours                                        its process lives                  to its socket
//   ... a probe                                    lives; has ended                   answered with present; with gone
//
// It answers probes by itself, so that a process that computes, or is stopped by a debugger, is not taken for one that has gone.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include "steering_maps.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static long (*const bpf_redirect_map)(void* map, __u64 key, __u64 otherwise) = (void*)BPF_FUNC_redirect_map;

struct bpf_map {
  int unused;
};
struct bpf_map endpoints __attribute__((section("maps")));  // array of struct endpoint, by its number
struct bpf_map sockets __attribute__((section("maps")));    // xskmap, by the endpoint's number

// wire/packet.h has the format; the numbers of its kinds are pinned there by a test.
enum { kVersion = 1, kProbe = 3, kPresent = 4, kGone = 5 };
struct address {
  __u16 endpoint;
  __u32 source;
  __u64 tag;
} __attribute__((packed));
struct packet {
  __u8 version, kind;
  struct address to;
  __u32 number, acknowledged, credit;
  __u16 bytes;
  __u8 flags, reserved;
  __u32 transmission, heard;
} __attribute__((packed));
struct probe {
  struct packet packet;
  __u16 endpoint, reserved;
  __u32 source;
  __u64 tag;
} __attribute__((packed));
struct datagram {
  struct ethhdr ethernet;
  struct iphdr ip;
  struct udphdr udp;
  struct packet packet;
} __attribute__((packed));

// A number in the byte order of the network.
#define NETWORK_ORDER(number) __builtin_bswap16(number)

static inline __attribute__((always_inline)) void turn_frame(struct ethhdr* ethernet) {
  for (int i = 0; i < ETH_ALEN; ++i) {
    const __u8 byte = ethernet->h_dest[i];
    ethernet->h_dest[i] = ethernet->h_source[i];
    ethernet->h_source[i] = byte;
  }
}

// The IPv4 header's checksum stays right, because it is a sum of the same words. So does the time to live: there are as many routers on the way back.
static inline __attribute__((always_inline)) void turn_datagram(struct datagram* datagram) {
  const __u32 address = datagram->ip.daddr;
  datagram->ip.daddr = datagram->ip.saddr;
  datagram->ip.saddr = address;
  const __u16 port = datagram->udp.dest;
  datagram->udp.dest = datagram->udp.source;
  datagram->udp.source = port;
  datagram->udp.check = 0;  // there is none
}

static inline __attribute__((always_inline)) void answer(struct probe* probe, int lives) {
  const struct address to = probe->packet.to;
  probe->packet.kind = lives ? kPresent : kGone;
  probe->packet.to.endpoint = probe->endpoint;
  probe->packet.to.source = probe->source;
  probe->packet.to.tag = probe->tag;
  probe->endpoint = to.endpoint;
  probe->source = to.source;
  probe->tag = to.tag;
}

static inline __attribute__((always_inline)) const struct endpoint* endpoint_of(const struct packet* packet) {
  const __u32 number = packet->to.endpoint;
  return bpf_map_lookup_elem(&endpoints, &number);
}

static inline __attribute__((always_inline)) int is_for(const struct packet* packet, __u32 queue, const struct endpoint* endpoint) {
  return packet->version == kVersion && endpoint->queue == queue && packet->to.tag == endpoint->tag;
}

// A fragment has no ports, and none of ours is one.
static inline __attribute__((always_inline)) int has_port(const struct datagram* datagram, const struct endpoint* endpoint) {
  return endpoint->port != 0 && datagram->ip.version == 4 && datagram->ip.ihl == 5 &&
         datagram->ip.protocol == IPPROTO_UDP && (datagram->ip.frag_off & NETWORK_ORDER(0x3fff)) == 0 && datagram->ip.daddr == endpoint->address &&
         datagram->udp.dest == endpoint->port;
}

static inline __attribute__((always_inline)) int take(struct packet* packet, void* end, struct ethhdr* ethernet, struct datagram* datagram) {
  const __u32 number = packet->to.endpoint;
  if (packet->kind != kProbe) return (int)bpf_redirect_map(&sockets, number, XDP_DROP);
  struct probe* const probe = (struct probe*)packet;
  if ((void*)(probe + 1) > end) return XDP_DROP;
  answer(probe, bpf_map_lookup_elem(&sockets, &number) != 0);
  turn_frame(ethernet);
  if (datagram) turn_datagram(datagram);
  return XDP_TX;
}

static inline __attribute__((always_inline)) int steer_datagram(struct datagram* datagram, void* end, __u32 queue) {
  if ((void*)(datagram + 1) > end) return XDP_PASS;
  const struct endpoint* const endpoint = endpoint_of(&datagram->packet);
  if (endpoint == 0 || !has_port(datagram, endpoint) || !is_for(&datagram->packet, queue, endpoint)) return XDP_PASS;
  return take(&datagram->packet, end, &datagram->ethernet, datagram);
}

__attribute__((section("xdp"))) int steer(struct xdp_md* context) {
  void* const end = (void*)(long)context->data_end;
  struct ethhdr* const ethernet = (void*)(long)context->data;
  struct packet* const packet = (void*)(ethernet + 1);
  const __u32 queue = context->rx_queue_index;
  if ((void*)(packet + 1) > end) return XDP_PASS;
  if (ethernet->h_proto == NETWORK_ORDER(ETH_P_IP)) return steer_datagram((struct datagram*)ethernet, end, queue);
  const struct endpoint* const endpoint = endpoint_of(packet);
  if (endpoint == 0 || endpoint->ether_type == 0 || ethernet->h_proto != endpoint->ether_type) return XDP_PASS;
  return is_for(packet, queue, endpoint) ? take(packet, end, ethernet, 0) : XDP_DROP;
}

char program_license[] __attribute__((section("license"))) = "Dual BSD/GPL";
