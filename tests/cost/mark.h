/* The marks between which count.cpp counts: BEGIN("<name>: <bound>") ... END(). */
#ifndef RMQ_TESTS_COST_MARK_H
#define RMQ_TESTS_COST_MARK_H

#include <unistd.h>

#define BEGIN(text) __asm__ volatile("int3" : : "a"(text) : "memory")
#define END() __asm__ volatile("int3" : : "a"(0) : "memory")

/* Where only some rounds count: a rank that is counted takes far longer for the same. */
#define BEGIN_IF(counts, text) \
  if (counts) BEGIN(text)
#define END_IF(counts) \
  if (counts) END()

/* The least of several rounds is one in which it has. */
static inline void wait_until_arrived(void) {
  usleep(2000);
}

#endif
