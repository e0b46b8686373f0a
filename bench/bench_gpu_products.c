/* SPDX-License-Identifier: Apache-2.0 */
/* Times products and convolutions of half on a GPU of sm_90, in all tiles and
 * all ways to share the work that there are for them, and checks them.
 *
 *   bench_gpu_products compile FOLDER [FILTER]    needs NVRTC, and no GPU
 *   bench_gpu_products run FOLDER [FILTER]        what was compiled there
 *   bench_gpu_products costs                      as the cost model has them
 *   bench_gpu_products list                       the problems, as numbers
 *
 * A line for each: problem, tactic, blocks, shared tiles (-: does not apply),
 * microseconds as the cost model has them, and measured. Then for each problem
 * the fastest, and the one that the cost model would take. Kernels are launched
 * many times in a graph, with operands in turns from more memory than the
 * caches hold, as in a network. Some elements of each result are compared with
 * sums in double, and two runs with each other. bench/gpu_products.py times the
 * same problems in PyTorch. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_map.h"
#include "backend/cuda/steps/cuda_wgmma.h"
#include "backend/cuda/target/kernel_sources.h"
#include "backend/cuda/target/nvrtc.h"
#include "base/hash.h"

#define SM 90
#define MAX_CANDIDATES 512
#define MAX_KERNELS 2048
#define SETS 16
#define ROTATED ((size_t)160 << 20)
#define IN_GRAPH 24
#define CHECKED 64
#define MOST_CHECKED ((size_t)8 << 20) /* the last elements of a result */

static void stop(bsm_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", bsm_status_message(status));
  exit(1);
}

static void *need(void *p) {
  if (!p) {
    fprintf(stderr, "no memory\n");
    exit(1);
  }
  return p;
}

/* ---- problems ---- */

/* A product of `images` batches, of `ih` rows, or a convolution. */
typedef struct shape {
  const char *name;
  bool is_conv, b_along_k, weights;
  int images, ih, iw, c, n, kh, kw, stride, pad;
  bool residual;
} shape;

#define PRODUCT(name, batches, m, n, k) \
  { name, false, false, (batches) == 1, batches, m, 1, k, n, 1, 1, 1, 0 }
#define PRODUCT_K(name, batches, m, n, k) \
  { name, false, true, false, batches, m, 1, k, n, 1, 1, 1, 0 }
#define CONV(name, images, size, c, n, kernel, stride)                        \
  {                                                                           \
    name, true, true, true, images, size, size, c, n, kernel, kernel, stride, \
        (kernel) / 2                                                          \
  }
#define CONV_ADD(name, images, size, c, n) \
  { name, true, true, true, images, size, size, c, n, 1, 1, 1, 0, true }
