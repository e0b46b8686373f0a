/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are compiled for the host give what a GPU gives. */
#include <math.h>
#include <stdlib.h>

#include "cuda/kernel_kit.h"

typedef struct args {
  bsm_cu_address out, in;
  int n;
} args;

/* The inputs are numbers that repeat nothing; NaN pattern where nothing was
 * written. */
typedef struct bench {
  device d;
  bsm_cu_module module;
  args args;
  size_t in_bytes, out_bytes;
} bench;

static uint32_t input(uint32_t i) {
  return i * 2654435761u >> 7;
}

/* With the kernels of `text`, or with those of the tests. */
static void open_text(bench *b, const char *text, uint32_t in, uint32_t out,
                      int n, const char *const *options) {
  device_open(&b->d);
  b->module = load_kernels(&b->d, "emulation_kernels.cu",
                           text ? text : test_kernels(&b->d), options);
  uint32_t *x = calloc(in, sizeof(*x));
  assert_non_null(x);
  for (uint32_t i = 0; i < in; i++) x[i] = input(i);
  b->in_bytes = in * sizeof(*x);
  b->out_bytes = out * sizeof(*x);
  b->args.in = put(&b->d, x, b->in_bytes);
  b->args.out = put(&b->d, NULL, b->out_bytes);
  b->args.n = n;
  free(x);
}

static void open_with(bench *b, uint32_t in, uint32_t out, int n,
                      const char *const *options) {
  open_text(b, NULL, in, out, n, options);
}

static void close_bench(bench *b) {
  drop(&b->d, b->args.in);
  drop(&b->d, b->args.out);
  assert_cu(b->d.driver.module_unload(b->module));
  device_close(&b->d);
}

static void run(bench *b, const char *kernel, unsigned blocks, unsigned threads,
                unsigned shared_bytes) {
  bsm_cu_function f = find_kernel(&b->d, b->module, kernel);
  assert_cu(launch(&b->d, f, blocks, threads, shared_bytes, &b->args));
  const bsm_cu_result result = synchronize(&b->d);
  if (result) fail_msg("%d: %s", result, report_of(&b->d).last_fault);
}

static uint32_t *results(bench *b) {
  uint32_t *out = bsm_arena_alloc(&b->d.arena, b->out_bytes, 8);
  assert_non_null(out);
  fetch(&b->d, out, b->args.out, b->out_bytes);
  return out;
}

/* In their order, and in three others. */
static void in_all_orders(bench *b, const char *kernel, unsigned blocks,
                          unsigned threads, unsigned shared_bytes,
                          void (*check)(const bench *, const uint32_t *)) {
  for (uint64_t order = 0; order < 4; order++) {
    b->d.standin.mode(0, order, 90);
    assert_cu(
        b->d.driver.fill_async(b->args.out, 0xee, b->out_bytes, b->d.stream));
    run(b, kernel, blocks, threads, shared_bytes);
    check(b, results(b));
  }
}

/* ---- threads, barriers, shared memory ---- */

static void check_added(const bench *b, const uint32_t *out) {
  for (uint32_t i = 0; i < 1000; i++) {
    assert_int_equal(out[i],
                     i < (uint32_t)b->args.n ? input(i) + 1 : 0xeeeeeeeeu);
  }
}
static void runs_every_thread(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1000, 1000, 999, NULL);
  in_all_orders(&b, "add_one", 8, 128, 0, check_added);
  close_bench(&b);
}

static void knows_its_place(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1, 24 * 60, 0, NULL);
  bsm_cu_function f = find_kernel(&b.d, b.module, "places");
  const bsm_cu_launch_config config = {
      .grid = {2, 3, 4}, .block = {5, 4, 3}, .stream = b.d.stream};
  void *parameters[] = {&b.args};
  assert_cu(b.d.driver.launch(&config, f, parameters, NULL));
  const uint32_t *out = results(&b);
  for (uint32_t i = 0; i < 24 * 60; i++) {
    assert_int_equal(out[i], (i / 60) << 16 | i % 60);
  }
  close_bench(&b);
}

static void check_reversed(const bench *b, const uint32_t *out) {
  (void)b;
  for (uint32_t i = 0; i < 1200; i++) {
    assert_int_equal(out[i], input(i / 300 * 300 + 299 - i % 300));
  }
}
static void shares_memory_in_a_block(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1200, 1200, 1200, NULL);
  in_all_orders(&b, "reverse", 4, 300, 1200, check_reversed);
  close_bench(&b);
}

