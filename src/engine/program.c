/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: names, the verifier, text. */
#include "engine/program.h"

#include <inttypes.h>

#include "aten/tensor.h"
#include "engine/ivalue_bytes.h"
#include "engine/plan.h"

/* The depth to which blocks may nest: running them recurses. */
#define MAX_DEPTH 100

const char *bsm_instruction_kind_name(bsm_instruction_kind kind) {
  switch (kind) {
#define X(name, number, text)  \
  case BSM_INSTRUCTION_##name: \
    return text;
    BSM_INSTRUCTION_KINDS(X)
#undef X
  }
  return NULL;
}

size_t bsm_program_region_count(const bsm_program *p) {
  size_t count = 0;
  for (uint32_t b = 0; b < p->block_count; b++) {
    for (uint32_t k = 0; k < p->blocks[b].instruction_count; k++) {
      count += p->blocks[b].instructions[k].kind == BSM_INSTRUCTION_REGION;
    }
  }
  return count;
}

/* ---- verifying ---- */

static bsm_status check_registers(const bsm_program *p, const uint32_t *r,
                                  uint32_t count, const char *what) {
  for (uint32_t i = 0; i < count; i++) {
    if (r[i] >= p->register_count) {
      return BSM_FAIL(BSM_CORRUPT,
                      "%s %" PRIu32 " is register %" PRIu32 " of %" PRIu32,
                      what, i, r[i], p->register_count);
    }
  }
  return BSM_OK;
}

static bsm_status check_counts(const bsm_program *p, const bsm_instruction *i) {
  static const struct {
    bsm_instruction_kind kind;
    uint32_t min_inputs, max_inputs, min_outputs, max_outputs, blocks;
  } rows[] = {
      {BSM_INSTRUCTION_CALL, 0, UINT32_MAX, 0, UINT32_MAX, 0},
      {BSM_INSTRUCTION_SEGMENT, 0, UINT32_MAX, 0, UINT32_MAX, 0},
      {BSM_INSTRUCTION_IF, 1, 1, 0, UINT32_MAX, 2},
      {BSM_INSTRUCTION_LOOP, 2, UINT32_MAX, 0, UINT32_MAX, 1},
      {BSM_INSTRUCTION_LIST, 0, UINT32_MAX, 1, 1, 0},
      {BSM_INSTRUCTION_TUPLE, 0, UINT32_MAX, 1, 1, 0},
      {BSM_INSTRUCTION_DICT, 0, UINT32_MAX, 1, 1, 0},
      {BSM_INSTRUCTION_UNPACK, 1, 1, 0, UINT32_MAX, 0},
      {BSM_INSTRUCTION_COPY, 1, 1, 1, 1, 0},
      {BSM_INSTRUCTION_RAISE, 1, UINT32_MAX, 0, 0, 0},
      {BSM_INSTRUCTION_MOVE, 1, 1, 1, 1, 0},
      {BSM_INSTRUCTION_REGION, 0, UINT32_MAX, 0, UINT32_MAX, 1},
  };
  for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
    if (rows[k].kind != i->kind) continue;
    const bool odd = i->kind == BSM_INSTRUCTION_DICT && i->input_count % 2;
    const bool loop = i->kind == BSM_INSTRUCTION_LOOP &&
                      i->input_count != i->output_count + 2;
    if (i->input_count < rows[k].min_inputs ||
        i->input_count > rows[k].max_inputs ||
        i->output_count < rows[k].min_outputs ||
        i->output_count > rows[k].max_outputs ||
        i->block_count != rows[k].blocks || odd || loop) {
      break;
    }
    const uint32_t segments =
        p->segment_count + (i->kind == BSM_INSTRUCTION_REGION);
    if ((i->kind == BSM_INSTRUCTION_SEGMENT ||
         i->kind == BSM_INSTRUCTION_REGION) &&
        i->segment >= segments) {
      return BSM_FAIL(BSM_CORRUPT, "segment %" PRIu32 " of %" PRIu32,
                      i->segment, p->segment_count);
    }
    return BSM_OK;
  }
  return BSM_FAIL(BSM_CORRUPT,
                  "an instruction of kind %d with %" PRIu32 " inputs, %" PRIu32
                  " outputs and %" PRIu32 " blocks",
                  (int)i->kind, i->input_count, i->output_count,
                  i->block_count);
}

/* The block's parameters and results are as many as the instruction says. */
static bsm_status check_block_of(const bsm_program *p, const bsm_instruction *i,
                                 uint32_t which) {
  const bsm_program_block *b = &p->blocks[i->blocks[which]];
  const bool loop = i->kind == BSM_INSTRUCTION_LOOP;
  const uint32_t params = loop ? i->output_count + 1 : 0;
  const uint32_t results = loop ? i->output_count + 1 : i->output_count;
  if (b->param_count != params || b->result_count != results) {
    return BSM_FAIL(BSM_CORRUPT, "block %" PRIu32 " does not fit its %s",
                    i->blocks[which], bsm_instruction_kind_name(i->kind));
  }
  return BSM_OK;
}

