/* SPDX-License-Identifier: Apache-2.0 */
/* That the remote device is one: its addresses fault, its work is done later,
 * what it is given wrongly it refuses, and it fails when it is told to. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/step_harness.h"
#include "tests/remote/remote.h"

static bsm_stream *open_stream(void) {
  return fixture_stream(&(bsm_stream_options){.isa = BSM_ISA_DETECT});
}

static void expect(bsm_status status, bsm_code code, const char *text) {
  assert_int_equal(bsm_status_code(status), code);
  assert_non_null(strstr(bsm_status_message(status), text));
  bsm_status_free(status);
}

/* ---- addresses ---- */

/* Whether a process that does this dies of a fault. */
static bool faults(volatile uint8_t *address, bool writes) {
  int status;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL); /* sanitizers have their own */
    signal(SIGBUS, SIG_DFL);
    if (writes) *address = 1;
    _exit(writes ? 0 : *address & 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void test_addresses_fault(void **state) {
  (void)state;
  bsm_stream *s = open_stream();
  const bsm_device_ops *ops = s->device->ops;
  uint8_t mine[100] = {7}, got[100] = {0};
  void *memory;
  assert_false(ops->host_accessible);
  assert_null(ops->allocate(s->device, NULL, 100, 64, &memory));
  assert_null(ops->upload(s, memory, mine, 100));
  assert_null(ops->synchronize(s));
  assert_true(faults(memory, false));
  assert_true(faults(memory, true));
  assert_true(faults((uint8_t *)memory + 99, false));
  assert_false(faults(mine, true)); /* as a child, which is another process */
  assert_null(ops->download(s, got, memory, 100));
  assert_null(ops->synchronize(s));
  assert_memory_equal(got, mine, 100);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

static void test_wrong_addresses(void **state) {
  (void)state;
  bsm_stream *s = open_stream();
  const bsm_device_ops *ops = s->device->ops;
  uint8_t mine[100] = {0};
  void *memory;
  assert_null(ops->allocate(s->device, NULL, 100, 64, &memory));
  uint8_t *end = (uint8_t *)memory + 100;
  const char *text = "not memory of the device";
  assert_null(ops->upload(s, memory, mine, 101));
  expect(ops->synchronize(s), BSM_INTERNAL, text);
  assert_null(ops->upload(s, mine, mine, 100));
  expect(ops->synchronize(s), BSM_INTERNAL, text);
  assert_null(ops->download(s, mine, end - 1, 2));
  expect(ops->synchronize(s), BSM_INTERNAL, text);
  assert_null(ops->copy(s, memory, mine, 1));
  expect(ops->synchronize(s), BSM_INTERNAL, text);
  assert_null(ops->fill_zero(s, (uint8_t *)memory - 1, 2));
  expect(ops->synchronize(s), BSM_INTERNAL, text);
  assert_null(ops->fill_zero(s, end - 1, 1));
  assert_null(ops->synchronize(s));
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

/* ---- failures ---- */

/* The first failure comes, once; what stands behind it is not done; an event
 * before it knows nothing of it. */
static void test_failures_come_later(void **state) {
  (void)state;
  bsm_stream *s = open_stream();
  const bsm_device_ops *ops = s->device->ops;
  uint8_t ones[8], got[8] = {0};
  void *memory;
  bsm_event *before;
  memset(ones, 1, sizeof(ones));
  assert_null(ops->allocate(s->device, NULL, 8, 8, &memory));
  assert_null(ops->event_create(s, &before));
  remote_inject((remote_faults){.transfer = 2});
  assert_null(ops->fill_zero(s, memory, 8));
  assert_null(ops->event_record(s, before));
  assert_null(ops->copy(s, memory, memory, 8)); /* fails */
  assert_null(ops->upload(s, memory, ones, 8)); /* is skipped */
  assert_null(ops->event_wait(before));
  expect(ops->synchronize(s), BSM_INTERNAL, "lost a transfer");
  assert_null(ops->synchronize(s));
  assert_null(ops->download(s, got, memory, 8));
  assert_null(ops->synchronize(s));
  for (int i = 0; i < 8; i++) assert_int_equal(got[i], 0);
  ops->event_destroy(before);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

static void test_allocation_fails(void **state) {
  (void)state;
  bsm_stream *s = open_stream();
  const bsm_device_ops *ops = s->device->ops;
  void *a, *b;
  remote_inject((remote_faults){.allocation = 2});
  assert_null(ops->allocate(s->device, NULL, 8, 8, &a));
  expect(ops->allocate(s->device, NULL, 8, 8, &b), BSM_OUT_OF_MEMORY, "full");
  assert_null(b);
  assert_null(ops->allocate(s->device, NULL, 8, 8, &b));
  ops->release(s->device, NULL, a);
  ops->release(s->device, NULL, b);
  fixture_stream_close(s);
}

/* Only what stays on the device is recorded, and nothing waits meanwhile. */
static void test_wrong_recordings(void **state) {
  (void)state;
  bsm_stream *s = open_stream();
  const bsm_device_ops *ops = s->device->ops;
  uint8_t mine[8] = {0};
  void *memory;
  bsm_event *event;
  bsm_recording *recording;
  const char *text = "does not record this";
  assert_null(ops->allocate(s->device, NULL, 8, 8, &memory));
  assert_null(ops->event_create(s, &event));
  expect(ops->record_end(s, &recording), BSM_INTERNAL, "not recording");
  assert_null(ops->record_begin(s));
  expect(ops->record_begin(s), BSM_INTERNAL, "is recording");
  expect(ops->upload(s, memory, mine, 8), BSM_INTERNAL, text);
  expect(ops->download(s, mine, memory, 8), BSM_INTERNAL, text);
  expect(ops->event_record(s, event), BSM_INTERNAL, text);
  expect(ops->synchronize(s), BSM_INTERNAL, "is recording");
  remote_inject((remote_faults){.recording = 1});
  expect(ops->record_end(s, &recording), BSM_OUT_OF_MEMORY, "records no more");
  assert_null(recording);
  assert_null(ops->fill_zero(s, memory, 8));
  assert_null(ops->synchronize(s));
  ops->event_destroy(event);
  ops->release(s->device, NULL, memory);
  fixture_stream_close(s);
}

static void make_product(harness *h, float *w, int n) {
  harness_init(h, BSM_STEP_MATRIX_MULTIPLY);
  h->params.matrix_multiply =
      (bsm_step_matrix_multiply){.constant_b = 1, .k = n, .n = n, .scale = 1.0};
  float *x = add_input(h, BSM_DTYPE_FLOAT, dims_of(2, 1, n), NULL);
  add_output(h, BSM_DTYPE_FLOAT, dims_of(2, 1, n), NULL);
  for (int i = 0; i < n; i++) x[i] = 1;
  for (int i = 0; i < n * n; i++) w[i] = (float)(i % 7);
  add_packed(h, 1, w, false);
}

static void test_steps_fail(void **state) {
  (void)state;
  harness h;
  float w[36];
  make_product(&h, w, 6);
  remote_inject((remote_faults){.step = 1});
  bsm_status status = harness_run(&h, BSM_ISA_DETECT, 1);
  assert_non_null(strstr(bsm_status_message(status), "while running step 0"));
  expect(status, BSM_INTERNAL, "out of order");
  remote_inject((remote_faults){.prepare = 1});
  expect(harness_run(&h, BSM_ISA_DETECT, 1), BSM_OUT_OF_MEMORY, "prepares");
  assert_null(harness_run(&h, BSM_ISA_DETECT, 1));
  harness_free(&h);
}

/* ---- weights ---- */

/* Weights in the CPU's form, or damaged ones, are refused. */
static void test_weights_are_its_own(void **state) {
  (void)state;
  harness h;
  float w[36];
  make_product(&h, w, 6);
  uint8_t *packed = h.weight_data[0].data;
  assert_memory_not_equal(packed + 24, w, sizeof(w)); /* bytes are swapped */
  for (size_t i = 0; i < 24; i++) {
    packed[i] ^= 1;
    expect(harness_run(&h, BSM_ISA_DETECT, 1), BSM_CORRUPT, "not packed for");
    packed[i] ^= 1;
  }
  h.weights[0].size = 6 * 16 * sizeof(float); /* what the CPU has */
  expect(harness_check(&h), BSM_CORRUPT, "packed weights that are not");
  h.weights[0].size = 24 + sizeof(w);
  assert_null(harness_run(&h, BSM_ISA_DETECT, 1));
  harness_free(&h);
}

/* ---- the target ---- */

static void test_text(void **state) {
  (void)state;
  const bsm_target *t =
      test_target_of("remote:avx2,l2=512K", 3, BSM_TARGET_ANY_ISA);
  assert_string_equal(t->text, "remote:avx2,threads=3,l2=524288");
  assert_string_equal(t->host->text, "cpu:avx2,threads=3,l2=524288");
  assert_ptr_equal(t->host->host, t->host);
  const bsm_target_request wrong = {"remote:sse9", 0, BSM_TARGET_ANY_ISA};
  bsm_arena arena;
  const bsm_target *none;
  bsm_arena_init(&arena, NULL);
  expect(bsm_target_parse(&wrong, &arena, &none), BSM_INVALID_ARGUMENT, "sse9");
  bsm_arena_destroy(&arena);
}

static int nothing_is_left(void **state) {
  (void)state;
  if (remote_live() == 0) return 0;
  fprintf(stderr, "%d things of the remote device are left\n", remote_live());
  return -1;
}

int main(void) {
  fixture_device = "remote";
#define TEST(f) cmocka_unit_test_teardown(f, nothing_is_left)
  const struct CMUnitTest tests[] = {
      TEST(test_addresses_fault),     TEST(test_wrong_addresses),
      TEST(test_failures_come_later), TEST(test_allocation_fails),
      TEST(test_wrong_recordings),    TEST(test_steps_fail),
      TEST(test_weights_are_its_own), TEST(test_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
