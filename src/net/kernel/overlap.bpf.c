// The program for packets of which the front has come before (area.h, Bytes that come twice), called by that of receive.bpf.c, which has noted how
// much of it, and shares its maps. It calls itself for what the kernel does not cut at once: a loop has too long a proof without CAP_PERFMON.
#include <linux/bpf.h>

static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static __u64 (*const bpf_get_socket_cookie)(void* packet) = (void*)BPF_FUNC_get_socket_cookie;
static long (*const bpf_skb_adjust_room)(void* packet, __s32 bytes, __u32 mode, __u64 flags) = (void*)BPF_FUNC_skb_adjust_room;

static long (*const bpf_ringbuf_output)(void* ring, void* from, __u64 bytes, __u64 flags) = (void*)BPF_FUNC_ringbuf_output;
static long (*const bpf_tail_call)(void* packet, void* programs, __u32 index) = (void*)BPF_FUNC_tail_call;

#define inline inline __attribute__((always_inline))
#include "area.h"
#define LAPWING_UNROLLED _Pragma("unroll")
#define LAPWING_PACKET struct __sk_buff*
#include "overlap.h"

static inline int cut_front(struct __sk_buff* packet, Half bytes) {
  return (int)bpf_skb_adjust_room(packet, -(__s32)bytes, 0, 0);
}

struct bpf_map {
  int unused;
};
struct bpf_map areas __attribute__((section("maps")));  // all as in receive.bpf.c
struct bpf_map indices __attribute__((section("maps")));
struct bpf_map overlaps __attribute__((section("maps")));
struct bpf_map notices __attribute__((section("maps")));

__attribute__((section("sk_skb/overlap"))) int overlap(struct __sk_buff* packet) {
  const Word cookie = bpf_get_socket_cookie(packet);
  const Half* index = bpf_map_lookup_elem(&indices, &cookie);
  if (index == 0) return SK_PASS;
  struct ConnectionArea* area = bpf_map_lookup_elem(&areas, index);
  if (area == 0) return SK_PASS;
  if (cut_some(area, packet)) bpf_tail_call(packet, &overlaps, 0);
  pass_on_new(area, packet->len);
  Word told = *index;
  if (wants_notice(area)) bpf_ringbuf_output(&notices, &told, sizeof told, 0);
  return SK_PASS;
}

char program_license[] __attribute__((section("license"))) = "Dual BSD/GPL";
