/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose memory the host cannot touch, and its target: what proves that
 * nothing outside of a device uses the device's addresses.
 *
 * Memory is a file in memory that is mapped twice. The addresses that are
 * handed out are those of a mapping without rights: who dereferences one
 * faults. The device works in the other one, which ends at a page without
 * access, and checks every address and size that it is given. A stream is a
 * queue that a thread of its own empties, with small pauses now and then, so
 * that who does not wait reads what is not there yet. Failures of what was
 * enqueued come when it is waited for.
 *
 * It takes fewer layers and dtypes than the CPU does, so that plans have steps
 * in both spaces, and packs weights in a form of its own. The CPU's kernels
 * compute its steps.
 *
 * Linked with this folder, a program has it beside the CPU (remote_tables.c).
 */
#ifndef TESTS_REMOTE_REMOTE_H_
#define TESTS_REMOTE_REMOTE_H_

#include "backend/device.h"
#include "builder/target.h"

/* Its streams are bsm_streams; any of them may be a caller's. */
extern const bsm_device_ops remote_device_ops;
extern const bsm_target_ops remote_target_ops;

/* What shall fail: the n-th from when it was asked for, 1 the next one; 0:
 * nothing. */
typedef struct remote_faults {
  int allocation, prepare, recording; /* at once */
  int step, transfer;                 /* when it is waited for */
} remote_faults;
void remote_inject(remote_faults faults);

/* Devices, streams, events, recordings, pieces of memory and prepared steps
 * that are not given back. */
int remote_live(void);
/* Steps that were run, transfers, and replays, since the program began. */
int remote_steps(void);
int remote_transfers(void);
int remote_replays(void);

#endif /* TESTS_REMOTE_REMOTE_H_ */