#define NETWORKS(b)                                         \
  CONV("resnet 56 64 64 1", b, 56, 64, 64, 1, 1),           \
      CONV("resnet 56 64 256 1", b, 56, 64, 256, 1, 1),     \
      CONV_ADD("resnet 56 64 256 1+", b, 56, 64, 256),      \
      CONV_ADD("resnet 14 256 1024 1+", b, 14, 256, 1024),  \
      CONV("resnet 56 256 64 1", b, 56, 256, 64, 1, 1),     \
      CONV("resnet 56 64 64 3", b, 56, 64, 64, 3, 1),       \
      CONV("resnet 56 128 128 3/2", b, 56, 128, 128, 3, 2), \
      CONV("resnet 56 256 512 1/2", b, 56, 256, 512, 1, 2), \
      CONV("resnet 28 128 128 3", b, 28, 128, 128, 3, 1),   \
      CONV("resnet 28 512 128 1", b, 28, 512, 128, 1, 1),   \
      CONV("resnet 28 128 512 1", b, 28, 128, 512, 1, 1),   \
      CONV("resnet 14 256 256 3", b, 14, 256, 256, 3, 1),   \
      CONV("resnet 14 1024 256 1", b, 14, 1024, 256, 1, 1), \
      CONV("resnet 14 256 1024 1", b, 14, 256, 1024, 1, 1), \
      CONV("resnet 7 512 512 3", b, 7, 512, 512, 3, 1),     \
      CONV("resnet 7 2048 512 1", b, 7, 2048, 512, 1, 1),   \
      CONV("resnet 7 512 2048 1", b, 7, 512, 2048, 1, 1),   \
      CONV("vgg 224 64 64 3", b, 224, 64, 64, 3, 1),        \
      CONV("vgg 112 128 128 3", b, 112, 128, 128, 3, 1),    \
      CONV("vgg 56 256 256 3", b, 56, 256, 256, 3, 1),      \
      CONV("vgg 28 512 512 3", b, 28, 512, 512, 3, 1),      \
      CONV("vgg 14 512 512 3", b, 14, 512, 512, 3, 1),      \
      CONV("unet 256 32 32 3", b, 256, 32, 32, 3, 1),       \
      CONV("unet 128 64 64 3", b, 128, 64, 64, 3, 1),       \
      CONV("dense 28 96 128 1", b, 28, 96, 128, 1, 1),      \
      CONV("dense 14 128 32 3", b, 14, 128, 32, 3, 1),      \
      PRODUCT("bert qkv", 1, 128 * (b), 2304, 768),         \
      PRODUCT("bert out", 1, 128 * (b), 768, 768),          \
      PRODUCT("bert up", 1, 128 * (b), 3072, 768),          \
      PRODUCT("bert down", 1, 128 * (b), 768, 3072),        \
      PRODUCT("vit qkv", 1, 197 * (b), 2304, 768),          \
      PRODUCT("vit out", 1, 197 * (b), 768, 768),           \
      PRODUCT("vit up", 1, 197 * (b), 3072, 768),           \
      PRODUCT("vit down", 1, 197 * (b), 768, 3072),         \
      PRODUCT("swin qkv", 1, 3136 * (b), 288, 96),          \
      PRODUCT("gpt head", 1, 64 * (b), 50264, 768),         \
      PRODUCT("vgg fc", 1, b, 4096, 25088),                 \
      PRODUCT_K("scores", 12 * (b), 200, 200, 64)

