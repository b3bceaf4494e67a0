// Receive in the kernel: the memory that a process and the program in the kernel share, and the program's part of what happens in it. This header is
// compiled for the kernel (receive.bpf.c, in C), for the process (intake.h) and for the tests, which so run the very code.
//
// The program sees each packet of a connection once, in order, before the socket has it. It takes the packet (the socket never has it), or it passes
// it on, whole. What lies in the packet is frames (wire/frame.h); one that it takes is copied into the landing ring of its connection, once a lent
// receive that it matches is claimed (net/lent_queue.h). The process copies it from there to where the receive wants it. Where the receive's memory
// lies in the zone (below), only the header goes to the ring, and the payload to its place.
//
//     taken        frames ... frame | packet passed on, packet passed on ...            | frames ...
//                                   ^ from here on the process reads the socket        ^ and here it has read and matched all: in sync again
//
// In sync: taken_in == passed, so the process has read all that was passed on, and what it read ended with a frame. Only then does the program take
// frames; so no frame overtakes another.
//
// A short frame that matches no lent receive is taken, too, while a thread of the process polls: it lands in the ring, unmatched, and the process matches it
// as one that it reads (paper 2's dump area). No receive is claimed for a frame behind it before that: `collected` has then passed `unmatched`. So
// nothing overtakes here either, and the rules of passing on (net/lent_queue.h) hold for a frame that never was in the socket.
//
// A packet whose first frames are taken, and whose next one is not, is passed on whole, and `skip` says how much of its front has been taken. A frame
// of which a part is here when the program stops taking (`want` is not 0 in the first packet that is passed on) is the process's: it takes what is in
// the ring for the beginning of what it reads.
//
// Sleep. A thread that sleeps is not woken by a frame that is taken. So the process closes the connection first (`open`), and then the program passes
// everything on, which wakes as any input does. Both sides write one word and then read the other's, with a full barrier between:
//
//     process   open = kClosed; barrier; busy? then it does not sleep yet. Anything taken, or passed on? then neither
//     program   busy = 1; barrier; open? then it may take frames. busy = 0
//
// Where no thread of the application waits and only the event thread sleeps, the process leaves it open for receives that are unattended: nothing
// follows their completion before the application's next call, which finds it. What matches others is passed on, and wakes. At rest nothing is lent
// that a thread waits for asleep, and all may be taken.
//
// Notices. Linux announces each packet that the program has looked at, also one of which nothing is left to read, and to be woken for that costs the
// sender, whose core runs the program, and the receiver 10 us each. So where only the event thread sleeps it need not watch the socket for input: the
// program gives notice of what it passes on (notices.h). Whether notice is wanted is said by the same word as whether frames may be taken, so that the
// same order holds: a process that finds the program busy, or something passed on, does not sleep yet. A notice takes some 10 us more than what Linux
// announces, so it is for links of which the program takes what comes (net/tcp/receiver.h).
//
// Order of memory: the program's loads and stores are plain but for the atomic ones, which order all others in their place. That is enough where the
// processor keeps loads in order among each other, and stores (x86); elsewhere this is not built.
//
// Bytes that come twice. Where a packet that TCP sent again overlaps what has come before, Linux (6.18) gives the program all of it, and would then
// count more bytes as read than there are: it would not announce the last ones of all that follows. So they are cut off the packet's front, and the
// rest is passed on, by a program of its own (overlap.bpf.c): in this one the kernel would have to prove all that follows for a packet that has been
// cut, too, which takes too long without CAP_PERFMON. Where it cannot be done the connection is torn, and another must take its place. The first
// packet may overlap what was read before the connection joined, of which the program knows nothing: it is passed on, because the process is not in
// sync before, and the process finds how much of it has been read (Intake::place).
//
// Answers. A packet that is a request and nothing else (an RTS without payload, of a sender that wants an answer at once), whose receive is
// unattended and has a token, becomes its own answer while the process computes: the program writes a CTS over it, as long as the request was, and
// has it sent by a second connection of the two processes, on which no process writes (net/tcp/answer_way.h). The process finds the request in the
// ring. It allows that while the second connection stands (`answers`). docs/ethernet.md, Answers by the kernel; test/model/kernel_answer_test.cc.
//
// A trailer (wire::kFlagTrailer) is a packet that follows a message to no other end than to become an ACK of it. The message lands as any other; where
// the process computes it ends only with a trailer that becomes its ACK, and one that cannot is passed on, which wakes the process. Where a thread of
// the process polls, the trailer is taken, and the process acknowledges what it finds. Arrival says which of the two has been. A trailer that is not a
// packet of its own is passed on.
//
// Records. Where frames are checked (LAPWING_WIRE, wire/record.h) the program takes a record whose only content is one whole frame, as it is; of what it
// lands it checks nothing. The process counts and checks those records between the ones that it reads, before it believes what they hold. If one is wrong, the
// receives of that one and of all behind it are lent again, and the connection is made anew: what was in them is sent once more. Nothing is put in
// the zone, where it would be before it was checked.
//
// The zone is memory of this rank that the program can write and that MPI_Alloc_mem hands out (zone.h): an array map of blocks, which lie side by
// side where the process has them mapped. A payload that begins near the end of a block lands in the ring.
//
// What is not usual is passed on: it need only be right here for the usual frame. Everything is checked again by the process.
#ifndef LAPWING_NET_KERNEL_AREA_H
#define LAPWING_NET_KERNEL_AREA_H

