/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of an engine: the kernels that its steps launch are
 * collected, compiled by NVRTC on all CPUs, and kept in a cache of the user,
 * by a hash of all that they follow from. Each is there in two forms
 * (cuda_forms.h): code of the GPU that is built for, and PTX, which the driver
 * compiles for later ones. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_forms.h"
#include "backend/cuda/cuda_launch.h"
#include "backend/cuda/target/cuda_target.h"
#include "backend/cuda/target/general_kernels.h"
#include "backend/cuda/target/kernel_cache.h"
#include "backend/cuda/target/kernel_sources.h"
#include "backend/cuda/target/nvrtc.h"
#include "base/cpus.h"
#include "base/hash.h"
#include "base/thread_pool.h"
#include "engine/program.h"

#define MAX_OPTIONS 24
#define MAX_HEADERS 64

typedef struct item {
  bsm_cuda_kernel kernel;
  bsm_arena arena; /* of its thread: the code */
  bsm_str code, ptx;
  bsm_status status;
} item;

typedef struct collection {
  const bsm_cuda_target *target;
  uint32_t scopes; /* bits */
  const bsm_logger *logger;
  bsm_arena *scratch;
  item *items; /* by name, each once */
  size_t count, room;
  const bsm_nvrtc *nvrtc; /* NULL until something is not in the cache */
  const char *cache;      /* a folder, or NULL: none */
  uint64_t common[2];     /* hashes of what all kernels follow from */
} collection;

/* ---- collecting ---- */

static bsm_status add_kernel(collection *c, const bsm_cuda_kernel *kernel) {
  size_t from = 0, to = c->count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    const int order = strcmp(c->items[middle].kernel.name, kernel->name);
    if (order == 0) return BSM_OK;
    if (order < 0) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  if (c->count == c->room) {
    const size_t room = c->room ? 2 * c->room : 64;
    item *items = BSM_NEW_ARRAY(c->scratch, item, room);
    BSM_TRY_ALLOC(items);
    if (c->count) memcpy(items, c->items, c->count * sizeof(*items));
    c->items = items;
    c->room = room;
  }
  memmove(&c->items[from + 1], &c->items[from],
          (c->count - from) * sizeof(*c->items));
  c->items[from] = (item){.kernel = *kernel};
  c->count++;
  return BSM_OK;
}

static bsm_status add_step(collection *c, const bsm_plan *plan,
                           const bsm_plan_step *step) {
  bsm_cuda_launches *launches = BSM_NEW(c->scratch, bsm_cuda_launches);
  bsm_plan alone = *plan;
  BSM_TRY_ALLOC(launches);
  if (c->scopes & BSM_CUDA_CODE_ALONE) {
    /* A step that is timed runs by itself, whatever does it with others. */
    alone.steps = (bsm_plan_step *)(uintptr_t)step;
    alone.step_count = 1;
    plan = &alone;
  }
  for (int scope = BSM_CUDA_FOR_SIZES; scope < BSM_CUDA_FOR_KIND; scope++) {
    if (!(c->scopes >> scope & 1u)) continue;
    BSM_TRY_NOTE(bsm_cuda_make_launches(plan, step, (bsm_cuda_scope)scope,
                                        c->target->sm, c->scratch, launches),
                 "for the step %s", step->name);
    for (uint32_t i = 0; i < launches->count; i++) {
      BSM_TRY(add_kernel(c, &launches->items[i].kernel));
    }
    if (!(c->scopes & BSM_CUDA_WITH_OTHERS)) continue;
    for (uint32_t i = 0; i < launches->other_count; i++) {
      BSM_TRY(add_kernel(c, &launches->others[i]));
    }
  }
  return BSM_OK;
}

static bsm_status add_kernel_to(void *user, const bsm_cuda_kernel *kernel) {
  return add_kernel(user, kernel);
}