static const shape shapes[] = {
    NETWORKS(1),
    NETWORKS(32),
    PRODUCT("square 1024", 1, 1024, 1024, 1024),
    PRODUCT("square 2048", 1, 2048, 2048, 2048),
    PRODUCT("square 4096", 1, 4096, 4096, 4096),
    PRODUCT("square 8192", 1, 8192, 8192, 8192),
    PRODUCT_K("square 4096 k", 1, 4096, 4096, 4096),
    PRODUCT_K("square 8192 k", 1, 8192, 8192, 8192),
    {"odd 3x5", true, true, true, 3, 17, 30, 72, 136, 3, 5, 2, 1},
    {"odd 5x1", true, true, true, 2, 19, 12, 200, 72, 5, 1, 1, 2},
    {"odd 1x7/3", true, true, true, 2, 9, 40, 40, 90, 1, 7, 3, 3},
    PRODUCT("odd product", 3, 333, 1000, 264),
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

typedef struct problem {
  const shape *s;
  bsm_cuda_mma_problem mma;
  size_t a_count, b_count, y_count;
} problem;

static void set_windows(problem *p, int oh, int ow) {
  const shape *s = p->s;
  bsm_cuda_mma *q = &p->mma.params;
  const int32_t in[] = {1, s->ih, s->iw}, out[] = {1, oh, ow};
  const int32_t in_stride[] = {s->ih * s->iw * s->c, s->iw * s->c, s->c};
  const int32_t kernel[] = {1, s->kh, s->kw};
  p->mma.image = 2;
  for (int d = 0; d < 3; d++) {
    q->in[d] = in[d];
    q->out[d] = out[d];
    q->in_stride[d] = in_stride[d];
    q->kernel[d] = kernel[d];
    q->stride[d] = d ? s->stride : 1;
    q->dilation[d] = 1;
    q->pre[d] = d ? s->pad : 0;
  }
  q->image_stride = s->ih * s->iw * s->c;
}

static problem make_problem(const shape *s) {
  problem p = {.s = s};
  const int oh = (s->ih + 2 * s->pad - s->kh) / s->stride + 1;
  const int ow = (s->iw + 2 * s->pad - s->kw) / s->stride + 1;
  bsm_cuda_mma *q = &p.mma.params;
  q->m = s->is_conv ? s->images * oh * ow : s->ih;
  q->n = s->n;
  q->k = s->c * s->kh * s->kw;
  q->scale = 1;
  q->loops = 1;
  q->batch_sizes[0] = s->is_conv ? 1 : s->images;
  q->a_row = s->c;
  q->a_column = 1;
  q->b_row = s->b_along_k ? 1 : s->n;
  q->b_column = s->b_along_k ? q->k : 1;
  q->y_row = s->n;
  q->a_batch[0] = (int64_t)q->m * s->c;
  q->b_batch[0] = (int64_t)q->n * q->k;
  q->y_batch[0] = (int64_t)q->m * q->n;
  q->bias_batch = s->n;
  q->maps = s->c;
  p.mma.batches = q->batch_sizes[0];
  p.mma.dtype = BSM_DTYPE_HALF;
  p.mma.unit = bsm_cuda_unit_of(BSM_DTYPE_HALF, 0, SM);
  p.mma.activation = s->is_conv; /* 1: relu */
  p.mma.a = p.mma.aligned_a = BSM_CUDA_MMA_ALONG_K;
  p.mma.b = p.mma.aligned_b =
      s->b_along_k ? BSM_CUDA_MMA_ALONG_K : BSM_CUDA_MMA_ALONG_N;
  p.mma.weights = s->weights;
  p.mma.vector = s->n % 8 == 0;
  p.mma.residual = s->residual;
  q->residual_row = s->n;
  q->residual_column = 1;
  q->residual_batch[0] = q->y_batch[0];
  if (s->is_conv && (s->kh * s->kw > 1 || s->stride > 1)) {
    set_windows(&p, oh, ow);
  }
  p.a_count = (size_t)s->images * (size_t)(s->ih * s->iw) * (size_t)s->c;
  p.b_count = (size_t)p.mma.batches * (size_t)q->n * (size_t)q->k;
  p.y_count = (size_t)p.mma.batches * (size_t)q->m * (size_t)q->n;
  return p;
}

/* ---- candidates ---- */

typedef struct candidate {
  bsm_cuda_launches *launches;
  const char *tactic;
  int blocks, shared;
  double cost, measured;
} candidate;

static candidate *add_candidate(candidate *list, size_t *count,
                                bsm_arena *arena, const char *tactic) {
  candidate *c = &list[(*count)++];
  if (*count == MAX_CANDIDATES) stop(BSM_FAIL(BSM_INTERNAL, "too many"));
  *c = (candidate){.tactic = tactic, .blocks = -1, .shared = -1};
  c->launches = need(BSM_NEW(arena, bsm_cuda_launches));
  *c->launches = (bsm_cuda_launches){.arena = arena, .sm = SM, .rounds = 1};
  return c;
}

static const char *const mma_tactics[] = {
    "mma 128x256x32", "mma 128x64x64", "mma 128x64x32", "mma 64x128x64",
    "mma 64x128x32",  "mma 64x64x64",  "mma 64x64x32",  "mma 64x32x64",
    "mma 32x64x64",   "mma 32x32x128", "mma 16x64x64"};

static size_t make_candidates(const problem *p, bsm_arena *arena,
                              candidate *list) {
  size_t count = 0;
  for (size_t i = 0; i < sizeof(mma_tactics) / sizeof(char *); i++) {
    candidate *c = add_candidate(list, &count, arena, mma_tactics[i]);
    stop(bsm_cuda_launch_mma(c->launches, &p->mma, c->tactic));
    c->cost = bsm_cuda_mma_cost(&p->mma, SM, c->tactic);
  }
  for (int tile = 0; tile < BSM_CUDA_MAX_WGMMA; tile++) {
    bsm_cuda_wgmma_choice ways[BSM_CUDA_MAX_WGMMA_WAYS];
    const size_t found = bsm_cuda_wgmma_ways(&p->mma, SM, tile, ways);
    for (size_t i = 0; i < found; i++) {
      /* Of many splits some will do. */
      if (found > 10 && i > 4 && i + 2 < found && i % 3) continue;
      candidate *c = add_candidate(list, &count, arena, ways[i].tactic);
      stop(bsm_cuda_launch_wgmma(c->launches, &p->mma, &ways[i]));
      c->blocks = ways[i].blocks;
      c->shared = ways[i].shared_tiles;
      c->cost = ways[i].cost;
    }
  }
  for (size_t i = 0; i < count; i++) {
    bsm_cuda_launch *l = &list[i].launches->items[0];
    stop(bsm_cuda_name_kernel(arena, &l->kernel));
  }
  return count;
}

static void file_of(const bsm_cuda_kernel *k, const char *folder, char *path,
                    size_t room) {
  uint64_t hash = bsm_hash64(k->name, strlen(k->name), 0);
  for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
    hash = bsm_hash64(s->text, strlen(s->text), hash);
  }
  snprintf(path, room, "%s/%016" PRIx64 ".cubin", folder, hash);
}