static void check_sums(const bench *b, const uint32_t *out) {
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t sum = 0;
    for (uint32_t i = k * 1024; i < (k + 1) * 1024; i++) {
      if (i < (uint32_t)b->args.n) sum += input(i);
    }
    assert_int_equal(out[k], sum);
  }
}
static void has_barriers_in_loops(void **state) {
  (void)state;
  bench b;
  open_with(&b, 4000, 4, 4000, NULL);
  in_all_orders(&b, "tree_sum", 4, 1024, 0, check_sums);
  close_bench(&b);
}

static void check_garbage(const bench *b, const uint32_t *out) {
  (void)b;
  for (int i = 0; i < 31; i++) assert_int_equal(out[i], 0xffffffffu);
}
static void fills_what_nobody_wrote(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1, 32, 0, NULL);
  const uint32_t *out = results(&b);
  for (int i = 0; i < 32; i++) assert_int_equal(out[i], 0xffffffffu);
  in_all_orders(&b, "garbage", 1, 32, 128, check_garbage);
  close_bench(&b);
}

static void check_votes(const bench *b, const uint32_t *out) {
  (void)b;
  for (int i = 0; i < 100; i++) assert_int_equal(out[i], 50 << 2 | 2 | 1);
}
static void counts_votes_of_a_block(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1, 100, 0, NULL);
  in_all_orders(&b, "votes", 1, 100, 0, check_votes);
  close_bench(&b);
}

static void shows_a_missing_barrier(void **state) {
  (void)state;
  bench b;
  bool wrong = false;
  open_with(&b, 1, 64, 0, NULL);
  run(&b, "racy", 1, 64, 0);
  const uint32_t *out = results(&b);
  for (uint32_t i = 0; i < 64; i++) wrong = wrong || out[i] != 63 - i;
  assert_true(wrong);
  close_bench(&b);
}

static void lets_others_run_while_it_sleeps(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1, 1, 0, NULL);
  run(&b, "wakes", 1, 96, 0);
  assert_int_equal(results(&b)[0], 1);
  close_bench(&b);
}

/* ---- clusters ---- */

/* Blocks of a cluster tell each other a number of each of their threads. They
 * have no variables in shared memory, so they are a module of their own. */
static const char telling[] =
    "#include \"device.cuh\"\n"
    "struct args { u32 *out; const u32 *in; int n; };\n"
    "CLUSTER_KERNEL_OF(64, 4, tell, args) {\n"
    "  DYNAMIC_SHARED(memory);\n"
    "  float *told = (float *)memory;\n"
    "  const u32 own = blockIdx.x % 4, at = own * 64 + threadIdx.x;\n"
    "  const u32 i = blockIdx.x * 64 + threadIdx.x;\n"
    "  for (u32 block = 0; block < 4; block++) {\n"
    "    ptx_cluster_store(shared_address(told + at), block,\n"
    "                      (float)(p.in[i] % 1000));\n"
    "  }\n"
    "  ptx_cluster_arrive();\n"
    "  ptx_cluster_wait();\n"
    "  u32 sum = 0;\n"
    "  for (u32 block = 0; block < 4; block++) {\n"
    "    sum = sum * 2 + (u32)told[block * 64 + threadIdx.x];\n"
    "  }\n"
    "  p.out[i] = sum;\n"
    "}\n";

static void check_told(const bench *b, const uint32_t *out) {
  (void)b;
  for (uint32_t i = 0; i < 512; i++) {
    uint32_t sum = 0;
    for (uint32_t block = 0; block < 4; block++) {
      sum = sum * 2 + input(i / 256 * 256 + block * 64 + i % 64) % 1000;
    }
    assert_int_equal(out[i], sum);
  }
}
static void has_clusters(void **state) {
  (void)state;
  bench b;
  open_text(&b, telling, 512, 512, 0, NULL);
  in_all_orders(&b, "tell", 8, 64, 1024, check_told);
  /* A part of a cluster cannot be launched. */
  bsm_cu_function f = find_kernel(&b.d, b.module, "tell");
  assert_cu(launch(&b.d, f, 6, 64, 1024, &b.args));
  const bsm_cu_result lost = BSM_CU_LAUNCH_FAILED;
  assert_int_equal(synchronize(&b.d), lost);
  assert_non_null(strstr(report_of(&b.d).last_fault, "clusters"));
  assert_int_equal(b.d.driver.memory_free(b.args.in), lost);
  assert_int_equal(b.d.driver.memory_free(b.args.out), lost);
  assert_int_equal(b.d.driver.module_unload(b.module), lost);
  device_close(&b.d);
}

