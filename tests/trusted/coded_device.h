/* SPDX-License-Identifier: Apache-2.0 */
/* A device that machine code is for: the CPU, which notes what code it was
 * given instead of running it. Linked with this file, programs have it as
 * "coded", and plans with code for it. */
#ifndef TESTS_TRUSTED_CODED_DEVICE_H_
#define TESTS_TRUSTED_CODED_DEVICE_H_

#include "backend/device.h"
#include "runtime/engine/engine.h"

enum { CODED_BYTES = 100 };

typedef struct coded_device_log {
  int loads;           /* how often a plan's code was loaded */
  const uint8_t *code; /* of the last: where it lies, CODED_BYTES */
} coded_device_log;
extern coded_device_log coded_log; /* reset by the test */

/* Code that no test mistakes for other bytes. */
extern const uint8_t coded_bytes[CODED_BYTES];

/* An engine as if it was compiled here, out = x + x for 5 floats, with code or
 * without any. `key` makes engines that differ. */
bsm_engine *coded_engine(bool with_code, const char *key);

#endif /* TESTS_TRUSTED_CODED_DEVICE_H_ */