/* ---- compiling ---- */

typedef struct compilation {
  const bsm_nvrtc *nvrtc;
  const char *folder;
  const bsm_cuda_kernel *kernels[MAX_KERNELS];
  size_t count;
  atomic_size_t next;
} compilation;

static void compile_one(const compilation *c, const bsm_cuda_kernel *k) {
  bsm_arena arena;
  const char *names[64], *texts[64], *options[32], *text = NULL;
  char path[512], source_name[64], *rest = NULL;
  int headers = 0, count = 0;
  file_of(k, c->folder, path, sizeof(path));
  FILE *f = fopen(path, "rb");
  if (f) {
    fclose(f);
    return;
  }
  bsm_arena_init(&arena, NULL);
  snprintf(source_name, sizeof(source_name), "%s.cu", k->source);
  for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
    if (strcmp(s->name, source_name) == 0) text = s->text;
    const size_t length = strlen(s->name);
    if (s->name[length - 1] != 'h') continue;
    names[headers] = s->name;
    texts[headers++] = s->text;
  }
  char *all = need(bsm_arena_printf(&arena, "%s", k->options));
  for (char *at = strtok_r(all, " ", &rest); at && count < 32;
       at = strtok_r(NULL, " ", &rest)) {
    options[count++] = at;
  }
  bsm_str code;
  stop(bsm_nvrtc_compile(c->nvrtc,
                         &(bsm_nvrtc_source){source_name, text, names, texts,
                                             headers, options, count},
                         "sm_90a", &arena, &code, NULL));
  f = need(fopen(path, "wb"));
  if (fwrite(code.data, 1, code.len, f) != code.len) exit(1);
  fclose(f);
  bsm_arena_destroy(&arena);
}

static void *compile_some(void *user) {
  compilation *c = user;
  for (;;) {
    const size_t i = atomic_fetch_add(&c->next, 1);
    if (i >= c->count) return NULL;
    compile_one(c, c->kernels[i]);
  }
}

static void add_kernel(compilation *c, const bsm_cuda_kernel *k) {
  for (size_t i = 0; i < c->count; i++) {
    if (strcmp(c->kernels[i]->name, k->name) == 0) return;
  }
  if (c->count == MAX_KERNELS) stop(BSM_FAIL(BSM_INTERNAL, "too many"));
  c->kernels[c->count++] = k;
}