static bsm_status check_segment_of(const bsm_program *p,
                                   const bsm_instruction *i) {
  const bsm_plan *s = p->segments[i->segment];
  if (i->input_count != s->input_count || i->output_count != s->output_count) {
    return BSM_FAIL(BSM_CORRUPT,
                    "segment %" PRIu32 " has %" PRIu32 " inputs and %" PRIu32
                    " outputs",
                    i->segment, s->input_count, s->output_count);
  }
  return BSM_OK;
}

/* Each block belongs to one instruction of an earlier block, so blocks form a
 * tree. */
static bsm_status check_block(const bsm_program *p, uint32_t id,
                              uint32_t *depths) {
  const bsm_program_block *b = &p->blocks[id];
  BSM_TRY(check_registers(p, b->params, b->param_count, "parameter"));
  BSM_TRY(check_registers(p, b->results, b->result_count, "result"));
  for (uint32_t k = 0; k < b->instruction_count; k++) {
    const bsm_instruction *i = &b->instructions[k];
    BSM_TRY(check_counts(p, i));
    BSM_TRY(check_registers(p, i->inputs, i->input_count, "input"));
    BSM_TRY(check_registers(p, i->outputs, i->output_count, "output"));
    if (i->kind == BSM_INSTRUCTION_SEGMENT) BSM_TRY(check_segment_of(p, i));
    for (uint32_t w = 0; w < i->block_count; w++) {
      const uint32_t inner = i->blocks[w];
      if (inner <= id || inner >= p->block_count || depths[inner]) {
        return BSM_FAIL(BSM_CORRUPT, "block %" PRIu32 " inside block %" PRIu32,
                        inner, id);
      }
      depths[inner] = depths[id] + 1;
      if (depths[inner] > MAX_DEPTH) {
        return BSM_FAIL(BSM_CORRUPT, "blocks nest more than %d deep",
                        MAX_DEPTH);
      }
      BSM_TRY(check_block_of(p, i, w));
    }
  }
  return BSM_OK;
}

/* Each input whose dims are open has one range with their limits. */
static bsm_status check_ranges(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  uint32_t open = 0;
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const bsm_dims dims = plan->tensors[plan->inputs[i].tensor].dims;
    bool ranges = false;
    for (int32_t k = 0; k < dims.rank; k++) ranges = ranges || dims.d[k] < 0;
    if (!ranges) continue;
    const bsm_program_range *r =
        open < p->range_count ? &p->ranges[open++] : NULL;
    bool fits = r && r->input == i && r->min.rank == dims.rank &&
                r->opt.rank == dims.rank && r->max.rank == dims.rank;
    for (int32_t k = 0; fits && k < dims.rank; k++) {
      fits = r->min.d[k] >= 0 && r->min.d[k] <= r->opt.d[k] &&
             r->opt.d[k] <= r->max.d[k] &&
             (dims.d[k] < 0 ||
              (r->min.d[k] == dims.d[k] && r->max.d[k] == dims.d[k]));
    }
    if (!fits) {
      return BSM_FAIL(BSM_CORRUPT, "input %" PRIu32 " has no proper range", i);
    }
  }
  return open == p->range_count ? BSM_OK
                                : BSM_FAIL(BSM_CORRUPT,
                                           "%" PRIu32 " ranges for %" PRIu32
                                           " inputs whose dims are open",
                                           p->range_count, open);
}

static bool fits_binding(const bsm_plan *plan, const bsm_plan_binding *open,
                         const bsm_plan *variant,
                         const bsm_plan_binding *fixed) {
  const bsm_plan_tensor *a = &plan->tensors[open->tensor];
  const bsm_plan_tensor *b = &variant->tensors[fixed->tensor];
  bool fits = (a->dtype == b->dtype || a->dtype == BSM_DTYPE_UNDEFINED) &&
              (a->dims.rank == b->dims.rank || a->dims.rank == -1);
  for (int32_t i = 0; fits && i < a->dims.rank; i++) {
    fits = a->dims.d[i] < 0 || a->dims.d[i] == b->dims.d[i];
  }
  return fits;
}

