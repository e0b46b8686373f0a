/* SPDX-License-Identifier: Apache-2.0 */
/* Group and instance norm of images whose maps lie together: how blocks share
 * them, and launches. */
#include "backend/cuda/steps/cuda_group_norm.h"

#include "backend/cuda/steps/cuda_images.h"

#define THREADS 256
#define LEAST_LINE 128 /* bytes of a pixel that a block reads */
#define MOST_GRID 65535
/* Blocks that keep a large GPU busy: two for each multiprocessor. */
#define BLOCKS 264
/* Pixels of a thread that are too few to be shared among blocks, where others
 * keep the GPU busy and where not. */
#define FEW_PIXELS 64
#define VERY_FEW_PIXELS 12
#define LEAST_PIXELS 4
/* Parts that a block joins of all chunks of its image. */
#define MOST_PARTS 4096

typedef struct norm {
  const bsm_plan_step *step, *activation; /* NULL: there is none */
  const bsm_plan_tensor *x, *y, *scale, *bias, *kept;
  int64_t images, maps, pixels, group; /* maps of a group */
  int64_t slab, piece, lanes, chunk;
} norm;

/* ---- which steps ---- */

/* Maps lie together, pixels are equally far apart. */
static bool is_image(const bsm_plan_tensor *t) {
  const int last = t->dims.rank - 1;
  if (t->dims.rank < 3 || t->strides[1] != 1) return false;
  for (int i = 2; i < last; i++) {
    if (t->strides[i] != t->dims.d[i + 1] * t->strides[i + 1]) return false;
  }
  for (int i = 0; i <= last; i++) {
    if (t->dims.d[i] < 1) return false;
  }
  return t->strides[last] >= t->dims.d[1] && t->strides[0] >= 0;
}

/* A number for each map, which lie together and are the same everywhere. */
static bool is_row(const bsm_plan_tensor *t, const bsm_plan_tensor *x) {
  const int behind = x->dims.rank - t->dims.rank;
  bool has_maps = false;
  for (int i = 0; i < t->dims.rank; i++) {
    if (i + behind == 1) {
      has_maps = t->dims.d[i] == x->dims.d[1] && t->strides[i] == 1;
    } else if (t->dims.d[i] != 1 && t->strides[i] != 0) {
      return false;
    }
  }
  return (has_maps || x->dims.d[1] == 1) && bsm_cuda_is_float(t->dtype) &&
         t->offset % 16 == 0;
}

/* Maps of a group; 0: other elements are normalized together. */
static int64_t group_of(const bsm_step_normalization *p,
                        const bsm_plan_tensor *x) {
  const uint32_t pixels = (1u << x->dims.rank) - 4u;
  if (p->groups > 1) {
    return (p->axes & ~2u) == pixels ? x->dims.d[1] / p->groups : 0;
  }
  return p->axes == (pixels | 2u) ? x->dims.d[1] : p->axes == pixels ? 1 : 0;
}

/* The fewest maps that are whole groups and pieces, and a line of memory; 0:
 * there are none that a block can have. */
static int64_t slab_of(const norm *n) {
  const int64_t line = LEAST_LINE / (int64_t)bsm_dtype_size(n->x->dtype);
  int64_t found = 0;
  for (int64_t slab = n->group; slab <= n->maps; slab += n->group) {
    if (slab > THREADS * n->piece) break;
    if (slab % n->piece != 0 || n->maps % slab != 0) continue;
    found = slab;
    if (slab >= line) break;
  }
  return found;
}

static void share_pixels(norm *n) {
  const int64_t depth = THREADS / (n->slab / n->piece);
  const int64_t slabs = n->images * (n->maps / n->slab);
  const int64_t few = slabs >= BLOCKS / 2 ? FEW_PIXELS : VERY_FEW_PIXELS;
  const int64_t groups = n->maps / n->group;
  int64_t chunks = (BLOCKS + slabs - 1) / slabs;
  const int64_t most = n->pixels / (depth * LEAST_PIXELS);
  if (chunks > most) chunks = most;
  if (chunks > MOST_PARTS / groups) chunks = MOST_PARTS / groups;
  if (chunks < 1 || n->pixels <= depth * few) chunks = 1;
  n->chunk = (n->pixels + chunks - 1) / chunks;
}

