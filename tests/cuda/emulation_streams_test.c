/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and graphs with kernels that run: in order, and as late as
 * the driver may. */
#include <pthread.h>

#include "cuda/kernel_kit.h"

typedef struct args {
  bsm_cu_address out, in;
  int n;
} args;

#define COUNT 64
#define BYTES (COUNT * sizeof(uint32_t))

typedef struct bench {
  device d;
  bsm_cu_module module;
  bsm_cu_function add_one;
  bsm_cu_stream other;
  bsm_cu_event event;
  bsm_cu_address a, b;
  uint32_t *pinned;
} bench;

static void open_bench(bench *b, uint64_t delay) {
  device_open(&b->d);
  b->module =
      load_kernels(&b->d, "emulation_kernels.cu", test_kernels(&b->d), NULL);
  b->add_one = find_kernel(&b->d, b->module, "add_one");
  const bsm_cuda_driver *d = &b->d.driver;
  assert_cu(d->stream_create(&b->other, BSM_CU_STREAM_NON_BLOCKING));
  assert_cu(d->event_create(&b->event, BSM_CU_EVENT_DISABLE_TIMING));
  assert_cu(d->memory_allocate(&b->a, BYTES));
  assert_cu(d->memory_allocate(&b->b, BYTES));
  void *memory = NULL;
  assert_cu(d->host_allocate(&memory, BYTES, 0));
  b->pinned = memory;
  for (uint32_t i = 0; i < COUNT; i++) b->pinned[i] = i;
  b->d.standin.mode(delay, 0, 90);
}

static void close_bench(bench *b) {
  const bsm_cuda_driver *d = &b->d.driver;
  assert_cu(d->event_destroy(b->event));
  assert_cu(d->stream_destroy(b->other));
  assert_cu(d->memory_free(b->a));
  assert_cu(d->memory_free(b->b));
  assert_cu(d->host_free(b->pinned));
  assert_cu(d->module_unload(b->module));
  device_close(&b->d);
}

static void add_one(bench *b, bsm_cu_stream stream, bsm_cu_address to,
                    bsm_cu_address from) {
  args p = {to, from, COUNT};
  void *parameters[] = {&p};
  const bsm_cu_launch_config config = {
      .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .stream = stream};
  assert_cu(b->d.driver.launch(&config, b->add_one, parameters, NULL));
}

/* ---- late work ---- */

/* Without waiting nothing has come; a series of random steps gets part of it
 * done, in order. */
static void does_nothing_before_somebody_waits(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 1);
  const bsm_cuda_driver *d = &b.d.driver;
  assert_cu(d->upload_async(b.a, b.pinned, BYTES, b.d.stream));
  add_one(&b, b.d.stream, b.b, b.a);
  assert_cu(d->download_async(b.pinned, b.b, BYTES, b.d.stream));
  assert_int_equal(b.pinned[5], 5);
  /* What is in pinned memory is read when it is its turn. */
  b.pinned[5] = 100;
  assert_cu(synchronize(&b.d));
  assert_int_equal(b.pinned[5], 101);
  assert_int_equal(b.pinned[6], 7);
  /* Other memory is read at once, and written before the call returns. */
  uint32_t own[COUNT] = {7, 8, 9};
  assert_cu(d->upload_async(b.a, own, BYTES, b.d.stream));
  own[0] = own[1] = own[2] = 0;
  assert_cu(d->download_async(own, b.a, BYTES, b.d.stream));
  assert_int_equal(own[1], 8);
  close_bench(&b);
}

static bool is_right_after(uint64_t delay, bool waits) {
  bench b;
  open_bench(&b, delay);
  const bsm_cuda_driver *d = &b.d.driver;
  assert_cu(d->upload_async(b.a, b.pinned, BYTES, b.d.stream));
  for (int i = 0; i < 8; i++) add_one(&b, b.d.stream, b.a, b.a);
  assert_cu(d->event_record(b.event, b.d.stream));
  if (waits) assert_cu(d->stream_wait_event(b.other, b.event, 0));
  add_one(&b, b.other, b.b, b.a);
  assert_cu(d->download_async(b.pinned, b.b, BYTES, b.other));
  assert_cu(d->stream_synchronize(b.other));
  const bool right = b.pinned[3] == 12;
  close_bench(&b);
  return right;
}
static void shows_a_missing_wait(void **state) {
  (void)state;
  bool wrong = false;
  assert_true(is_right_after(0, true));
  assert_false(is_right_after(1, false));
  for (uint64_t delay = 1; delay < 20; delay++) {
    assert_true(is_right_after(delay, true));
    wrong = wrong || !is_right_after(delay, false);
  }
  assert_true(wrong);
}

static void waits_for_events(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 1);
  const bsm_cuda_driver *d = &b.d.driver;
  assert_cu(d->upload_async(b.a, b.pinned, BYTES, b.d.stream));
  assert_cu(d->event_record(b.event, b.d.stream));
  assert_cu(d->download_async(b.pinned, b.b, BYTES, b.d.stream));
  assert_cu(d->event_synchronize(b.event));
  assert_int_equal(b.pinned[2], 2); /* what is behind has not been done */
  assert_cu(synchronize(&b.d));
  assert_int_equal(b.pinned[2], UINT32_MAX);
  close_bench(&b);
}

