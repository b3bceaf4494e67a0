// Memory as the processors of the house may show it: each thread's stores wait in a buffer of its own, which no other thread
// else sees, and reach memory later, those to different words in any order (x86 keeps them in order, aarch64 does not).
// A release store goes last of those before it. A read-modify-write acts on memory at once, without emptying the
// buffer. A fence waits until the buffer is empty. That a load may be done before its turn is left to the models, which
// say so where it matters.
//
// Each thread `t` of a model with this memory comes with one more, `emptying(t)`, that moves its stores to memory.
#pragma once

#include <cstdint>

#include "checker.h"

namespace lapwing::model {

template <int kThreads, int kWords>
struct WeakMemory {
  using Byte = std::uint8_t;
  static constexpr int kDepth = 6;
  struct Store {
    Byte word, value, release;
  };

  Byte words[kWords];
  Byte waiting[kThreads];
  Store buffer[kThreads][kDepth];

  // Before storing: with a full buffer the thread has to wait.
  bool takes_store(int thread) const { return waiting[thread] < kDepth; }
  void store(int thread, int word, int value) { push(thread, word, value, 0); }
  void store_release(int thread, int word, int value) { push(thread, word, value, 1); }

  int load(int thread, int word) const {
    for (int i = waiting[thread]; i-- > 0;)
      if (buffer[thread][i].word == word) return buffer[thread][i].value;
    return words[word];
  }

  bool fenced(int thread) const { return waiting[thread] == 0; }

  // A read-modify-write may go ahead when no store of the same thread to the same word waits.
  bool takes_update(int thread, int word) const {
    for (int i = 0; i < waiting[thread]; ++i)
      if (buffer[thread][i].word == word) return false;
    return true;
  }

  // One waiting store of `thread` reaches memory; false when none waits.
  bool empty_one(int thread, Step& step) {
    int candidates[kDepth], count = 0;
    for (int i = 0; i < waiting[thread]; ++i)
      if (may_leave(thread, i)) candidates[count++] = i;
    if (count == 0) return false;
    const int chosen = candidates[step.choose(count)];
    words[buffer[thread][chosen].word] = buffer[thread][chosen].value;
    for (int i = chosen; i + 1 < waiting[thread]; ++i) buffer[thread][i] = buffer[thread][i + 1];
    buffer[thread][--waiting[thread]] = {0, 0, 0};
    step.name("a store reaches memory");
    return true;
  }

 private:
  void push(int thread, int word, int value, int release) {
    buffer[thread][waiting[thread]++] = {static_cast<Byte>(word), static_cast<Byte>(value), static_cast<Byte>(release)};
  }
  bool may_leave(int thread, int index) const {
    if (buffer[thread][index].release) return index == 0;
    for (int i = 0; i < index; ++i)
      if (buffer[thread][i].word == buffer[thread][index].word) return false;
    return true;
  }
};

}  // namespace lapwing::model