static void compile(bsm_arena *arena, const char *folder, const char *filter) {
  static compilation c;
  static candidate list[MAX_CANDIDATES];
  bsm_nvrtc *nvrtc = NULL;
  stop(bsm_nvrtc_open(NULL, arena, &nvrtc));
  c.nvrtc = nvrtc;
  c.folder = folder;
  for (size_t i = 0; i < SHAPES; i++) {
    if (!strstr(shapes[i].name, filter)) continue;
    const problem p = make_problem(&shapes[i]);
    const size_t count = make_candidates(&p, arena, list);
    for (size_t k = 0; k < count; k++) {
      add_kernel(&c, &list[k].launches->items[0].kernel);
    }
  }
  printf("%zu kernels\n", c.count);
  pthread_t threads[16];
  for (int i = 0; i < 16; i++) {
    if (pthread_create(&threads[i], NULL, compile_some, &c)) exit(1);
  }
  for (int i = 0; i < 16; i++) pthread_join(threads[i], NULL);
  bsm_nvrtc_close(nvrtc);
}

/* ---- the GPU ---- */

typedef struct gpu {
  bsm_cuda_driver driver;
  bsm_cu_stream stream;
  bsm_cu_event from, to;
  const char *folder;
  bsm_cu_address a, b, y, bias, residual, scratch, counters;
  size_t scratch_bytes;
} gpu;

