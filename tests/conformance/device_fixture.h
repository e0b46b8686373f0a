/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a device that is opened for it alone. */
#ifndef TESTS_CONFORMANCE_DEVICE_FIXTURE_H_
#define TESTS_CONFORMANCE_DEVICE_FIXTURE_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/device.h"
#include "base/isa.h"

#define FIXTURE_UNUSED __attribute__((unused))

/* The device that is tested. */
static const char *fixture_device = "cpu";

static FIXTURE_UNUSED const bsm_device_ops *fixture_ops(void) {
  const bsm_device_ops *ops;
  bsm_status status = bsm_device_find(bsm_str_of(fixture_device), &ops);
  if (status) fail_msg("%s", bsm_status_message(status));
  return ops;
}

static FIXTURE_UNUSED bsm_device *fixture_open(void) {
  bsm_device *device = NULL;
  bsm_status status = fixture_ops()->open(&(bsm_device_options){0}, &device);
  if (status) fail_msg("%s", bsm_status_message(status));
  return device;
}

static FIXTURE_UNUSED bsm_stream *fixture_stream(
    const bsm_stream_options *options) {
  bsm_device *device = fixture_open();
  bsm_stream *stream;
  assert_null(device->ops->stream_create(device, options, &stream));
  return stream;
}

static FIXTURE_UNUSED void fixture_stream_close(bsm_stream *stream) {
  bsm_device *device = stream->device;
  device->ops->stream_destroy(stream);
  device->ops->close(device);
}

#endif /* TESTS_CONFORMANCE_DEVICE_FIXTURE_H_ */