static bool make_norm(const bsm_plan *plan, const bsm_plan_step *step,
                      norm *n) {
  const bsm_step_normalization *p = &step->params->normalization;
  uint32_t next = 1;
  if (step->kind != BSM_STEP_NORMALIZATION || p->rms ||
      step->output_count != 1) {
    return false;
  }
  *n = (norm){.step = step,
              .x = bsm_step_input(plan, step, 0),
              .y = bsm_step_output(plan, step, 0)};
  if (p->has_scale) n->scale = bsm_step_input(plan, step, next++);
  if (p->has_bias) n->bias = bsm_step_input(plan, step, next);
  if (!is_image(n->x) || !is_image(n->y) || !bsm_cuda_is_float(n->x->dtype) ||
      !bsm_cuda_is_float(n->y->dtype) ||
      (n->scale && !is_row(n->scale, n->x)) ||
      (n->bias && !is_row(n->bias, n->x))) {
    return false;
  }
  n->images = n->x->dims.d[0];
  n->maps = n->x->dims.d[1];
  n->pixels = 1;
  for (int i = 2; i < n->x->dims.rank; i++) {
    /* The kernel adds chunks to numbers of pixels. */
    if (n->x->dims.d[i] > INT32_MAX / 2 / n->pixels) return false;
    n->pixels *= n->x->dims.d[i];
  }
  n->group = group_of(p, n->x);
  if (n->group == 0 || n->images > MOST_GRID) return false;
  const int most = bsm_dtype_size(n->x->dtype) == 2 ? 8 : 4;
  const int of_x = bsm_cuda_image_vector(n->x, most);
  const int of_y = bsm_cuda_image_vector(n->y, most);
  n->piece = of_x < of_y ? of_x : of_y;
  n->slab = slab_of(n);
  if (n->slab == 0 || n->maps / n->slab > MOST_GRID) return false;
  n->lanes = 32;
  while (n->lanes > 1 && n->lanes * (n->slab / n->group) > THREADS) {
    n->lanes /= 2;
  }
  share_pixels(n);
  return true;
}

bool bsm_cuda_takes_group_norm(const bsm_cuda_launches *l) {
  norm n;
  return l->scope == BSM_CUDA_FOR_SIZES && make_norm(l->plan, l->step, &n);
}

/* ---- launches ---- */

#define AT(member) offsetof(bsm_cuda_group_norm, member)

static bsm_status add_slots(bsm_cuda_launches *l, const norm *n,
                            uint64_t parts) {
  const bsm_plan_step *s = n->step;
  const uint32_t y = n->activation ? n->activation->outputs[0] : s->outputs[0];
  const bsm_cuda_slot_kind tensor = BSM_CUDA_SLOT_TENSOR;
  uint32_t next = 1;
  BSM_TRY(bsm_cuda_add_slot(l, tensor, AT(x), s->inputs[0]));
  BSM_TRY(bsm_cuda_add_slot(l, tensor, AT(y), y));
  if (n->scale) {
    BSM_TRY(bsm_cuda_add_slot(l, tensor, AT(scale), s->inputs[next++]));
  }
  if (n->bias) {
    BSM_TRY(bsm_cuda_add_slot(l, tensor, AT(bias), s->inputs[next]));
  }
  if (n->kept) {
    BSM_TRY(bsm_cuda_add_slot(l, tensor, AT(kept), s->outputs[0]));
  }
  return n->chunk == n->pixels
             ? BSM_OK
             : bsm_cuda_add_slot(l, BSM_CUDA_SLOT_SCRATCH, AT(parts), parts);
}

/* The part of the work: 0, all; 1, what each chunk knows; 2, the rest. */
static bsm_status add_part(bsm_cuda_launches *l, const norm *n, int part,
                           uint64_t parts) {
  static const char *const names[] = {"K_IN", "K_OUT", "K_SCALE", "K_BIAS"};
  const bsm_plan_tensor *typed[] = {n->x, n->y, n->scale, n->bias};
  const int last = n->x->dims.rank - 1;
  const bsm_step_ew_instruction *a =
      n->activation ? n->activation->params->element_wise.program : NULL;
  bsm_cuda_group_norm p = {
      .x_image = n->x->strides[0],
      .x_pixel = n->x->strides[last],
      .y_image = n->y->strides[0],
      .y_pixel = n->y->strides[last],
      .pixels = (int32_t)n->pixels,
      .chunk = (int32_t)n->chunk,
      .epsilon = (float)n->step->params->normalization.epsilon,
      .alpha = a ? (float)a->alpha : 0,
      .beta = a ? (float)a->beta : 0};
  if (n->kept) {
    p.kept_image = n->kept->strides[0];
    p.kept_pixel = n->kept->strides[last];
  }
  BSM_TRY(bsm_cuda_add_launch(
      l, "group_normalization", "group_normalization", &p, sizeof(p),
      "-DK_PIECE=%d -DK_SLAB=%d -DK_GROUP=%d -DK_LANES=%d -DK_PART=%d "
      "-DK_HAS_SCALE=%d -DK_HAS_BIAS=%d -DK_ACTIVATION=%d -DK_KEEPS=%d",
      (int)n->piece, (int)n->slab, (int)n->group, (int)n->lanes, part,
      n->scale != NULL, n->bias != NULL, a ? a->code : 0, n->kept != NULL));
  for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
    BSM_TRY(bsm_cuda_add_type(l, names[i],
                              typed[i] ? typed[i]->dtype : BSM_DTYPE_FLOAT));
  }
  bsm_cuda_set_block(l, THREADS, 1, 1);
  bsm_cuda_set_grid(l, (uint64_t)((n->pixels + n->chunk - 1) / n->chunk),
                    (uint64_t)(n->maps / n->slab), (uint64_t)n->images);
  return add_slots(l, n, parts);
}