#define CALL(g, member, ...) \
  stop(bsm_cuda_status(&(g)->driver, (g)->driver.member(__VA_ARGS__), #member))

static void open_gpu(gpu *g) {
  bsm_cu_device device;
  bsm_cu_context context;
  stop(bsm_cuda_driver_open(NULL, &g->driver));
  CALL(g, device_get, &device, 0);
  CALL(g, primary_context_retain, &context, device);
  CALL(g, context_push, context);
  CALL(g, stream_create, &g->stream, BSM_CU_STREAM_NON_BLOCKING);
  CALL(g, event_create, &g->from, 0);
  CALL(g, event_create, &g->to, 0);
  CALL(g, memory_allocate, &g->counters, BSM_CUDA_COUNTERS * 4);
  CALL(g, fill_async, g->counters, 0, BSM_CUDA_COUNTERS * 4, g->stream);
  g->scratch_bytes = (size_t)1 << 28;
  CALL(g, memory_allocate, &g->scratch, g->scratch_bytes);
}

static uint16_t number(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  const uint32_t r = *seed >> 8;
  return (uint16_t)((r & 0x8000u) | (0x2c00u + (r & 0xfffu)));
}

/* `sets` copies of the same random numbers. */
static bsm_cu_address put(gpu *g, const uint16_t *from, size_t count,
                          int sets) {
  bsm_cu_address to;
  CALL(g, memory_allocate, &to, count * 2 * (size_t)sets + 256);
  for (int i = 0; i < sets; i++) {
    CALL(g, upload_async, to + (uint64_t)i * count * 2, from, count * 2,
         g->stream);
  }
  CALL(g, stream_synchronize, g->stream);
  return to;
}

static uint16_t *random_numbers(size_t count, uint32_t seed) {
  uint16_t *x = need(malloc(count * 2));
  for (size_t i = 0; i < count; i++) x[i] = number(&seed);
  return x;
}

typedef struct loaded {
  bsm_cu_module module;
  bsm_cu_function function;
} loaded;

static bool load(gpu *g, const bsm_cuda_launch *l, loaded *out) {
  char path[512];
  static char code[8 << 20];
  file_of(&l->kernel, g->folder, path, sizeof(path));
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  const size_t size = fread(code, 1, sizeof(code), f);
  fclose(f);
  if (size == 0) return false;
  CALL(g, module_load, &out->module, code, 0, NULL, NULL);
  CALL(g, module_get_function, &out->function, out->module, l->kernel.entry);
  CALL(g, function_set_attribute, out->function,
       BSM_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE, (int)l->shared_bytes);
  return true;
}

static void launch(gpu *g, const problem *p, const bsm_cuda_launch *l,
                   bsm_cu_function f, int set) {
  _Alignas(64) uint8_t params[BSM_CUDA_MAX_PARAMS];
  bsm_cuda_mma *q = (bsm_cuda_mma *)(void *)params;
  memcpy(params, l->params, l->params_size);
  q->a = g->a + (uint64_t)set * p->a_count * 2;
  q->b = g->b + (uint64_t)set * p->b_count * 2;
  q->y = g->y + (uint64_t)set * p->y_count * 2;
  q->bias = g->bias;
  q->residual =
      p->s->residual ? g->residual + (uint64_t)set * p->y_count * 2 : 0;
  q->partial = g->scratch;
  q->counters = g->counters;
  for (uint32_t i = 0; i < l->tiles_count; i++) {
    stop(bsm_cuda_write_map(&g->driver, l->tiles[i], params));
  }
  bsm_cu_launch_attribute overlap = {
      .id = BSM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION, .value.flag = 1};
  void *values[] = {params};
  const bsm_cu_launch_config config = {
      .attributes = &overlap,
      .attribute_count = 1,
      .grid = {l->grid[0], l->grid[1], l->grid[2]},
      .block = {l->block[0], l->block[1], l->block[2]},
      .shared_bytes = l->shared_bytes,
      .stream = g->stream};
  CALL(g, launch, &config, f, values, NULL);
}

/* Microseconds of one launch. */
static double time_launches(gpu *g, const problem *p, const bsm_cuda_launch *l,
                            bsm_cu_function f, int sets, double about) {
  const int count = about > 200 ? 4 : IN_GRAPH;
  const int repeats = about > 1000 ? 2 : 5;
  bsm_cu_graph graph;
  bsm_cu_graph_exec exec;
  float least = 1e30f;
  CALL(g, stream_begin_capture, g->stream, BSM_CU_CAPTURE_THREAD_LOCAL);
  for (int i = 0; i < count; i++) launch(g, p, l, f, i % sets);
  CALL(g, stream_end_capture, g->stream, &graph);
  CALL(g, graph_instantiate, &exec, graph, 0);
  for (int i = 0; i < repeats; i++) {
    float ms;
    CALL(g, event_record, g->from, g->stream);
    CALL(g, graph_launch, exec, g->stream);
    CALL(g, event_record, g->to, g->stream);
    CALL(g, event_synchronize, g->to);
    CALL(g, event_elapsed, &ms, g->from, g->to);
    if (i && ms < least) least = ms;
  }
  CALL(g, graph_exec_destroy, exec);
  CALL(g, graph_destroy, graph);
  return (double)least * 1000 / count;
}

/* ---- checking ---- */

static double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return NAN;
  const double x =
      exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return bits >> 15 ? -x : x;
}

static double expected(const problem *p, const uint16_t *a, const uint16_t *b,
                       const uint16_t *bias, const uint16_t *residual,
                       size_t at) {
  const shape *s = p->s;
  const bsm_cuda_mma *q = &p->mma.params;
  const size_t n = at % (size_t)q->n, row = at / (size_t)q->n;
  const size_t batch = row / (size_t)q->m, m = row % (size_t)q->m;
  double sum = 0;
  for (int k = 0; k < q->k; k++) {
    const int tap = k / s->c, c = k % s->c;
    size_t from = (batch * (size_t)q->m + m) * (size_t)s->c + (size_t)c;
    if (p->mma.image) {
      const int plane = q->out[1] * q->out[2], pixel = (int)m % plane;
      const int y = pixel / q->out[2] * s->stride - s->pad + tap / s->kw;
      const int x = pixel % q->out[2] * s->stride - s->pad + tap % s->kw;
      if (y < 0 || y >= s->ih || x < 0 || x >= s->iw) continue;
      from = ((m / (size_t)plane * (size_t)s->ih + (size_t)y) * (size_t)s->iw +
              (size_t)x) *
                 (size_t)s->c +
             (size_t)c;
    }
    const size_t b_at = batch * (size_t)q->b_batch[0] +
                        (size_t)k * (size_t)q->b_row + n * (size_t)q->b_column;
    sum += half_value(a[from]) * half_value(b[b_at]);
  }
  sum += half_value(bias[batch * (size_t)q->n + n]);
  if (residual) sum += half_value(residual[at]);
  return p->mma.activation && sum < 0 ? 0 : sum;
}

typedef struct sample {
  size_t at[CHECKED];
  double value[CHECKED];
  size_t first, count; /* of the elements that are looked at */
  uint16_t *y, *again; /* those */
} sample;

/* The largest error of an element, as a part of the largest value. */
static double error_of(const sample *s) {
  double worst = 0, most = 1e-3;
  for (int i = 0; i < CHECKED; i++) {
    const double d = fabs(half_value(s->y[s->at[i] - s->first]) - s->value[i]);
    if (!(d <= worst)) worst = d;
    if (fabs(s->value[i]) > most) most = fabs(s->value[i]);
  }
  return worst / most;
}

static void run_once(gpu *g, const problem *p, const bsm_cuda_launch *l,
                     bsm_cu_function f, const sample *s, uint16_t *y) {
  CALL(g, fill_async, g->y, 0xff, p->y_count * 2, g->stream);
  launch(g, p, l, f, 0);
  CALL(g, download_async, y, g->y + s->first * 2, s->count * 2, g->stream);
  CALL(g, stream_synchronize, g->stream);
}

static void run_candidate(gpu *g, const problem *p, candidate *c, sample *s,
                          int sets) {
  const bsm_cuda_launch *l = &c->launches->items[0];
  loaded code;
  const char *verdict = "ok";
  c->measured = INFINITY;
  if (c->launches->scratch_size > g->scratch_bytes || !load(g, l, &code)) {
    printf("%-24s b%-2d %-24s cannot run\n", p->s->name, p->s->images,
           c->tactic);
    return;
  }
  run_once(g, p, l, code.function, s, s->y);
  const double error = error_of(s);
  run_once(g, p, l, code.function, s, s->again);
  if (!(error < 2e-3)) verdict = "WRONG";
  if (memcmp(s->y, s->again, s->count * 2) != 0) verdict = "DIFFERS";
  c->measured = time_launches(g, p, l, code.function, sets, c->cost);
  printf("%-24s b%-2d %-24s %4d %4d %9.2f %9.2f %7.1e %s\n", p->s->name,
         p->s->images, c->tactic, c->blocks, c->shared, c->cost, c->measured,
         error, verdict);
  CALL(g, module_unload, code.module);
}

static void tell(const problem *p, const candidate *list, size_t count) {
  const candidate *best = &list[0], *chosen = &list[0], *mma = &list[0];
  for (size_t i = 1; i < count; i++) {
    if (list[i].measured < best->measured) best = &list[i];
    if (list[i].cost < chosen->cost) chosen = &list[i];
    if (list[i].blocks < 0 && list[i].measured < mma->measured) {
      mma = &list[i];
    }
  }
  const bsm_cuda_mma *q = &p->mma.params;
  const double work =
      2e-6 * q->m * (double)q->n * q->k * (double)p->mma.batches;
  printf(
      "BEST %-24s b%-2d %9.2f us %6.1f TFLOP/s %-24s %4d %4d | mma %9.2f | "
      "chosen %9.2f %s %d %d\n",
      p->s->name, p->s->images, best->measured, work / best->measured,
      best->tactic, best->blocks, best->shared, mma->measured, chosen->measured,
      chosen->tactic, chosen->blocks, chosen->shared);
  fflush(stdout);
}

static void run_problem(gpu *g, const shape *of, bsm_arena *arena) {
  static candidate list[MAX_CANDIDATES];
  const problem p = make_problem(of);
  const size_t count = make_candidates(&p, arena, list);
  const size_t bytes = (p.a_count + p.b_count + p.y_count) * 2;
  int sets = (int)(ROTATED / bytes) + 1;
  if (sets > SETS) sets = SETS;
  uint16_t *a = random_numbers(p.a_count, 1), *b = random_numbers(p.b_count, 2);
  const size_t bias_count = (size_t)p.mma.batches * (size_t)of->n;
  uint16_t *bias = random_numbers(bias_count, 3);
  uint16_t *residual = of->residual ? random_numbers(p.y_count, 4) : NULL;
  sample s = {.count = p.y_count < MOST_CHECKED ? p.y_count : MOST_CHECKED};
  s.first = p.y_count - s.count;
  s.y = need(malloc(s.count * 2));
  s.again = need(malloc(s.count * 2));
  uint32_t seed = 77;
  for (int i = 0; i < CHECKED; i++) {
    seed = seed * 1664525u + 1013904223u;
    s.at[i] = s.first + (i ? (size_t)(seed >> 1) % s.count : s.count - 1);
    s.value[i] = expected(&p, a, b, bias, residual, s.at[i]);
  }
  g->a = put(g, a, p.a_count, sets);
  g->b = put(g, b, p.b_count, sets);
  g->bias = put(g, bias, bias_count, 1);
  if (residual) g->residual = put(g, residual, p.y_count, sets);
  CALL(g, memory_allocate, &g->y, p.y_count * 2 * (size_t)sets + 256);
  for (size_t i = 0; i < count; i++) run_candidate(g, &p, &list[i], &s, sets);
  tell(&p, list, count);
  CALL(g, memory_free, g->a);
  CALL(g, memory_free, g->b);
  CALL(g, memory_free, g->bias);
  if (residual) CALL(g, memory_free, g->residual);
  CALL(g, memory_free, g->y);
  free(a);
  free(b);
  free(bias);
  free(residual);
  free(s.y);
  free(s.again);
}

static int list_shapes(void) {
  for (size_t i = 0; i < SHAPES; i++) {
    const shape *s = &shapes[i];
    printf("%d %d %d %d %d %d %d %d %d %d %d %s\n", s->is_conv, s->b_along_k,
           s->images, s->ih, s->iw, s->c, s->n, s->kh, s->kw, s->stride, s->pad,
           s->name);
  }
  return 0;
}

static int tell_costs(void) {
  static candidate list[MAX_CANDIDATES];
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  for (size_t i = 0; i < SHAPES; i++) {
    const problem p = make_problem(&shapes[i]);
    const size_t count = make_candidates(&p, &arena, list);
    for (size_t k = 0; k < count; k++) {
      printf("%-24s b%-2d %-24s %4d %4d %9.2f\n", p.s->name, p.s->images,
             list[k].tactic, list[k].blocks, list[k].shared, list[k].cost);
    }
  }
  bsm_arena_destroy(&arena);
  return 0;
}

int main(int argc, char **argv) {
  bsm_arena arena;
  if (argc > 1 && strcmp(argv[1], "costs") == 0) return tell_costs();
  if (argc > 1 && strcmp(argv[1], "list") == 0) return list_shapes();
  const char *filter = argc > 3 ? argv[3] : "";
  if (argc < 3) {
    fprintf(stderr, "usage: %s compile|run FOLDER [FILTER]\n", argv[0]);
    return 2;
  }
  bsm_arena_init(&arena, NULL);
  if (strcmp(argv[1], "compile") == 0) {
    compile(&arena, argv[2], filter);
  } else {
    gpu g = {.folder = argv[2]};
    open_gpu(&g);
    for (size_t i = 0; i < SHAPES; i++) {
      if (strstr(shapes[i].name, filter)) run_problem(&g, &shapes[i], &arena);
    }
  }
  bsm_arena_destroy(&arena);
  return 0;
}