static bsm_status collect(collection *c, const bsm_plan *plan) {
  if (c->scopes >> BSM_CUDA_FOR_KIND & 1u) {
    BSM_TRY(bsm_cuda_each_general_kernel(c->scratch, add_kernel_to, c));
  }
  for (uint32_t k = 0; bsm_plan_part(plan, k); k++) {
    const bsm_plan *part = bsm_plan_part(plan, k);
    for (uint32_t i = 0; i < part->step_count; i++) {
      const bsm_plan_step *step = &part->steps[i];
      if (step->space != BSM_SPACE_DEVICE ||
          !bsm_step_kind_is_of_devices(step->kind)) {
        continue;
      }
      BSM_TRY(add_step(c, part, step));
    }
  }
  return BSM_OK;
}

/* ---- the cache ---- */

static uint64_t add_text(uint64_t hash, const char *text) {
  return bsm_hash64(text, strlen(text) + 1, hash);
}

/* Whether there is no PTX. */
static bool is_alone(const collection *c) {
  return c->scopes & BSM_CUDA_CODE_ALONE;
}

/* All that the code of every kernel follows from. */
static uint64_t hash_of_all(const collection *c, uint64_t seed) {
  uint64_t h = add_text(seed, BSM_KERNEL_CACHE_VERSION);
  const int version = bsm_nvrtc_version(c->nvrtc);
  h = bsm_hash64(&version, sizeof(version), h);
  h = add_text(h, c->target->architecture);
  for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
    h = add_text(add_text(h, s->name), s->text);
  }
  return h;
}

static uint64_t hash_of(const item *it, uint64_t common) {
  const uint64_t h = add_text(common, it->kernel.name);
  return add_text(h, it->kernel.generated ? it->kernel.generated : "");
}

static const char *cache_name(const collection *c, item *it) {
  if (!c->cache) return NULL;
  return bsm_arena_printf(&it->arena, "%016" PRIx64 "%016" PRIx64 ".bin",
                          hash_of(it, c->common[0]), hash_of(it, c->common[1]));
}

/* ---- compiling ---- */

static const char *source_text(const char *name) {
  for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
    if (strcmp(s->name, name) == 0) return s->text;
  }
  return NULL;
}

/* The options of a kernel, apart. */
static bsm_status split_options(const char *text, bsm_arena *arena,
                                const char **options, int *count) {
  char *rest = bsm_arena_strdup(arena, text);
  BSM_TRY_ALLOC(rest);
  for (*count = 0; *rest;) {
    while (*rest == ' ') *rest++ = 0;
    if (!*rest) break;
    if (*count == MAX_OPTIONS) {
      return BSM_FAIL(BSM_INTERNAL, "too many options: %s", text);
    }
    options[(*count)++] = rest;
    while (*rest && *rest != ' ') rest++;
  }
  return BSM_OK;
}

/* Whether a source, or what it includes, has instructions of an architecture
 * with a suffix: code of any other is the same with and without. */
static bool is_specific(const char *text) {
  static const char include[] = "#include \"";
  if (strstr(text, "__CUDA_ARCH_FEAT_")) return true;
  for (const char *at = text; (at = strstr(at, include));) {
    at += sizeof(include) - 1;
    const char *header = NULL;
    const size_t length = strcspn(at, "\"\n");
    for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
      if (strlen(s->name) == length && memcmp(s->name, at, length) == 0) {
        header = s->text;
      }
    }
    if (header && is_specific(header)) return true;
  }
  return false;
}

/* What the item lacks, by as few compilations as give it. PTX of an
 * architecture with a suffix is for that GPU alone, as its code is. */
static bsm_status compile_forms(const collection *c,
                                const bsm_nvrtc_source *source, item *it) {
  const bsm_cuda_target *t = c->target;
  const char *architecture = t->architecture;
  const bool apart = t->specific && is_specific(source->text);
  if (!it->code.len && !apart) {
    if (t->specific)
      architecture = bsm_arena_printf(&it->arena, "sm_%d", t->sm);
    BSM_TRY_ALLOC(architecture);
    return bsm_nvrtc_compile(c->nvrtc, source, architecture, &it->arena,
                             &it->code, &it->ptx);
  }
  if (!it->code.len) {
    BSM_TRY(bsm_nvrtc_compile(c->nvrtc, source, architecture, &it->arena,
                              &it->code, NULL));
  }
  if (is_alone(c)) return BSM_OK;
  return bsm_nvrtc_compile(c->nvrtc, source, t->later, &it->arena, NULL,
                           &it->ptx);
}