/* ---- warps ---- */

static void check_exchanged(const bench *b, const uint32_t *out) {
  (void)b;
  for (uint32_t i = 0; i < 64; i++, out += 8) {
    const uint32_t lane = i % 32, first = i - lane;
    uint32_t odd = 0, sum = 0, same = 0;
    for (uint32_t k = 0; k < 32; k++) {
      const uint32_t x = input(first + k);
      odd |= (x & 1u) << k;
      sum += x;
      same |= (uint32_t)(x % 4 == input(i) % 4) << k;
    }
    const uint32_t up = lane < 3 ? i : i - 3, down = lane % 16 < 11 ? i + 5 : i;
    assert_int_equal(out[0], input(first + lane * 7 % 32));
    assert_int_equal(out[1], input(up));
    assert_int_equal(out[2], input(down));
    assert_int_equal(out[3], input(i ^ 9));
    assert_int_equal(out[4], odd);
    assert_int_equal(out[5], 3);
    assert_int_equal(out[6], sum);
    assert_int_equal(out[7], same);
  }
}
static void exchanges_within_a_warp(void **state) {
  (void)state;
  bench b;
  open_with(&b, 64, 512, 0, NULL);
  in_all_orders(&b, "warp_exchange", 1, 64, 0, check_exchanged);
  close_bench(&b);
}

static void check_half_warps(const bench *b, const uint32_t *out) {
  (void)b;
  uint32_t x[32], y[32];
  for (uint32_t i = 0; i < 32; i++) x[i] = input(i);
  for (int round = 0; round < 9; round++) {
    memcpy(y, x, sizeof(x));
    for (uint32_t i = round < 4 ? 0 : 16; i < 32; i++) {
      x[i] += y[i ^ 1u << round % 4];
    }
  }
  assert_memory_equal(out, x, sizeof(x));
}
static void exchanges_by_masks(void **state) {
  (void)state;
  bench b;
  open_with(&b, 32, 32, 0, NULL);
  in_all_orders(&b, "half_warps", 1, 32, 0, check_half_warps);
  close_bench(&b);
}

/* ---- atomics, bits, vectors ---- */

static void adds_atomically(void **state) {
  (void)state;
  bench b;
  open_with(&b, 256, 10, 256, NULL);
  assert_cu(b.d.driver.fill_async(b.args.out, 0, 40, b.d.stream));
  assert_cu(b.d.driver.fill_async(b.args.out + 8, 0xff, 4, b.d.stream));
  run(&b, "atomics", 2, 128, 0);
  const uint32_t *out = results(&b);
  uint32_t sum = 0, least = UINT32_MAX, bits = 0;
  int greatest = 0;
  uint64_t wide = 0;
  for (uint32_t i = 0; i < 256; i++) {
    const uint32_t x = input(i);
    sum += x;
    if (x < least) least = x;
    if ((int)x - 100 > greatest) greatest = (int)x - 100;
    bits |= 1u << (x & 31u);
    wide += UINT64_C(1) << 32 | x;
  }
  assert_int_equal(out[0], sum);
  assert_int_equal(out[1], greatest);
  assert_int_equal(out[2], least);
  assert_int_equal(out[3], bits);
  assert_int_equal(out[4], 5);
  assert_int_equal(out[5], 512);
  float half = 0;
  memcpy(&half, &out[6], 4);
  assert_true(half == 128.0f);
  uint64_t seen = 0;
  memcpy(&seen, &out[8], 8);
  assert_true(seen == wide);
  close_bench(&b);
}