#ifdef __cplusplus
#include <cstdint>
namespace lapwing::net::kernel {
typedef std::uint64_t Word;
typedef std::uint32_t Half;
#else
typedef unsigned long long Word;
typedef unsigned int Half;
#endif

enum {
  kPlaces = 64,          // receives of one connection that are lent at a time
  kPlacesLookedAt = 16,  // the oldest; a frame that matches a later one is passed on
  kFramesPerPacket = 8,  // that are taken; a packet with more is passed on from there
  kHeaderWords = 8,
  kHeaderLength = 64,
  kMostPayload = 1 << 16,
  kMostUnmatched = 1 << 14,  // of a payload; a longer one is read from the socket to its place, which saves a copy
  kTrailerLength = 64,
  kRecordHeader = 8,
  kRecordTrailer = 4,
  kMostFrame = kHeaderLength + kMostPayload + kTrailerLength,
  kRingBytes = 1 << 18,
  kZoneBlock = 1 << 22,  // all that older kernels give to one entry of a map
  kZoneBlockBits = 22,
  kAlignment = 64,
};

struct Place {
  Word state;  // position << 2 | LentState
  Word context, tag, capacity;
  Word room[2];
  Word unattended;  // may complete while no thread of the process runs
  Word token;       // its name in the answer to a request; 0: a request that matches it is passed on
  Word said[kHeaderWords];
};

// net::LentQueue as the program sees it.
struct Queue {
  Word lent, oldest, taken_in, passed;
  struct Place places[kPlaces];
};

// A frame that has been taken: its receive, or kUnmatched, where it begins in the ring, as a count of all bytes ever used there, whether only its header lies there,
// and whether its trailer has become its acknowledgement.
struct Arrival {
  Word position, start, in_place, acknowledged;
};

struct ZoneBlock {
  unsigned char bytes[kZoneBlock];
};

// Each line of the cache is written by one side, and what the process polls lies in one line, which the program writes last.
struct ConnectionArea {
  // ---- written by the program ----
  Word arrived;        // frames taken
  Word passed;         // bytes passed on
  Word skip_at, skip;  // of the bytes passed on from there, so many have been taken
  Word torn;           // a packet did not begin where the one before had ended: nothing is to be believed any more
  Word cut;            // packets of which the front had come before
  // Its own.
  Word busy __attribute__((aligned(64)));  // it is looking at a packet
  Word started, sequence;                  // the TCP sequence number that comes next, once one has come
  Word first;                              // that of the first byte of all
  Word front;                              // of the packet that it looks at: so many bytes have been taken
  Word written;                            // bytes of the ring ever used
  Word polls;                              // a thread of the process does, while the program looks at this packet
  Word unmatched;                          // behind the last frame that landed unmatched, as a count of all that have arrived
  // The frame that is coming; the process's while not in sync.
  Word want, got;  // bytes, with the header and the trailer, each of which comes whole; want == 0: none
  Word trailer;    // bytes of the trailer, of `want`
  Word token;      // the sender's, of what has a trailer
  Word position, start, unattended;
  Word in_place, to;  // the payload goes there in the zone
  Word twice;         // bytes of the front of the packet that it looks at which have come before
  Word answers_this;  // the packet that it looks at is a request or a trailer, and `answer` is made of it
  Word answered;      // requests, over all connections that this area has had
  Word answer[kHeaderWords];
  struct Arrival arrivals[kPlaces]
      __attribute__((aligned(64)));  // modulo
  // ---- written by the process ----
  Word open __attribute__((aligned(64)));  // which frames may be taken
  Word taken_in;                           // bytes that were passed on, and have been read and matched
  Word freed;                              // bytes of the ring that are free again
  Word collected;                          // of the frames that have arrived; those that were unmatched have been matched, or kept
  Word zone;                               // the zone's address in the process; 0: there is none
  Word answers;                            // requests may be answered: their second connection stands
  Word records;                            // 1: frames come in records that are checked; 0: as they are
  struct Queue queue;
  // Where frames land. One may begin anywhere in the ring and goes on behind its end.
  unsigned char landing[kRingBytes + 2 * kMostFrame] __attribute__((aligned(64)));
};

// ---- what both sides agree on ----

#define LAPWING_LOOK(word) (*(const volatile Word*)&(word))
#define LAPWING_SET(word, value) (*(volatile Word*)&(word) = (value))

enum { kStateLent = 1, kStateClaimed = 2, kStateBits = 2 };

static const Word kUnmatched = ~(Word)0;  // instead of a position

// ConnectionArea::open: which frames may be taken; kNoticed, if the process is to have notice of what is passed on; and kAtRest, if no thread polls
// though all may be taken.
enum { kClosed = 0, kOpen = 1, kOpenUnattended = 2, kOpening = 3, kNoticed = 4, kAtRest = 8 };

// Of a frame of Protocol::kMessages, MessageKind::kEager, that asks for no answer; and of one with wire::kFlagTrailer, that does. wire::kFlagAcknowledge
// is urgent where no thread polls (wants_word()), and there is no other flag.
// MessageKind::kRts with wire::kFlagAtOnce, kCts with wire::kFlagByCarrier, and kAck with it.
enum { kPlainProtocol = 1, kAcknowledgeBit = 41, kTrailerBit = 42, kPlainKind = 1, kRequestKind = 2 | 2 << 8, kAnswerKind = 3 | 1 << 8, kAcknowledgeKind = 5 | 1 << 8 };

// What is to become of a packet.
enum { kPassedOn = 0, kTaken = 1, kAnswered = 2 };

// 1 or 0.
static inline Word has_trailer(const Word* header) {
  return header[0] >> kTrailerBit & 1;
}

static inline Word wants_word(const Word* header) {
  return header[0] >> kAcknowledgeBit & 1;
}

// With few branches (find() says why): only what has a trailer may name its send; and where `records` is 1, as in an area, the frame has no trailer, and is
// all that its record holds, which has a bound of its own.
static inline int is_plain(const Word* header, Word record, Half records) {
  const Word protocol = (header[0] & ~((Word)1 << kTrailerBit | (Word)1 << kAcknowledgeBit)) >> 32, named = header[6] & (has_trailer(header) - 1);
  const Half beside = ((Half)record ^ (kHeaderLength + (Half)header[0])) | (Half)has_trailer(header);
  return ((protocol ^ kPlainProtocol) | ((Half)header[2] ^ kPlainKind) | header[5] | named | (beside & (0 - records))) == 0 &&
         (Half)header[0] <= kMostPayload - (kHeaderLength & (0 - records));
}

static inline int is_request(const Word* header) {
  return header[0] == (Word)kPlainProtocol << 32 && (Half)header[2] == kRequestKind && header[5] != 0 && header[6] != 0;
}

static inline Word used_by(Word bytes) {
  return (bytes + kAlignment - 1) & ~(Word)(kAlignment - 1);
}

// Of the ring, by a frame of so many bytes.
static inline Word used_by_frame(Word bytes, Word in_place) {
  return used_by(in_place ? (Word)kHeaderLength : bytes);
}

// ---- the program's part ----

// How many bytes of the packet's front have come before. Each packet once, before anything else.
static inline Half follow(struct ConnectionArea* area, Half sequence, Half length) {
  const Half twice = area->started ? (Half)area->sequence - sequence : 0;
  if (length == 0) return 0;
  area->first = area->started ? area->first : sequence;
  area->started = 1;
  area->sequence = sequence + length;
  return twice;
}

static inline void begin_packet(struct ConnectionArea* area) {
  __sync_lock_test_and_set(&area->busy, 1);
}

static inline void end_packet(struct ConnectionArea* area) {
  LAPWING_SET(area->busy, 0);
}

// So many bytes are passed on.
static inline void pass_on(struct ConnectionArea* area, Word bytes) {
  LAPWING_SET(area->passed, area->passed + bytes);
}

// Of a packet that has been passed on: the process does not watch the socket.
static inline int wants_notice(struct ConnectionArea* area) {
  return (LAPWING_LOOK(area->open) & kNoticed) != 0;
}

// Of a packet that overlaps others and cannot be cut.
static inline void tear(struct ConnectionArea* area, Half length) {
  begin_packet(area);
  LAPWING_SET(area->torn, 1);
  pass_on(area, length);
  end_packet(area);
}

// Packet and these functions are the includer's. How the bytes of a packet are had; 0: they are there. And a block of the zone; null: there is none.
#ifdef LAPWING_PACKET
static inline int load(LAPWING_PACKET packet, Half offset, void* to, Half bytes);
static inline struct ZoneBlock* zone_block(Half index);
// 0: so many bytes of its front can be overwritten, and nothing else can go wrong with that.
static inline int make_writable(LAPWING_PACKET packet, Half bytes);

#ifndef LAPWING_UNROLLED
#define LAPWING_UNROLLED
#endif

// The oldest lent receive that the message matches. One branch for each place, and no loop: a process that may load programs and yet has no
// CAP_PERFMON must have them proved for what a processor does when it guesses a branch wrongly, and of such guesses the kernel follows 8192 at a
// time.
static inline int find(const struct Queue* queue, Word context, Word tag, Word* found) {
  const Word first = LAPWING_LOOK(queue->oldest);
  const Word end = LAPWING_LOOK(queue->lent);
  LAPWING_UNROLLED
  for (int i = 0; i < kPlacesLookedAt; ++i) {
    const Word position = first + (Word)i;
    const struct Place* place = &queue->places[position & (kPlaces - 1)];
    if (position == end) return 0;
    if (((LAPWING_LOOK(place->state) ^ (position << kStateBits | kStateLent)) | (LAPWING_LOOK(place->context) ^ context) |
         (LAPWING_LOOK(place->tag) ^ tag)) == 0) {
      *found = position;
      return 1;
    }
  }
  return 0;
}

// It is claimed, if it has room, is unattended where it must be, and has a token where one is needed. The process may have taken it back meanwhile;
// then the message is passed on.
static inline int claim(struct Queue* queue, Word context, Word tag, Word bytes, int unattended, int request, Word* claimed) {
  Word position;
  if (!find(queue, context, tag, &position)) return 0;
  struct Place* place = &queue->places[position & (kPlaces - 1)];
  const Word state = position << kStateBits | kStateLent;
  if (bytes > LAPWING_LOOK(place->capacity) || (unattended && !LAPWING_LOOK(place->unattended))) return 0;
  if (request && !LAPWING_LOOK(place->token)) return 0;
  *claimed = position;
  return __sync_val_compare_and_swap(&place->state, state, position << kStateBits | kStateClaimed) == state;
}

// Whether a payload that begins there in the zone lies in one block, with as much behind it as the proof of land() asks for.
static inline int has_place(Word at) {
  return at >> kZoneBlockBits < 1 << 16 && (at & (kZoneBlock - 1)) <= kZoneBlock - 2 * kMostFrame && zone_block((Half)(at >> kZoneBlockBits)) != 0;
}

// Whether the packet can become an answer that is as long, and may.
static inline int may_become_answer(struct ConnectionArea* area, LAPWING_PACKET packet, Half offset, Half length, int unattended) {
  return unattended && offset == 0 && length == kHeaderLength && LAPWING_LOOK(area->answers) && make_writable(packet, kHeaderLength) == 0;
}

// Numbered like any frame.
static inline void make_answer(struct ConnectionArea* area, Word kind, Word message_bytes, Word sender_token, Word receiver_token) {
  area->answer[0] = (Word)kPlainProtocol << 32;
  area->answer[1] = (Half)area->answered;
  area->answer[2] = kind;
  area->answer[3] = area->answer[4] = 0;
  area->answer[5] = message_bytes;
  area->answer[6] = sender_token;
  area->answer[7] = receiver_token;
  area->answered += 1;
  area->answers_this = 1;
}

// The receive of a message, which may lie in the zone.
static inline int match(struct ConnectionArea* area, const Word* header, int unattended, int request) {
  Word position;
  if ((long long)(LAPWING_LOOK(area->collected) - area->unmatched) < 0) return 0;
  if (!claim(&area->queue, header[3], header[4] >> 32, request ? header[5] : (Half)header[0], unattended, request, &position)) return 0;
  struct Place* place = &area->queue.places[position & (kPlaces - 1)];
  if (request) make_answer(area, kAnswerKind, header[5], header[6], LAPWING_LOOK(place->token));
  const Word zone = LAPWING_LOOK(area->zone);
  area->position = position;
  area->unattended = LAPWING_LOOK(place->unattended);
  area->to = LAPWING_LOOK(place->room[0]) - zone;
  area->in_place = zone != 0 && has_place(area->to);
  return 1;
}

// Without one.
static inline void land_unmatched(struct ConnectionArea* area) {
  area->position = kUnmatched;
  area->unattended = area->in_place = 0;
}

// The header goes to the ring.
static inline int begin_frame(struct ConnectionArea* area, LAPWING_PACKET packet, Half offset, Half length, int unattended) {
  Word record, header[kHeaderWords];
  const Half records = (Half)LAPWING_LOOK(area->records) & 1, before = records * kRecordHeader;
  if (length - offset < kHeaderLength + before) return 0;
  if (load(packet, offset, &record, sizeof record) != 0 || load(packet, offset + before, header, sizeof header) != 0) return 0;
  const int request = is_request(header) && may_become_answer(area, packet, offset, length, unattended);
  if (!request && (!is_plain(header, record, records) || wants_word(header) > area->polls)) return 0;
  const Word trailer = has_trailer(header) * kTrailerLength;
  const Word want = before + kHeaderLength + (Half)header[0] + trailer + records * kRecordTrailer;
  if (area->written + used_by(want) - LAPWING_LOOK(area->freed) > kRingBytes) return 0;
  if (area->arrived - LAPWING_LOOK(area->collected) >= kPlaces) return 0;
  if (!match(area, header, unattended, request)) {
    if (!area->polls || trailer != 0 || (Half)header[0] > kMostUnmatched) return 0;
    land_unmatched(area);
  }
  area->start = area->written;
  area->written += used_by_frame(want, area->in_place);
  unsigned char* const landing = area->landing + (area->start & (kRingBytes - 1));
  __builtin_memcpy(landing, &record, sizeof record);
  __builtin_memcpy(landing + before, header, sizeof header);
  area->got = before + kHeaderLength;
  area->want = want;
  area->trailer = trailer;
  area->token = header[6];
  LAPWING_SET(area->front, offset + before + kHeaderLength);
  return 1;
}

// The next bytes of the frame that is coming; 0: they are there.
static inline int land(struct ConnectionArea* area, LAPWING_PACKET packet, Half offset, Word got, Word bytes) {
  if (got >= kMostFrame || bytes == 0 || bytes > kMostFrame) return -1;  // never
  if (!area->in_place) return load(packet, offset, area->landing + (area->start & (kRingBytes - 1)) + got, (Half)bytes);
  const Word at = area->to, within = at & (kZoneBlock - 1), behind = got - kHeaderLength;
  struct ZoneBlock* block = zone_block((Half)(at >> kZoneBlockBits));
  if (block == 0 || within > kZoneBlock - 2 * kMostFrame || behind > kMostFrame) return -1;  // never
  return load(packet, offset, block->bytes + within + behind, (Half)bytes);
}

static inline void end_frame(struct ConnectionArea* area) {
  struct Arrival* arrival = &area->arrivals[area->arrived & (kPlaces - 1)];
  arrival->position = area->position;
  arrival->start = area->start;
  arrival->in_place = area->in_place;
  arrival->acknowledged = area->trailer != 0 && area->answers_this;
  area->want = 0;
  if (area->position == kUnmatched) area->unmatched = area->arrived + 1;
  LAPWING_SET(area->arrived, area->arrived + 1);
}

// Of the packet's next frame, or of the one that is coming.
static inline int may_take(struct ConnectionArea* area, LAPWING_PACKET packet, Half offset, Half length, int unattended) {
  if (area->want == 0) return begin_frame(area, packet, offset, length, unattended);
  return !unattended || area->unattended;
}

static inline int trailer_is_next(const struct ConnectionArea* area) {
  return area->want != 0 && area->trailer != 0 && area->got == area->want - area->trailer;
}

// Of a packet that may be the trailer which is due, how many bytes have been taken. It becomes the acknowledgement where the process computes.
static inline Half take_trailer(struct ConnectionArea* area, LAPWING_PACKET packet, Half length, int unattended) {
  if (length != kTrailerLength) return 0;
  if (unattended) {
    if (!area->unattended || !may_become_answer(area, packet, 0, length, unattended)) return 0;
    make_answer(area, kAcknowledgeKind, 0, area->token, 0);
  }
  end_frame(area);
  return length;
}

// How many bytes of the packet's front have been taken. The count lies in memory, of whose values the kernel's proof assumes nothing: in a register,
// each frame would be proved for each length of those before it, which takes ten times as long at every start.
static inline Half take_frames(struct ConnectionArea* area, LAPWING_PACKET packet, Half length, int unattended) {
  LAPWING_SET(area->front, 0);
  for (int i = 0; i < kFramesPerPacket; ++i) {
    if ((Half)LAPWING_LOOK(area->front) >= length) break;
    if (!may_take(area, packet, (Half)LAPWING_LOOK(area->front), length, unattended)) break;
    const Half offset = (Half)LAPWING_LOOK(area->front);
    const Word got = area->got;
    Word bytes = area->want - area->trailer - got;  // none before a trailer, which is a packet of its own or is passed on
    if (bytes > length - offset) bytes = length - offset;
    if (bytes != 0 && land(area, packet, offset, got, bytes) != 0) break;
    LAPWING_SET(area->front, offset + bytes);
    area->got = got + bytes;
    if (area->got == area->want) end_frame(area);
  }
  return (Half)LAPWING_LOOK(area->front);
}

// Of a packet that follows the one before. kPassedOn: the socket gets it. kAnswered: it becomes `answer`, and leaves by the second connection.
static inline int judge(struct ConnectionArea* area, LAPWING_PACKET packet, Half length) {
  Half taken = 0;
  Word open;
  if (length == 0) return kPassedOn;
  area->answers_this = 0;
  begin_packet(area);
  open = LAPWING_LOOK(area->open);
  area->polls = open == kOpen;
  open &= kOpening;
  if (open != kClosed && LAPWING_LOOK(area->taken_in) == area->passed && !area->torn)
    taken = trailer_is_next(area) ? take_trailer(area, packet, length, open == kOpenUnattended)
                                  : take_frames(area, packet, length, open == kOpenUnattended);
  if (taken != length) {
    if (taken != 0) {
      area->skip_at = area->passed;
      area->skip = taken;
    }
    pass_on(area, length);
  }
  end_packet(area);
  if (taken != length) return kPassedOn;
  return area->answers_this ? kAnswered : kTaken;
}
#endif

#ifdef __cplusplus
}  // namespace lapwing::net::kernel
#endif
#endif