static bsm_status check_variants(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  if (p->variant_count && bsm_plan_value_count(plan)) {
    return BSM_FAIL(BSM_CORRUPT, "variants lack results of the program");
  }
  for (uint32_t i = 0; i < p->variant_count; i++) {
    const bsm_plan *v =
        p->variants[i] < p->segment_count ? p->segments[p->variants[i]] : NULL;
    bool fits = v && v->input_count == plan->input_count &&
                v->output_count == plan->output_count;
    for (uint32_t k = 0; fits && k < plan->input_count; k++) {
      fits = fits_binding(plan, &plan->inputs[k], v, &v->inputs[k]);
    }
    for (uint32_t k = 0; fits && k < plan->output_count; k++) {
      fits = fits_binding(plan, &plan->outputs[k], v, &v->outputs[k]);
    }
    if (!fits) {
      return BSM_FAIL(BSM_CORRUPT,
                      "variant %" PRIu32 " does not fit the bindings", i);
    }
  }
  return BSM_OK;
}

/* Programs may not have quantized tensors: ops rely on their scale, which a
 * plan does not have. */
static bsm_status check_dtype(const bsm_plan *plan, uint32_t tensor,
                              const char *what, uint32_t index) {
  const bsm_dtype dtype = plan->tensors[tensor].dtype;
  return bsm_dtype_is_quantized(dtype)
             ? BSM_FAIL(BSM_CORRUPT, "%s %" PRIu32 " of a program is %s", what,
                        index, bsm_dtype_name(dtype))
             : BSM_OK;
}

static bsm_status check_bindings(const bsm_plan *plan) {
  for (uint32_t i = 0; i < plan->input_count; i++) {
    const uint32_t id = plan->inputs[i].tensor;
    BSM_TRY(check_dtype(plan, id, "input", i));
    if (plan->tensors[id].dims.rank < 0) {
      return BSM_FAIL(BSM_CORRUPT, "input %" PRIu32 " has no rank", i);
    }
  }
  for (uint32_t i = 0; i < plan->output_count; i++) {
    const uint32_t id = plan->outputs[i].tensor;
    const bsm_dtype dtype = plan->tensors[id].dtype;
    BSM_TRY(check_dtype(plan, id, "output", i));
    if (dtype != BSM_DTYPE_UNDEFINED && !bsm_dtype_size(dtype)) {
      return BSM_FAIL(BSM_CORRUPT, "output %" PRIu32 " has unknown dtype %d", i,
                      (int)dtype);
    }
  }
  return BSM_OK;
}

static bsm_status check_constants(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  BSM_TRY(
      check_registers(p, p->constant_registers, p->constant_count, "constant"));
  for (uint32_t i = 0; i < p->constant_tensor_count; i++) {
    const uint32_t id = p->constant_tensors[i];
    if (id >= plan->tensor_count ||
        plan->tensors[id].place != BSM_PLACE_WEIGHTS) {
      return BSM_FAIL(BSM_CORRUPT,
                      "constant tensor %" PRIu32 " is not among the weights",
                      i);
    }
    BSM_TRY(check_dtype(plan, id, "constant", i));
  }
  for (uint32_t i = 0; i < p->derived_count; i++) {
    if (p->derived[i].weights >= plan->weights_count) {
      return BSM_FAIL(BSM_CORRUPT, "derived weights %" PRIu32 " are not there",
                      i);
    }
  }
  return BSM_OK;
}

static bsm_status check_precisions(const bsm_program *p) {
  bool known = !(p->allowed_precisions & ~(uint32_t)BSM_PRECISION_ALL);
  for (uint32_t i = 0; i < p->precision_count; i++) {
    const uint32_t precision = p->precisions[i].precision;
    known = known && precision && precision <= BSM_PRECISION_ALL &&
            bsm_precision_name((bsm_precision)precision);
  }
  known = known && p->weight_bits <= 8 && p->weight_group <= 128 &&
          p->weight_rows <= INT64_MAX;
  return known ? BSM_OK : BSM_FAIL(BSM_CORRUPT, "precisions that are none");
}

bsm_status bsm_program_verify(const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  BSM_TRY(check_precisions(p));
  if (plan->step_count || !p->block_count ||
      p->blocks[0].param_count != plan->input_count ||
      p->blocks[0].result_count < plan->output_count) {
    return BSM_FAIL(BSM_CORRUPT,
                    "the program does not fit the engine's bindings");
  }
  for (uint32_t i = 0; i < p->segment_count; i++) {
    if (p->segments[i]->program) {
      return BSM_FAIL(BSM_CORRUPT, "segment %" PRIu32 " is a program", i);
    }
    BSM_TRY_NOTE(bsm_plan_verify(p->segments[i]),
                 "in segment %" PRIu32 " of the program", i);
    BSM_TRY_NOTE(check_bindings(p->segments[i]),
                 "in segment %" PRIu32 " of the program", i);
  }
  BSM_TRY(check_bindings(plan));
  BSM_TRY(check_constants(plan));
  BSM_TRY(check_ranges(plan));
  BSM_TRY(check_variants(plan));
  bsm_arena arena;
  bsm_arena_init(&arena, NULL);
  uint32_t *depths = BSM_NEW_ARRAY(&arena, uint32_t, p->block_count);
  bsm_status status = depths ? BSM_OK : BSM_FAIL_OOM();
  if (depths) depths[0] = 1;
  for (uint32_t i = 0; i < p->block_count && !status; i++) {
    status = depths[i] ? check_block(p, i, depths)
                       : BSM_FAIL(BSM_CORRUPT, "no instruction has it");
    status = bsm_status_note(status, "in block %" PRIu32 " of the program", i);
  }
  bsm_arena_destroy(&arena);
  return status;
}