static void has_functions_of_bits(void **state) {
  (void)state;
  bench b;
  open_with(&b, 64, 512, 0, NULL);
  run(&b, "bits", 2, 32, 0);
  const uint32_t *out = results(&b);
  for (uint32_t i = 0; i < 64; i++, out += 8) {
    const uint32_t x = input(i);
    uint32_t reversed = 0, ones = 0, zeros = 0, first = 0;
    for (uint32_t k = 0; k < 32; k++) {
      reversed |= (x >> k & 1u) << (31 - k);
      ones += x >> k & 1u;
      if (!first && x >> k & 1u) first = k + 1;
    }
    while (zeros < 32 && !(x >> (31 - zeros) & 1u)) zeros++;
    assert_int_equal(out[0], ones);
    assert_int_equal(out[1], zeros);
    assert_int_equal(out[2], first);
    assert_int_equal(out[3], (uint64_t)x * 0x9e3779b9u >> 32);
    assert_int_equal(out[4], reversed);
    assert_int_equal(out[5], (x & 255u) | (~x & 255u) << 8 |
                                 (x >> 8 & 255u) << 16 |
                                 (~x >> 8 & 255u) << 24);
    assert_int_equal(out[6], ~x << 5 | x >> 27);
    float root;
    memcpy(&root, &out[7], 4);
    if (x) {
      assert_true(fabs((double)root * sqrt((double)(float)x) - 1) < 1e-6);
    } else {
      assert_true(isinf(root));
    }
  }
  close_bench(&b);
}

static void check_copied(const bench *b, const uint32_t *out) {
  (void)b;
  for (uint32_t i = 0; i < 999; i++) assert_int_equal(out[i], input(i));
  assert_int_equal(out[999], 0xeeeeeeeeu);
}
static void copies_vectors(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1000, 1000, 999, NULL);
  in_all_orders(&b, "copy4", 1, 250, 0, check_copied);
  close_bench(&b);
}

static void copies_in_stages(void **state) {
  (void)state;
  bench b;
  open_with(&b, 5 * 32 * 4, 32, 5, NULL);
  run(&b, "staged", 1, 32, 1024);
  const uint32_t *out = results(&b);
  for (uint32_t t = 0; t < 32; t++) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 20; i++) {
      sum += input((i / 4 * 32 + t) * 4 + i % 4);
    }
    assert_int_equal(out[t], sum);
  }
  /* Without waiting there is nothing yet. */
  run(&b, "hasty", 1, 32, 512);
  out = results(&b);
  for (uint32_t t = 0; t < 32; t++) assert_int_equal(out[t], 0xffffffffu);
  close_bench(&b);
}

/* ---- halves ---- */

static double half_value(uint32_t x, int exponent_bits, int mantissa_bits) {
  const int mantissa = (int)(x & ((1u << mantissa_bits) - 1));
  const int exponent = (int)(x >> mantissa_bits & ((1u << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = x >> 15 & 1u ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return mantissa ? (double)NAN : sign * (double)INFINITY;
  }
  if (!exponent) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * ldexp(mantissa + (1 << mantissa_bits),
                      exponent - bias - mantissa_bits);
}

static void assert_same_number(uint32_t bits, double expected) {
  float x;
  memcpy(&x, &bits, 4);
  if (isnan(expected)) {
    assert_true(isnan(x));
  } else {
    assert_true((double)x == expected && !signbit(x) == !signbit(expected));
  }
}

static void reads_all_halves(void **state) {
  (void)state;
  bench b;
  open_with(&b, 1, 2 << 16, 0, NULL);
  run(&b, "from_halves", 256, 256, 0);
  const uint32_t *out = results(&b);
  for (uint32_t i = 0; i < 1 << 16; i++) {
    assert_same_number(out[2 * i], half_value(i, 5, 10));
    assert_same_number(out[2 * i + 1], half_value(i, 8, 7));
  }
  close_bench(&b);
}

/* For each half: itself, the middle between it and the next one, and the
 * floats on both sides of the middle. */
static uint32_t around(uint32_t i, int exponent_bits, int mantissa_bits) {
  const uint32_t half = i / 4 & 0x7fffu;
  const double a = half_value(half, exponent_bits, mantissa_bits);
  double b = half_value(half + 1, exponent_bits, mantissa_bits);
  if (isinf(b) && !isinf(a)) b = ldexp(1, 1 << (exponent_bits - 1));
  float x = (float)(i % 4 == 0 ? a : a / 2 + b / 2);
  if (i % 4 == 1) x = nextafterf(x, -INFINITY);
  if (i % 4 == 2) x = nextafterf(x, INFINITY);
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits | (i / 4 & 0x8000u) << 16;
}

/* By trying: the nearest of the two halves, of equally near ones the even. */
static uint32_t nearest(uint32_t i, int exponent_bits, int mantissa_bits,
                        uint32_t bits) {
  const uint32_t half = i / 4 & 0x7fffu, sign = i / 4 & 0x8000u;
  const double a = half_value(half, exponent_bits, mantissa_bits);
  float x;
  memcpy(&x, &bits, 4);
  if (isnan(x)) return 0x7fff;
  if (i % 4 == 0 || isinf(a)) return half | sign;
  if (i % 4 == 1) return half | sign;
  if (i % 4 == 2) return (half + 1) | sign;
  return (half % 2 ? half + 1 : half) | sign;
}

static void rounds_to_halves(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    const int exponent = kind ? 8 : 5, mantissa = kind ? 7 : 10;
    const uint32_t count = 4 << 16;
    bench b;
    open_with(&b, count, count, (int)count, NULL);
    uint32_t *in = calloc(count, sizeof(*in));
    assert_non_null(in);
    for (uint32_t i = 0; i < count; i++) in[i] = around(i, exponent, mantissa);
    assert_cu(
        b.d.driver.upload_async(b.args.in, in, 4 * (size_t)count, b.d.stream));
    run(&b, "to_halves", count / 256, 256, 0);
    const uint32_t *out = results(&b);
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t seen = out[i] >> 16 * kind & 0xffffu;
      const uint32_t expected = nearest(i, exponent, mantissa, in[i]);
      if (seen != expected) {
        fail_msg("%08x becomes %04x, not %04x", in[i], seen, expected);
      }
    }
    free(in);
    close_bench(&b);
  }
}

