// What the log does when lines come faster than stderr takes them: the loop never waits for it, so some are lost. Those
// of hooks go first, and whatever is lost is counted and told. Thread: any, tell_lost() the loop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hookd::log {

inline constexpr size_t kQueueRecords = 8192;  // lines that wait for stderr; past it the oldest are lost

// Whether a line that somebody else wrote (a hook) may be logged now. False, and one more is lost, while half of the
// queue waits: what is left is for hookd's own lines, which say what was done to the cluster.
bool room_for_chatter();

// So far.
uint64_t lost_lines();

// Says how many were lost since it said so last, when most of the queue is written; returns that number, else 0.
uint64_t tell_lost();

}  // namespace hookd::log
