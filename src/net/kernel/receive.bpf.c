// The program in the kernel: a verdict on each packet of the sockets of a map (area.h). It runs where packets arrive, which on loopback is the
// sender's core. The loader gives the maps.
//
// A program without a stream parser, so that a frame need not fit the socket's buffer.
#include <linux/bpf.h>

static long (*const bpf_skb_load_bytes)(const void* packet, __u32 offset, void* to,
                                        __u32 bytes) = (void*)BPF_FUNC_skb_load_bytes;
static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static __u64 (*const bpf_get_socket_cookie)(void* packet) = (void*)BPF_FUNC_get_socket_cookie;

#define inline inline __attribute__((always_inline))
#define LAPWING_PACKET struct __sk_buff*
#define LAPWING_UNROLLED _Pragma("unroll")
#include "area.h"

static inline int load(struct __sk_buff* packet, Half offset, void* to, Half bytes) {
  return (int)bpf_skb_load_bytes(packet, offset, to, bytes);
}

struct bpf_map {
  int unused;
};
struct bpf_map areas __attribute__((section("maps")));    // array of ConnectionArea
struct bpf_map indices __attribute__((section("maps")));  // hash: a socket's cookie to its index in `areas`
struct bpf_map zone __attribute__((section("maps")));     // array of ZoneBlock

static inline struct ZoneBlock* zone_block(Half index) {
  return bpf_map_lookup_elem(&zone, &index);
}

__attribute__((section("sk_skb/verdict"))) int verdict(struct __sk_buff* packet) {
  const Word cookie = bpf_get_socket_cookie(packet);
  const Half* index = bpf_map_lookup_elem(&indices, &cookie);
  if (index == 0) return SK_PASS;
  struct ConnectionArea* area = bpf_map_lookup_elem(&areas, index);
  if (area == 0) return SK_PASS;
  return judge(area, packet, packet->len, packet->cb[0]) ? SK_DROP : SK_PASS;
}

char program_license[] __attribute__((section("license"))) = "Dual BSD/GPL";
