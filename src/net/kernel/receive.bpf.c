// The program in the kernel: a verdict on each packet of the sockets of a map (area.h). It runs where packets arrive, which on loopback is the
// sender's core. The loader gives the maps.
//
// A program without a stream parser, so that a frame need not fit the socket's buffer.
#include <linux/bpf.h>

static long (*const bpf_skb_load_bytes)(const void* packet, __u32 offset, void* to,
                                        __u32 bytes) = (void*)BPF_FUNC_skb_load_bytes;
static void* (*const bpf_map_lookup_elem)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;
static __u64 (*const bpf_get_socket_cookie)(void* packet) = (void*)BPF_FUNC_get_socket_cookie;

static long (*const bpf_skb_pull_data)(void* packet, __u32 bytes) = (void*)BPF_FUNC_skb_pull_data;
static long (*const bpf_skb_store_bytes)(void* packet, __u32 offset, const void* from, __u32 bytes,
                                         __u64 flags) = (void*)BPF_FUNC_skb_store_bytes;
static long (*const bpf_ringbuf_output)(void* ring, void* from, __u64 bytes, __u64 flags) = (void*)BPF_FUNC_ringbuf_output;
static long (*const bpf_tail_call)(void* packet, void* programs, __u32 index) = (void*)BPF_FUNC_tail_call;
static long (*const bpf_sk_redirect_map)(void* packet, void* map, __u32 index, __u64 flags) = (void*)BPF_FUNC_sk_redirect_map;

#define inline inline __attribute__((always_inline))
#define LAPWING_PACKET struct __sk_buff*
#define LAPWING_UNROLLED _Pragma("unroll")
#include "area.h"

static inline int load(struct __sk_buff* packet, Half offset, void* to, Half bytes) {
  return (int)bpf_skb_load_bytes(packet, offset, to, bytes);
}

static inline int make_writable(struct __sk_buff* packet, Half bytes) {
  return (int)bpf_skb_pull_data(packet, bytes);
}

struct bpf_map {
  int unused;
};
struct bpf_map areas __attribute__((section("maps")));    // array of ConnectionArea
struct bpf_map indices __attribute__((section("maps")));  // hash: a socket's cookie to its index in `areas`
struct bpf_map zone __attribute__((section("maps")));     // array of ZoneBlock
struct bpf_map answers __attribute__((section("maps")));  // sockets by which requests are answered, as `areas`
struct bpf_map overlaps __attribute__((section("maps")));  // the program of overlap.bpf.c
struct bpf_map notices __attribute__((section("maps")));   // ring buffer: which connection has something to be read

static inline struct ZoneBlock* zone_block(Half index) {
  return bpf_map_lookup_elem(&zone, &index);
}

// What TCP notes of a packet: the sequence numbers of its first byte and behind its last, of which an end of the connection is one; and its flags.
enum { kFin = 1 };
static inline Half sequence(const struct __sk_buff* packet) {
  return packet->cb[0];
}
// The kernel itself has cut nothing.
static inline int is_whole(const struct __sk_buff* packet) {
  return packet->cb[1] - packet->cb[0] == packet->len + (packet->cb[3] & kFin);
}

// Wakes only a process that has heard all that came before.
static inline void give_notice(struct ConnectionArea* area, Word index) {
  if (wants_notice(area)) bpf_ringbuf_output(&notices, &index, sizeof index, 0);
}

// Does not return where the other program takes over.
static inline int pass_on_overlap(struct ConnectionArea* area, struct __sk_buff* packet, Half twice) {
  area->twice = twice;
  if (twice < packet->len && is_whole(packet)) bpf_tail_call(packet, &overlaps, 0);
  tear(area, packet->len);
  return kPassedOn;
}

__attribute__((section("sk_skb/verdict"))) int verdict(struct __sk_buff* packet) {
  const Word cookie = bpf_get_socket_cookie(packet);
  const Half* index = bpf_map_lookup_elem(&indices, &cookie);
  if (index == 0) return SK_PASS;
  struct ConnectionArea* area = bpf_map_lookup_elem(&areas, index);
  if (area == 0) return SK_PASS;
  const Half twice = follow(area, sequence(packet), packet->len);
  const int what = twice != 0 ? pass_on_overlap(area, packet, twice) : judge(area, packet, packet->len);
  if (what == kPassedOn) {
    give_notice(area, *index);
    return SK_PASS;
  }
  if (what == kTaken || bpf_skb_store_bytes(packet, 0, area->answer, kHeaderLength, 0) != 0) return SK_DROP;
  return (int)bpf_sk_redirect_map(packet, &answers, *index, 0);
}

char program_license[] __attribute__((section("license"))) = "Dual BSD/GPL";