static void frees_in_order(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 1);
  const bsm_cuda_driver *d = &b.d.driver;
  bsm_cu_pool pool = NULL;
  const bsm_cu_pool_props props = {.allocation_type = 1, .location = {1, 0}};
  assert_cu(d->pool_create(&pool, &props));
  bsm_cu_address c = 0;
  assert_cu(d->pool_allocate_async(&c, BYTES, pool, b.d.stream));
  assert_cu(d->upload_async(b.a, b.pinned, BYTES, b.d.stream));
  add_one(&b, b.d.stream, c, b.a);
  assert_cu(d->copy_async(b.b, c, BYTES, b.d.stream));
  assert_cu(d->pool_free_async(c, b.d.stream));
  assert_int_equal(report_of(&b.d).device_blocks, 3);
  assert_cu(d->download_async(b.pinned, b.b, BYTES, b.d.stream));
  assert_cu(synchronize(&b.d));
  assert_int_equal(report_of(&b.d).device_blocks, 2);
  assert_int_equal(b.pinned[9], 10);
  assert_cu(d->pool_destroy(pool));
  close_bench(&b);
}

/* ---- graphs ---- */

/* Two branches that join again, launched three times. */
static void replays_graphs(void **state) {
  (void)state;
  for (uint64_t delay = 0; delay < 3; delay++) {
    bench b;
    open_bench(&b, delay);
    const bsm_cuda_driver *d = &b.d.driver;
    bsm_cu_graph graph = NULL;
    bsm_cu_graph_exec executable = NULL;
    assert_cu(d->stream_begin_capture(b.d.stream, BSM_CU_CAPTURE_THREAD_LOCAL));
    assert_cu(d->upload_async(b.a, b.pinned, BYTES, b.d.stream));
    assert_cu(d->event_record(b.event, b.d.stream));
    assert_cu(d->stream_wait_event(b.other, b.event, 0));
    add_one(&b, b.other, b.b, b.a);
    assert_cu(d->event_record(b.event, b.other));
    assert_cu(d->stream_wait_event(b.d.stream, b.event, 0));
    assert_cu(d->download_async(b.pinned, b.b, BYTES, b.d.stream));
    assert_cu(d->stream_end_capture(b.d.stream, &graph));
    assert_cu(d->graph_instantiate(&executable, graph, 0));
    assert_cu(d->graph_destroy(graph));
    assert_int_equal(b.pinned[4], 4); /* capturing does nothing */
    for (int i = 0; i < 3; i++) {
      assert_cu(d->graph_launch(executable, b.other));
    }
    assert_cu(d->stream_synchronize(b.other));
    assert_int_equal(b.pinned[4], 7);
    assert_cu(d->graph_exec_destroy(executable));
    close_bench(&b);
  }
}

static void needs_captures_to_join(void **state) {
  (void)state;
  bench b;
  open_bench(&b, 0);
  const bsm_cuda_driver *d = &b.d.driver;
  bsm_cu_graph graph = NULL;
  bsm_cu_address more = 0;
  assert_cu(d->stream_begin_capture(b.d.stream, BSM_CU_CAPTURE_THREAD_LOCAL));
  assert_int_equal(d->memory_allocate(&more, 16), BSM_CU_INVALID_VALUE);
  assert_int_equal(synchronize(&b.d), BSM_CU_INVALID_VALUE);
  assert_cu(d->event_record(b.event, b.d.stream));
  assert_cu(d->stream_wait_event(b.other, b.event, 0));
  add_one(&b, b.other, b.b, b.a);
  assert_int_equal(d->stream_end_capture(b.d.stream, &graph),
                   BSM_CU_INVALID_VALUE);
  assert_null(graph);
  const standin_report r = report_of(&b.d);
  assert_int_equal(r.misuses, 3);
  assert_int_equal(r.graphs, 0);
  assert_non_null(strstr(r.last_misuse, "before its streams have joined"));
  b.d.standin.reset(1, 13000, 1 << 20);
  bsm_nvrtc_close(b.d.nvrtc);
  bsm_cuda_driver_close(&b.d.driver);
  bsm_arena_destroy(&b.d.arena);
  dlclose(b.d.standin.library);
}

/* ---- threads ---- */

#define THREADS 8

typedef struct worker {
  const bench *b;
  pthread_t thread;
  int wrong;
} worker;

static int work_once(const bench *b) {
  const bsm_cuda_driver *d = &b->d.driver;
  uint32_t x[COUNT] = {0};
  bsm_cu_stream stream = NULL;
  bsm_cu_address a = 0;
  int wrong = d->context_push(b->d.context) != 0;
  wrong |= d->stream_create(&stream, 0) || d->memory_allocate(&a, BYTES);
  wrong |= d->upload_async(a, x, BYTES, stream) != 0;
  args p = {a, a, COUNT};
  void *parameters[] = {&p};
  const bsm_cu_launch_config config = {
      .grid = {1, 1, 1}, .block = {COUNT, 1, 1}, .stream = stream};
  for (int i = 0; i < 10; i++) {
    wrong |= d->launch(&config, b->add_one, parameters, NULL) != 0;
  }
  wrong |= d->download_async(x, a, BYTES, stream) != 0;
  wrong |= d->stream_synchronize(stream) || x[COUNT - 1] != 10;
  wrong |= d->memory_free(a) || d->stream_destroy(stream);
  return wrong | (d->context_pop(NULL) != 0);
}

static void *work(void *data) {
  worker *w = data;
  for (int i = 0; i < 50; i++) w->wrong |= work_once(w->b);
  return NULL;
}

static void runs_in_threads(void **state) {
  (void)state;
  for (uint64_t delay = 0; delay < 3; delay++) {
    bench b;
    open_bench(&b, delay);
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
      workers[i] = (worker){.b = &b};
      assert_int_equal(
          pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
      assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
      assert_int_equal(workers[i].wrong, 0);
    }
    close_bench(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(does_nothing_before_somebody_waits),
      cmocka_unit_test(shows_a_missing_wait),
      cmocka_unit_test(waits_for_events),
      cmocka_unit_test(frees_in_order),
      cmocka_unit_test(replays_graphs),
      cmocka_unit_test(needs_captures_to_join),
      cmocka_unit_test(runs_in_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
