/* SPDX-License-Identifier: Apache-2.0 */
/* A library to preload that makes the monotonic clock count the CPU time of the
 * process: on a machine on which other programs run, what was waiting for a
 * CPU is not taken for work. It suits one thread alone.
 *
 *   cc -O2 -shared -fPIC bench/cpu_clock.c -o cpu_clock.so
 *   LD_PRELOAD=./cpu_clock.so bessemer bench model.bsm --threads 1 --profile */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock == CLOCK_MONOTONIC) clock = CLOCK_PROCESS_CPUTIME_ID;
  return (int)syscall(SYS_clock_gettime, clock, time);
}