/* ---- products of a warp ---- */

static void multiplies_in_a_warp(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; kind++) {
    const char *const options[] = {kind ? "-DT=bf16" : "-DT=f16", NULL};
    const int exponent = kind ? 8 : 5, mantissa = kind ? 7 : 10;
    uint16_t in[16 * 16 + 8 * 16];
    bench b;
    open_with(&b, 192, 192, 0, options);
    /* Numbers near 1 of both signs; in fp16 some small ones, too. */
    for (uint32_t i = 0; i < 384; i++) {
      in[i] = (uint16_t)((kind ? 0x3f00u : 0x3800u) ^ (input(i) & 0x80ffu));
      if (!kind && i % 29 == 0) in[i] = (uint16_t)(input(i) & 0x83ffu);
    }
    assert_cu(b.d.driver.upload_async(b.args.in, in, sizeof(in), b.d.stream));
    run(&b, "one_product", 1, 32, 0);
    const uint32_t *out = results(&b);
    for (uint32_t m = 0; m < 16; m++) {
      for (uint32_t n = 0; n < 8; n++) {
        const uint32_t lane = m % 8 * 4 + n / 2, i = m / 8 * 2 + n % 2;
        double sum = i + 1;
        for (uint32_t k = 0; k < 16; k++) {
          sum += half_value(in[m * 16 + k], exponent, mantissa) *
                 half_value(in[256 + n * 16 + k], exponent, mantissa);
        }
        assert_same_number(out[lane * 4 + i], (double)(float)sum);
      }
    }
    for (uint32_t i = 0; i < 64; i++) {
      const uint32_t matrix = i % 2, row = i / 2 / 4, column = i / 2 % 4 * 2;
      const uint16_t *from = in + 256 + matrix * 8 + row;
      assert_int_equal(
          out[128 + i],
          from[column * 16] | (uint32_t)from[(column + 1) * 16] << 16);
    }
    close_bench(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_every_thread),
      cmocka_unit_test(knows_its_place),
      cmocka_unit_test(shares_memory_in_a_block),
      cmocka_unit_test(has_barriers_in_loops),
      cmocka_unit_test(fills_what_nobody_wrote),
      cmocka_unit_test(counts_votes_of_a_block),
      cmocka_unit_test(shows_a_missing_barrier),
      cmocka_unit_test(lets_others_run_while_it_sleeps),
      cmocka_unit_test(has_clusters),
      cmocka_unit_test(exchanges_within_a_warp),
      cmocka_unit_test(exchanges_by_masks),
      cmocka_unit_test(adds_atomically),
      cmocka_unit_test(has_functions_of_bits),
      cmocka_unit_test(copies_vectors),
      cmocka_unit_test(copies_in_stages),
      cmocka_unit_test(reads_all_halves),
      cmocka_unit_test(rounds_to_halves),
      cmocka_unit_test(multiplies_in_a_warp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
