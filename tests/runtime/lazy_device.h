/* SPDX-License-Identifier: Apache-2.0 */
/* A device that does nothing until it has to: what is enqueued runs when the
 * stream or an event behind it is waited for, and not before. Its addresses
 * fault when they are used. So tests see every wait that is missing, and every
 * access that is not the device's, each time.
 *
 * The CPU's kernels compute its steps. Linked with this file, programs have it
 * beside the CPU, as "lazy". */
#ifndef TESTS_RUNTIME_LAZY_DEVICE_H_
#define TESTS_RUNTIME_LAZY_DEVICE_H_

#include "backend/device.h"

extern const bsm_device_ops lazy_device_ops;

/* What the device did, and what it shall fail at. */
typedef struct lazy_device_log {
  int live; /* pieces of memory that are not released */
  int uploads, downloads, steps, zeros;
  int prepared;  /* steps that are not discarded */
  int open;      /* devices, streams, events */
  int fail_step; /* the run of a step that fails, counted from 1; 0: none */
  int fail_allocation;
} lazy_device_log;
extern lazy_device_log lazy_log; /* reset by the test */

#endif /* TESTS_RUNTIME_LAZY_DEVICE_H_ */
