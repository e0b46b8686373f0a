/* SPDX-License-Identifier: Apache-2.0 */
/* The table of devices, and what a device does besides steps: memory, streams,
 * transfers, events. */
#include <stdlib.h>
#include <string.h>

#include "base/thread_pool.h"
#include "tests/base/test_allocator.h"
#include "tests/conformance/conformance.h"

static void test_names(void **state) {
  (void)state;
  size_t count;
  const bsm_device_ops *const *table = bsm_device_table(&count);
  assert_true(count >= 1);
  for (size_t i = 0; i < count; i++) {
    const bsm_device_ops *ops;
    assert_null(bsm_device_find(bsm_str_of(table[i]->name), &ops));
    assert_ptr_equal(ops, table[i]);
  }
  const bsm_device_ops *none;
  bsm_status status = bsm_device_find(bsm_str_of("abacus"), &none);
  assert_int_equal(bsm_status_code(status), BSM_UNSUPPORTED);
  assert_non_null(strstr(bsm_status_message(status), "\"abacus\""));
  assert_non_null(strstr(bsm_status_message(status), table[0]->name));
  assert_null(none);
  bsm_status_free(status);
}

static void test_no_such_device(void **state) {
  (void)state;
  bsm_device *device;
  bsm_status status =
      fixture_ops()->open(&(bsm_device_options){.index = 1000}, &device);
  assert_int_equal(bsm_status_code(status), BSM_NOT_FOUND);
  assert_non_null(strstr(bsm_status_message(status), "1000"));
  assert_null(device);
  bsm_status_free(status);
}

/* Up, within the device, zeroed in part, down again. */
static void test_transfers(void **state) {
  (void)state;
  bsm_stream *s = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  bsm_device *device = s->device;
  const bsm_device_ops *ops = device->ops;
  uint8_t given[300], got[300];
  void *a, *b;
  for (int i = 0; i < 300; i++) given[i] = (uint8_t)(i * 7 + 1);
  memset(got, 0xee, sizeof(got));
  assert_null(ops->allocate(device, NULL, 300, BSM_ALIGNMENT, &a));
  assert_null(ops->allocate(device, NULL, 300, BSM_ALIGNMENT, &b));
  assert_int_equal((uintptr_t)a % BSM_ALIGNMENT, 0);
  assert_null(ops->upload(s, a, given, 300));
  assert_null(ops->copy(s, b, a, 300));
  assert_null(ops->fill_zero(s, (uint8_t *)b + 100, 50));
  assert_null(ops->fill_zero(s, a, 300)); /* after it was read */
  assert_null(ops->download(s, got, b, 300));
  assert_null(ops->upload(s, NULL, NULL, 0));
  assert_null(ops->download(s, NULL, NULL, 0));
  assert_null(ops->copy(s, NULL, NULL, 0));
  assert_null(ops->fill_zero(s, NULL, 0));
  assert_null(ops->synchronize(s));
  memset(given + 100, 0, 50);
  assert_memory_equal(got, given, 300);
  ops->release(device, NULL, a);
  ops->release(device, NULL, b);
  ops->release(device, NULL, NULL);
  fixture_stream_close(s);
}

/* Arrays that are larger than what a device may have for transfers. What comes
 * to the host and goes back at once is in order, too. */
static void test_large_transfers(void **state) {
  (void)state;
  const size_t bytes = ((size_t)20 << 20) + 12345;
  bsm_stream *s = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = s->device->ops;
  uint8_t *given = malloc(bytes), *between = calloc(bytes, 1);
  uint8_t *got = calloc(bytes, 1);
  void *a, *b;
  assert_true(given && between && got);
  assert_null(ops->allocate(s->device, NULL, bytes, BSM_ALIGNMENT, &a));
  assert_null(ops->allocate(s->device, NULL, bytes, BSM_ALIGNMENT, &b));
  for (int turn = 0; turn < 2; turn++) {
    for (size_t i = 0; i < bytes; i++) {
      given[i] = (uint8_t)(i * 31 + i / 4093 + (size_t)turn);
    }
    assert_null(ops->upload(s, a, given, bytes));
    assert_null(ops->download(s, between, a, bytes));
    assert_null(ops->upload(s, (uint8_t *)b + 1, between + 1, bytes - 2));
    assert_null(ops->download(s, got + 1, (uint8_t *)b + 1, bytes - 2));
    assert_null(ops->synchronize(s));
    assert_memory_equal(between, given, bytes);
    assert_memory_equal(got + 1, given + 1, bytes - 2);
  }
  ops->release(s->device, NULL, a);
  ops->release(s->device, NULL, b);
  fixture_stream_close(s);
  free(given);
  free(between);
  free(got);
}