static bsm_status compile(const collection *c, item *it) {
  const char *options[MAX_OPTIONS];
  const char *names[MAX_HEADERS], *texts[MAX_HEADERS];
  bsm_nvrtc_source source = {
      .header_names = names, .headers = texts, .options = options};
  const char *file = bsm_arena_printf(&it->arena, "%s.cu", it->kernel.source);
  BSM_TRY_ALLOC(file);
  source.name = file;
  source.text = source_text(file);
  if (!source.text) return BSM_FAIL(BSM_INTERNAL, "there is no %s", file);
  for (const bsm_kernel_source *s = bsm_kernel_sources; s->name; s++) {
    const char *dot = strrchr(s->name, '.');
    if (strcmp(dot, ".cu") == 0) continue;
    if (source.header_count == MAX_HEADERS - 1) {
      return BSM_FAIL(BSM_INTERNAL, "too many headers of kernels");
    }
    names[source.header_count] = s->name;
    texts[source.header_count++] = s->text;
  }
  if (it->kernel.generated) {
    names[source.header_count] = "generated.cuh";
    texts[source.header_count++] = it->kernel.generated;
  }
  BSM_TRY(split_options(it->kernel.options, &it->arena, options,
                        &source.option_count));
  return compile_forms(c, &source, it);
}

/* Code that was compiled to be timed may be kept without PTX. */
static bool read_kept(const collection *c, item *it, const char *name) {
  return name &&
         bsm_kernel_cache_read(c->cache, name, &it->arena, &it->code,
                               &it->ptx) &&
         (it->ptx.len || is_alone(c));
}

static void make_item(void *arg, int64_t index, int slot) {
  collection *c = arg;
  item *it = &c->items[index];
  (void)slot;
  const char *name = cache_name(c, it);
  if (read_kept(c, it, name)) return;
  /* Another process, building such an engine, may compile it just now. */
  const int claim = name ? bsm_kernel_cache_claim(c->cache, name) : -1;
  if (claim < 0 || !read_kept(c, it, name)) {
    it->status =
        bsm_status_note(compile(c, it), "in the kernel %s", it->kernel.name);
    if (name && !it->status) {
      bsm_kernel_cache_write(c->cache, name, &it->arena, it->code, it->ptx);
    }
  }
  bsm_kernel_cache_release(claim);
}

static bsm_status make_all(collection *c) {
  bsm_thread_pool *pool;
  const int cpus = bsm_available_cpus();
  const int threads = c->count < (size_t)cpus ? (int)c->count : cpus;
  BSM_TRY(bsm_thread_pool_create(threads, c->scratch->allocator, &pool));
  for (size_t i = 0; i < c->count; i++) {
    bsm_arena_init(&c->items[i].arena, c->scratch->allocator);
  }
  bsm_parallel_units(pool, threads, (int64_t)c->count, make_item, c);
  bsm_thread_pool_destroy(pool);
  return BSM_OK;
}

/* ---- the plan ---- */

/* One form of a kernel, for an architecture. */
static bsm_status add_form(bsm_plan *plan, const char *architecture,
                           const item *it, bsm_str code, bsm_arena *arena) {
  void *bytes = bsm_arena_alloc(arena, code.len, BSM_ALIGNMENT);
  const char *name = bsm_cuda_form_name(arena, architecture, it->kernel.name);
  if (!bytes || !name) return BSM_FAIL_OOM();
  memcpy(bytes, code.data, code.len);
  plan->code[plan->code_count++] = (bsm_plan_code){name, plan->weights_count};
  plan->weights[plan->weights_count++] = (bsm_plan_weights){
      .data = bytes, .size = code.len, .space = BSM_SPACE_HOST};
  return BSM_OK;
}