static bsm_status add_norm(bsm_cuda_launches *l, const norm *n) {
  const int64_t chunks = (n->pixels + n->chunk - 1) / n->chunk;
  const int64_t parts = n->images * chunks * (n->maps / n->group);
  uint64_t at = 0;
  if (chunks == 1) return add_part(l, n, 0, 0);
  BSM_TRY(bsm_cuda_add_scratch(l, (uint64_t)parts * 2 * sizeof(float), &at));
  BSM_TRY(add_part(l, n, 1, at));
  return add_part(l, n, 2, at);
}

bsm_status bsm_cuda_launch_group_norm(bsm_cuda_launches *l) {
  norm n;
  if (!make_norm(l->plan, l->step, &n)) {
    return BSM_FAIL(BSM_INTERNAL, "no kernel takes this norm");
  }
  return add_norm(l, &n);
}

/* ---- with an activation ---- */

/* One activation of the norm's output, of the same dtype and layout. */
static bool is_activation(const bsm_plan *plan, const norm *n,
                          const bsm_plan_step *step) {
  if (step->kind != BSM_STEP_ELEMENT_WISE || step->space != BSM_SPACE_DEVICE ||
      step->input_count != 1) {
    return false;
  }
  const bsm_step_element_wise *p = &step->params->element_wise;
  const bsm_step_ew_instruction *i = &p->program[0];
  const bsm_plan_tensor *x = bsm_step_input(plan, step, 0);
  const bsm_plan_tensor *y = bsm_step_output(plan, step, 0);
  bool same = x->place == n->y->place && x->index == n->y->index &&
              x->offset == n->y->offset && x->dtype == n->y->dtype &&
              y->dtype == x->dtype && x->dims.rank == n->x->dims.rank &&
              y->dims.rank == x->dims.rank && is_image(y);
  for (int32_t d = 0; same && d < x->dims.rank; d++) {
    same = x->dims.d[d] == n->y->dims.d[d] && y->dims.d[d] == x->dims.d[d] &&
           x->strides[d] == n->y->strides[d];
  }
  return same && p->instruction_count == 1 && p->result == i->dst &&
         i->kind == BSM_STEP_EW_ACTIVATION && i->a == 0 && i->code > 0 &&
         (bsm_dtype)i->dtype == y->dtype &&
         bsm_cuda_image_vector(y, (int)n->piece) == n->piece;
}

static bool is_same_place(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  bool same = a->place == b->place && a->index == b->index &&
              a->offset == b->offset && a->dtype == b->dtype;
  for (int32_t d = 0; same && d < a->dims.rank; d++) {
    same = a->dims.d[d] == 1 || a->strides[d] == b->strides[d];
  }
  return same;
}

/* What blocks still read must not be overwritten by others. */
static bool may_overwrite(const bsm_plan_tensor *a, const bsm_plan_tensor *b) {
  return !bsm_plan_tensors_meet(a, b) || is_same_place(a, b);
}

/* The plan needs a scale no longer than the norm, so that what comes behind it
 * may be stored there. */
static bool is_apart(const bsm_plan_tensor *row, const bsm_plan_tensor *y) {
  return !row || !bsm_plan_tensors_meet(row, y);
}

/* Finds the two steps. Where the activation is stored where its operand was,
 * that is not stored at all; otherwise others may read it. */
static bool find_activated(const bsm_plan *plan, uint32_t index, norm *n) {
  const bsm_plan_step *step = plan->steps + index;
  if (plan->step_count - index < 2 || step->space != BSM_SPACE_DEVICE ||
      !make_norm(plan, step, n) || !is_activation(plan, n, step + 1)) {
    return false;
  }
  const bsm_plan_tensor *y = bsm_step_output(plan, step + 1, 0);
  if (!may_overwrite(n->x, y) || !may_overwrite(n->x, n->y) ||
      !may_overwrite(n->y, y) || !is_apart(n->scale, y) ||
      !is_apart(n->bias, y)) {
    return false;
  }
  n->kept = is_same_place(n->y, y) ? NULL : n->y;
  n->activation = step + 1;
  n->y = y;
  return true;
}

uint32_t bsm_cuda_activated_norm_steps(const bsm_plan *plan, uint32_t index,
                                       int sm) {
  norm n;
  (void)sm;
  return find_activated(plan, index, &n) ? 2 : 0;
}

bsm_status bsm_cuda_launch_activated_norm(bsm_cuda_launches *l,
                                          uint32_t index) {
  norm n;
  if (!find_activated(l->plan, index, &n)) {
    return BSM_FAIL(BSM_INTERNAL, "no norm has an activation behind it");
  }
  return add_norm(l, &n);
}