/* Many small ones: those before an event have arrived when it was waited for.
 */
static void test_many_transfers(void **state) {
  (void)state;
  enum { COUNT = 500, BYTES = 20000 };
  bsm_stream *s = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = s->device->ops;
  static uint8_t given[COUNT][BYTES], got[COUNT][BYTES];
  bsm_event *event;
  void *memory;
  assert_null(ops->allocate(s->device, NULL, BYTES, BSM_ALIGNMENT, &memory));
  assert_null(ops->event_create(s, &event));
  for (int i = 0; i < COUNT; i++) {
    memset(given[i], i, BYTES);
    assert_null(ops->upload(s, memory, given[i], BYTES));
    assert_null(ops->download(s, got[i], memory, BYTES));
    if (i % 7) continue;
    assert_null(ops->event_record(s, event));
    assert_null(ops->event_wait(event));
    assert_memory_equal(got[i], given[i], BYTES);
  }
  assert_null(ops->synchronize(s));
  assert_memory_equal(got, given, sizeof(got));
  ops->event_destroy(event);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

static void test_events(void **state) {
  (void)state;
  const bsm_stream_options options = {.isa = BSM_ISA_DETECT, .profile = true};
  bsm_stream *s = fixture_stream(&options);
  const bsm_device_ops *ops = s->device->ops;
  static uint8_t data[1 << 20];
  bsm_event *from, *to;
  void *memory;
  assert_null(ops->allocate(s->device, NULL, sizeof(data), 64, &memory));
  assert_null(ops->event_create(s, &from));
  assert_null(ops->event_create(s, &to));
  assert_null(ops->event_record(s, from));
  for (int i = 0; i < 8; i++) {
    assert_null(ops->upload(s, memory, data, sizeof(data)));
  }
  assert_null(ops->event_record(s, to));
  assert_null(ops->event_wait(to));
  const double seconds = ops->event_seconds(from, to);
  assert_true(seconds > 0 && seconds < 60);
  assert_true(ops->event_seconds(to, from) < 0);
  ops->event_destroy(from);
  ops->event_destroy(to);
  ops->event_destroy(NULL);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

/* What is recorded is not done, and then done with each replay, in order with
 * what is around it. */
static void test_recordings(void **state) {
  (void)state;
  if (!fixture_ops()->record_begin) skip();
  bsm_stream *s = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = s->device->ops;
  const uint8_t given[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  uint8_t got[16];
  bsm_recording *recordings[2];
  void *memory;
  assert_null(ops->allocate(s->device, NULL, 16, 64, &memory));
  uint8_t *upper = (uint8_t *)memory + 8;
  assert_null(ops->upload(s, memory, given, 8));
  assert_null(ops->upload(s, upper, given, 8));
  for (int i = 0; i < 2; i++) {
    assert_null(ops->record_begin(s));
    assert_null(ops->copy(s, upper + 4 * i, memory, 2));
    assert_null(ops->fill_zero(s, memory, 1));
    assert_null(ops->record_end(s, &recordings[i]));
  }
  assert_null(ops->download(s, got, memory, 16));
  assert_null(ops->synchronize(s));
  assert_memory_equal(got, given, 8);
  assert_memory_equal(got + 8, given, 8);
  assert_null(ops->replay(s, recordings[0]));
  assert_null(ops->replay(s, recordings[1]));
  assert_null(ops->replay(s, recordings[1]));
  assert_null(ops->download(s, got, memory, 16));
  assert_null(ops->synchronize(s));
  const uint8_t want[16] = {0, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 0, 2, 7, 8};
  assert_memory_equal(got, want, 16);
  for (int i = 0; i < 2; i++) ops->recording_destroy(recordings[i]);
  ops->recording_destroy(NULL);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

/* Places wait for the places that they are said to, and for all that these
 * wait for. */
static void test_places(void **state) {
  (void)state;
  if (!fixture_ops()->record_place) skip();
  bsm_stream *s = fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
  const bsm_device_ops *ops = s->device->ops;
  const uint8_t given[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  uint8_t got[8];
  bsm_recording *recording;
  void *memory;
  assert_null(ops->allocate(s->device, NULL, 8, 64, &memory));
  uint8_t *bytes = memory;
  assert_null(ops->record_begin(s));
  assert_null(ops->record_place(s, 3, NULL, 0));
  assert_null(ops->copy(s, bytes + 1, bytes, 1));
  assert_null(ops->copy(s, bytes + 2, bytes + 1, 1));
  assert_null(ops->record_place(s, 4, (uint32_t[]){3}, 1));
  assert_null(ops->copy(s, bytes + 3, bytes + 2, 1));
  assert_null(ops->record_place(s, 6, (uint32_t[]){3}, 1)); /* is empty */
  assert_null(ops->record_place(s, 7, (uint32_t[]){6}, 1));
  assert_null(ops->copy(s, bytes + 4, bytes + 2, 1));
  assert_null(ops->record_place(s, 8, (uint32_t[]){4, 7}, 2));
  assert_null(ops->copy(s, bytes + 6, bytes + 3, 2));
  assert_null(ops->record_end(s, &recording));
  for (int i = 0; i < 8; i++) {
    assert_null(ops->upload(s, memory, given, 8));
    assert_null(ops->replay(s, recording));
    assert_null(ops->download(s, got, memory, 8));
    assert_null(ops->synchronize(s));
    const uint8_t want[8] = {1, 1, 1, 1, 1, 6, 1, 1};
    assert_memory_equal(got, want, 8);
  }
  ops->recording_destroy(recording);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

/* Opens all that there is; each allocation of it may fail. */
static bsm_status open_all(const bsm_allocator *allocator) {
  const bsm_device_ops *ops = fixture_ops();
  const bsm_device_options options = {.allocator = allocator};
  const bsm_stream_options streaming = {.allocator = allocator};
  bsm_device *device;
  bsm_stream *stream = NULL;
  bsm_event *event = NULL;
  bsm_recording *recording = NULL;
  void *memory = NULL;
  BSM_TRY(ops->open(&options, &device));
  bsm_status status = ops->stream_create(device, &streaming, &stream);
  if (!status) status = ops->event_create(stream, &event);
  if (!status) status = ops->allocate(device, allocator, 100, 64, &memory);
  if (!status && ops->record_begin) {
    status = ops->record_begin(stream);
    if (!status) status = ops->record_end(stream, &recording);
    ops->recording_destroy(recording);
  }
  ops->release(device, allocator, memory);
  ops->event_destroy(event);
  ops->stream_destroy(stream);
  ops->close(device);
  return status;
}

static void test_no_memory(void **state) {
  (void)state;
  int failures = 0;
  for (;; failures++) {
    test_allocator a;
    test_allocator_init(&a, failures);
    bsm_status status = open_all(&a.base);
    assert_int_equal(a.live, 0);
    if (!status) break;
    assert_int_equal(bsm_status_code(status), BSM_OUT_OF_MEMORY);
    bsm_status_free(status);
  }
  assert_true(failures > 0);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_no_such_device),
      cmocka_unit_test(test_transfers),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_large_transfers),
      cmocka_unit_test(test_many_transfers),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_recordings),
      cmocka_unit_test(test_places),
  };
  if (!suite_begin(argc, argv)) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