static bsm_status add_all(const collection *c, bsm_plan *plan,
                          bsm_arena *arena) {
  bsm_plan_weights *weights = BSM_NEW_ARRAY(
      arena, bsm_plan_weights, plan->weights_count + 2 * c->count + 1);
  plan->code = BSM_NEW_ARRAY(arena, bsm_plan_code, 2 * c->count + 1);
  if (!weights || !plan->code) return BSM_FAIL_OOM();
  if (plan->weights_count) {
    memcpy(weights, plan->weights, plan->weights_count * sizeof(*weights));
  }
  plan->weights = weights;
  for (size_t i = 0; i < c->count; i++) {
    const item *it = &c->items[i];
    BSM_TRY(add_form(plan, c->target->architecture, it, it->code, arena));
    if (is_alone(c)) continue;
    BSM_TRY(add_form(plan, c->target->later, it, it->ptx, arena));
  }
  return BSM_OK;
}

static bsm_status take_statuses(collection *c) {
  bsm_status first = BSM_OK;
  for (size_t i = 0; i < c->count; i++) {
    if (first) {
      bsm_status_free(c->items[i].status);
    } else {
      first = c->items[i].status;
    }
  }
  return first;
}

static bsm_status make_code(collection *c, bsm_plan *plan, bsm_arena *arena) {
  bsm_nvrtc *nvrtc = NULL;
  BSM_TRY(collect(c, plan));
  if (!c->count) return BSM_OK;
  BSM_TRY(bsm_nvrtc_open(getenv("BESSEMER_NVRTC"), c->scratch, &nvrtc));
  c->nvrtc = nvrtc;
  c->cache = bsm_kernel_cache_find(c->scratch, c->logger);
  for (int i = 0; c->cache && i < 2; i++) {
    c->common[i] = hash_of_all(c, (uint64_t)i + 1);
  }
  bsm_status status =
      bsm_nvrtc_supports(nvrtc, c->target->sm)
          ? make_all(c)
          : BSM_FAIL(BSM_UNSUPPORTED,
                     "NVRTC %d.%d does not compile for sm_%d: install a newer "
                     "one (pip install nvidia-cuda-nvrtc)",
                     bsm_nvrtc_version(nvrtc) / 1000,
                     bsm_nvrtc_version(nvrtc) % 1000 / 10, c->target->sm);
  bsm_nvrtc_close(nvrtc);
  if (!status) status = take_statuses(c);
  if (!status) status = add_all(c, plan, arena);
  for (size_t i = 0; i < c->count; i++) {
    bsm_arena_destroy(&c->items[i].arena);
  }
  return status;
}

bsm_status bsm_cuda_add_scopes(const bsm_target *target, uint32_t scopes,
                               bsm_plan *plan, bsm_arena *arena,
                               const bsm_logger *logger) {
  bsm_arena scratch;
  bsm_arena_init(&scratch, arena->allocator);
  collection c = {.target = bsm_cuda_target_of(target),
                  .scopes = scopes,
                  .logger = logger,
                  .scratch = &scratch};
  bsm_status status = make_code(&c, plan, arena);
  if (!status) {
    bsm_log(logger, BSM_LOG_LEVEL_INFO, "%zu kernels for %s", c.count,
            c.target->architecture);
  }
  bsm_arena_destroy(&scratch);
  return status;
}

/* Whether the engine makes plans while it runs: of regions, for the shapes that
 * it meets, or of calls. */
static bool makes_plans(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  for (uint32_t b = 0; p && b < p->block_count; b++) {
    const bsm_program_block *block = &p->blocks[b];
    for (uint32_t i = 0; i < block->instruction_count; i++) {
      const bsm_instruction_kind kind = block->instructions[i].kind;
      if (kind == BSM_INSTRUCTION_REGION || kind == BSM_INSTRUCTION_CALL) {
        return true;
      }
    }
  }
  return false;
}

/* Such plans find kernels for steps like those that were planned before, the
 * special ones among them, or else for all of their kind. */
bsm_status bsm_cuda_add_code(const bsm_target *target, bsm_plan *plan,
                             bsm_arena *arena, const bsm_logger *logger) {
  uint32_t scopes = 1u << BSM_CUDA_FOR_SIZES;
  if (makes_plans(plan)) {
    scopes |= 1u << BSM_CUDA_FOR_RANGE | 1u << BSM_CUDA_FOR_STEP |
              1u << BSM_CUDA_FOR_KIND | BSM_CUDA_WITH_OTHERS;
  }
  return bsm_cuda_add_scopes(target, scopes, plan, arena, logger);
}
