/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and running affine element-wise programs. */
#include "backend/cpu/cpu_affine.h"

/* Elements between which an activation that is not a clamp runs. */
#define PIECE 2048

static bool all_float(const bsm_cpu_prepare *p) {
  const bsm_step_element_wise *e = &p->step->params->element_wise;
  bool ok = bsm_step_output(p->plan, p->step, 0)->dtype == BSM_DTYPE_FLOAT;
  for (uint32_t i = 0; i < p->step->input_count; i++) {
    ok = ok && bsm_step_input(p->plan, p->step, i)->dtype == BSM_DTYPE_FLOAT;
  }
  for (int32_t i = 0; i < e->instruction_count; i++) {
    ok = ok && e->program[i].dtype == BSM_DTYPE_FLOAT;
  }
  return ok;
}

static bool is_binary(const bsm_step_ew_instruction *op, int32_t code) {
  return op->kind == BSM_STEP_EW_BINARY && op->code == code;
}

/* The operand of a commutative instruction beside register `value`. -1 when
 * `value` is neither operand, or both, or when the other one is no input. */
static int32_t other(const bsm_step_ew_instruction *op, int32_t value,
                     int32_t inputs) {
  const int32_t found = op->a == value ? op->b : op->b == value ? op->a : -1;
  return found == value || found >= inputs ? -1 : found;
}

/* The last instructions, given which input x is. */
static bool match(const bsm_cpu_prepare *p, int32_t x, bsm_cpu_affine *out) {
  const bsm_step_element_wise *e = &p->step->params->element_wise;
  const int32_t inputs = (int32_t)p->step->input_count;
  int32_t at = 0, value = x;
  *out = (bsm_cpu_affine){.x = 1 + x};
  if (at < e->instruction_count &&
      is_binary(&e->program[at], BSM_ELEMENT_WISE_PROD)) {
    const int32_t scale = other(&e->program[at], value, inputs);
    if (scale < 0) return false;
    out->scale = 1 + scale;
    value = e->program[at++].dst;
  }
  if (at < e->instruction_count &&
      is_binary(&e->program[at], BSM_ELEMENT_WISE_SUM)) {
    const int32_t shift = other(&e->program[at], value, inputs);
    if (shift < 0) return false;
    out->shift = 1 + shift;
    value = e->program[at++].dst;
  }
  bsm_step_epilogue epilogue = {.activation = BSM_ACTIVATION_NONE};
  if (at > 0 && at < e->instruction_count &&
      e->program[at].kind == BSM_STEP_EW_ACTIVATION &&
      e->program[at].a == value) {
    epilogue.activation = e->program[at].code;
    epilogue.alpha = e->program[at].alpha;
    epilogue.beta = e->program[at].beta;
    value = e->program[at++].dst;
  }
  out->epilogue = bsm_cpu_make_epilogue(&epilogue, bsm_k_math_select(p->isa));
  /* Registers of inputs that are written are no inputs any more. */
  for (int32_t i = 0; i < at; i++) {
    if (e->program[i].dst < inputs) return false;
  }
  return at > 0 && at == e->instruction_count && value == e->result;
}

bool bsm_cpu_affine_find(const bsm_cpu_prepare *p, const bsm_cpu_space *space,
                         bsm_cpu_affine *out) {
  const int32_t last = space->rank - 1;
  if (!all_float(p) || space->strides[0][last] != 1) return false;
  for (int32_t x = 0; x < (int32_t)p->step->input_count; x++) {
    if (space->strides[1 + x][last] != 1 || !match(p, x, out)) continue;
    const int64_t scale = out->scale ? space->strides[out->scale][last] : -1;
    const int64_t shift = out->shift ? space->strides[out->shift][last] : -1;
    out->along = scale == 1 || shift == 1;
    const int64_t wanted = out->along ? 1 : 0;
    if ((scale >= 0 && scale != wanted) || (shift >= 0 && shift != wanted)) {
      continue;
    }
    out->rows = bsm_k_rows_select(p->isa);
    return true;
  }
  return false;
}

/* The address of an operand at the cursor, and its distance between rows. */
static const float *place(const bsm_cpu_space *space, const bsm_cpu_cursor *c,
                          char *const *addresses, int operand, int64_t *row) {
  *row = space->rank > 1 ? space->strides[operand][space->rank - 2] : 0;
  if (operand == 0) return NULL;
  return (const float *)(const void *)addresses[operand] + c->offset[operand];
}

void bsm_cpu_affine_run(const bsm_cpu_affine *a, const bsm_cpu_space *space,
                        char *const *addresses, int64_t first, int64_t end) {
  const int64_t length = space->dims[space->rank - 1];
  bsm_k_affine k = {.along = a->along,
                    .clamps = a->epilogue.clamps,
                    .lo = a->epilogue.lo,
                    .hi = a->epilogue.hi};
  bsm_cpu_cursor c;
  bsm_cpu_seek(space, first, &c);
  for (int64_t i = first; i < end;) {
    k.n = bsm_cpu_min(bsm_cpu_row_left(space, &c), end - i);
    k.rows = 1;
    if (a->epilogue.activation) {
      k.n = bsm_cpu_min(k.n, PIECE);
    }
    if (k.n == length && space->rank > 1) {
      k.rows = bsm_cpu_min(bsm_cpu_rows_left(space, &c), (end - i) / length);
      if (a->epilogue.activation) {
        k.rows = bsm_cpu_min(k.rows, bsm_cpu_max(1, PIECE / length));
      }
    }
    k.x = place(space, &c, addresses, a->x, &k.x_row);
    k.scale = place(space, &c, addresses, a->scale, &k.scale_row);
    k.shift = place(space, &c, addresses, a->shift, &k.shift_row);
    k.y = (float *)(void *)addresses[0] + c.offset[0];
    k.y_row = space->rank > 1 ? space->strides[0][space->rank - 2] : 0;
    a->rows->affine_rows(&k);
    for (int64_t r = 0; a->epilogue.activation && r < k.rows; r++) {
      float *y = k.y + r * k.y_row;
      a->epilogue.activation(y, y, k.n, a->epilogue.alpha, a->epilogue.beta);
    }
    i += k.rows * k.n;
    if (k.n == length && space->rank > 1) {
      bsm_cpu_advance_rows(space, &c, k.rows);
    } else {
      bsm_cpu_advance(space, &c, k.n);
    }
  }
}
