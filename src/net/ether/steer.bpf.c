// The program in the kernel that sees what an interface receives (steering.h): packets of this library for an endpoint that is there go to its socket, those
// that are not for its job are dropped, and everything else passes.
//
//   frame                                  endpoint of its queue                      verdict
//   of another EtherType                                                              passes
//   of ours, for another queue or tag                                                 dropped: a stranger's, or the NIC has put it into the wrong queue
//   of ours                                its process lives                          to its socket
//   ... a probe                            lives; has ended                           answered with present; with gone
//
// It answers probes by itself, so that a process that computes, or is stopped by a debugger, is not taken for one that has gone.
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include "steering_maps.h"

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static long (*const bpf_redirect_map)(void* map, __u64 key, __u64 otherwise) = (void*)BPF_FUNC_redirect_map;

struct bpf_map {
  int unused;
};
struct bpf_map endpoints __attribute__((section("maps")));  // array of struct endpoint, by receive queue
struct bpf_map sockets __attribute__((section("maps")));    // xskmap, by receive queue

// wire/packet.h has the format; the numbers of its kinds are pinned there by a test.
enum { kVersion = 1, kProbe = 3, kPresent = 4, kGone = 5 };
struct address {
  __u16 endpoint;
  __u32 source;
  __u64 tag;
} __attribute__((packed));
struct packet {
  struct ethhdr ethernet;
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

static inline __attribute__((always_inline)) int answer(struct probe* probe, int lives) {
  const struct address to = probe->packet.to;
  for (int i = 0; i < ETH_ALEN; ++i) {
    const __u8 byte = probe->packet.ethernet.h_dest[i];
    probe->packet.ethernet.h_dest[i] = probe->packet.ethernet.h_source[i];
    probe->packet.ethernet.h_source[i] = byte;
  }
  probe->packet.kind = lives ? kPresent : kGone;
  probe->packet.to.endpoint = probe->endpoint;
  probe->packet.to.source = probe->source;
  probe->packet.to.tag = probe->tag;
  probe->endpoint = to.endpoint;
  probe->source = to.source;
  probe->tag = to.tag;
  return XDP_TX;
}

__attribute__((section("xdp"))) int steer(struct xdp_md* context) {
  void* const end = (void*)(long)context->data_end;
  struct packet* const packet = (void*)(long)context->data;
  const __u32 queue = context->rx_queue_index;
  if ((void*)(packet + 1) > end) return XDP_PASS;
  const struct endpoint* const endpoint = bpf_map_lookup_elem(&endpoints, &queue);
  if (endpoint == 0 || packet->ethernet.h_proto != endpoint->ether_type) return XDP_PASS;
  if (packet->version != kVersion || packet->to.endpoint != queue || packet->to.tag != endpoint->tag) return XDP_DROP;
  if (packet->kind != kProbe) return (int)bpf_redirect_map(&sockets, queue, XDP_DROP);
  struct probe* const probe = (struct probe*)packet;
  if ((void*)(probe + 1) > end) return XDP_DROP;
  return answer(probe, bpf_map_lookup_elem(&sockets, &queue) != 0);
}

char program_license[] __attribute__((section("license"))) = "Dual BSD/GPL";
