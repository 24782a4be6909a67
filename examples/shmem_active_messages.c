// SPDX-License-Identifier: BSD-3-Clause
// Active messages: each PE has a mailbox of numbered places. A sender draws a number by fetch-and-add, waits until the
// place of an earlier round is free, puts the message with a signal that names its round, and goes on; the owner runs
// the handler that each message names, in turn.
//   rmqrun -n 4 shmem_active_messages
#include <shmem.h>
#include <stdio.h>

enum { kPlaces = 16, kWords = 4, kMessages = 500 };

static long drawn;                 /* numbers, so far, of this mailbox */
static long taken;                 /* messages that its owner has taken */
static long mail[kPlaces][kWords]; /* handler, argument, ... */
static uint64_t round_of[kPlaces]; /* of the message that is there, from 1 on */

static long histogram[8], last_words;

static void on_count(const long* words) {
  ++histogram[words[1]];
}
static void on_farewell(const long* words) {
  last_words += words[1];
}
static void (*const handlers[])(const long*) = {on_count, on_farewell};

/* Runs the handler of one message, if there is one. */
static void poll(void) {
  const long place = taken % kPlaces;
  if (shmem_signal_fetch(&round_of[place]) != (uint64_t)(taken / kPlaces) + 1) return;
  handlers[mail[place][0]](mail[place]);
  const long now = taken + 1;
  shmem_long_atomic_set(&taken, now, shmem_my_pe()); /* senders look at it */
}

static void send(int pe, long handler, long argument) {
  const long number = shmem_long_atomic_fetch_inc(&drawn, pe), place = number % kPlaces;
  while (number - shmem_long_atomic_fetch(&taken, pe) >= kPlaces) poll(); /* full: serve, and look again */
  const long words[kWords] = {handler, argument};
  shmem_long_put_signal(mail[place], words, kWords, &round_of[place], (uint64_t)(number / kPlaces) + 1,
                        SHMEM_SIGNAL_SET, pe);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), n = shmem_n_pes();

  for (long i = 0; i < kMessages; ++i) {
    send((int)(i % n), 0, (me + i) % 8);
    poll();
  }
  for (int pe = 0; pe < n; ++pe) send(pe, 1, me + 1);
  const long all = (long)n * (n + 1) / 2;
  while (last_words != all) poll();

  static long counted, sum;
  for (int i = 0; i < 8; ++i) counted += histogram[i];
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &counted, 1);
  if (me == 0) printf("%ld messages handled on %d PEs: %s\n", sum, n, sum == (long)n * kMessages ? "right" : "WRONG");
  shmem_finalize();
  return sum != (long)n * kMessages;
}