/* ---- text ---- */

static void print_registers(bsm_text *text, const uint32_t *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    bsm_text_printf(text, "%sr%" PRIu32, i ? ", " : "", r[i]);
  }
}

static void print_block(bsm_text *text, const bsm_program *p, uint32_t id,
                        int depth) {
  const bsm_program_block *b = &p->blocks[id];
  for (uint32_t k = 0; k < b->instruction_count; k++) {
    const bsm_instruction *i = &b->instructions[k];
    bsm_text_printf(text, "%*s", 2 * depth, "");
    print_registers(text, i->outputs, i->output_count);
    bsm_text_printf(text, "%s%s", i->output_count ? " = " : "",
                    bsm_instruction_kind_name(i->kind));
    if (i->kind == BSM_INSTRUCTION_SEGMENT) {
      bsm_text_printf(text, " %" PRIu32, i->segment);
    } else if (i->name[0]) {
      bsm_text_printf(text, " %s", i->name);
    }
    bsm_text_puts(text, "(");
    print_registers(text, i->inputs, i->input_count);
    bsm_text_puts(text, ")");
    if (i->source[0]) bsm_text_printf(text, "  # %s", i->source);
    if (i->kind == BSM_INSTRUCTION_REGION) {
      bsm_text_puts(text, "  # planned when its shapes are known");
      if (i->segment) {
        bsm_text_printf(text, ", at best as segment %" PRIu32, i->segment - 1);
      }
    }
    bsm_text_puts(text, "\n");
    for (uint32_t w = 0; w < i->block_count; w++) {
      const bsm_program_block *inner = &p->blocks[i->blocks[w]];
      bsm_text_printf(text, "%*sblock(", 2 * depth + 2, "");
      print_registers(text, inner->params, inner->param_count);
      bsm_text_puts(text, "):\n");
      if (depth < MAX_DEPTH) print_block(text, p, i->blocks[w], depth + 2);
      bsm_text_printf(text, "%*s-> (", 2 * depth + 4, "");
      print_registers(text, inner->results, inner->result_count);
      bsm_text_puts(text, ")\n");
    }
  }
}

/* Prints ranges and variants. */
static void print_shapes(bsm_text *text, const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  for (uint32_t i = 0; i < p->range_count; i++) {
    const bsm_program_range *r = &p->ranges[i];
    const char *name =
        r->input < plan->input_count ? plan->inputs[r->input].name : "?";
    bsm_text_printf(text, "  range of %s: %s", name, bsm_dims_str(r->min));
    bsm_text_printf(text, " to %s", bsm_dims_str(r->max));
    bsm_text_printf(text, ", best %s\n", bsm_dims_str(r->opt));
  }
  for (uint32_t i = 0; i < p->variant_count; i++) {
    bsm_text_printf(
        text,
        i ? ", %" PRIu32 : "  run instead for their shapes: segments %" PRIu32,
        p->variants[i]);
  }
  if (p->variant_count) bsm_text_puts(text, "\n");
  if (p->derived_count) {
    bsm_text_printf(text,
                    "  packed weights for plans of other shapes: %" PRIu32 "\n",
                    p->derived_count);
  }
}

void bsm_program_print(bsm_text *text, const bsm_plan *plan) {
  const bsm_program *p = plan->program;
  bsm_text_printf(text,
                  "program: %" PRIu32 " registers, %" PRIu32
                  " constants, %" PRIu32 " blocks, %" PRIu32 " segments\n",
                  p->register_count, p->constant_count, p->block_count,
                  p->segment_count);
  print_shapes(text, plan);
  const uint32_t tensors = p->constant_tensor_count;
  bsm_text_puts(text, "  constants ");
  print_registers(text, p->constant_registers, p->constant_count);
  bsm_text_puts(text, " = ");
  bsm_ivalue_bytes_print(
      text, (bsm_str){(const char *)p->constants, p->constants_size},
      p->constant_tensors, tensors);
  bsm_text_puts(text, "\n  (");
  print_registers(text, p->blocks[0].params, p->blocks[0].param_count);
  bsm_text_puts(text, "):\n");
  print_block(text, p, 0, 2);
  bsm_text_puts(text, "    -> (");
  print_registers(text, p->blocks[0].results, p->blocks[0].result_count);
  bsm_text_puts(text, ")\n");
}
