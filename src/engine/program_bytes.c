/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as bytes: after the fields of a plan, a count of blocks, 0 for no
 * program; then the registers, the blocks, the constants, the variants, the
 * ranges, the derived weights, the precisions (since 8.3, weights since 8.6),
 * and the segments as counted plans. */
#include <inttypes.h>
#include <string.h>

#include "engine/byte_writer.h"
#include "engine/plan_bytes.h"
#include "engine/program.h"

#define SEGMENT_MIN_BYTES 4

/* ---- writing ---- */

static void put_dims(bsm_text *out, bsm_dims dims) {
  bsm_put(out, dims.d, (size_t)dims.rank * sizeof(dims.d[0]));
}

static void put_block(bsm_text *out, const bsm_program_block *b) {
  bsm_put_ids(out, b->params, b->param_count);
  bsm_put_ids(out, b->results, b->result_count);
  bsm_put_u32(out, b->instruction_count);
  for (uint32_t k = 0; k < b->instruction_count; k++) {
    const bsm_instruction *i = &b->instructions[k];
    bsm_put_u32(out, (uint32_t)i->kind);
    bsm_put_string(out, i->name);
    bsm_put_string(out, i->source);
    bsm_put_u32(out, i->segment);
    bsm_put_ids(out, i->inputs, i->input_count);
    bsm_put_ids(out, i->outputs, i->output_count);
    bsm_put_ids(out, i->blocks, i->block_count);
  }
}

static void put_precisions(bsm_text *out, const bsm_program *p) {
  bsm_put_u32(out, p->allowed_precisions);
  bsm_put_u32(out, p->precision_count);
  for (uint32_t i = 0; i < p->precision_count; i++) {
    const bsm_program_precision *precision = &p->precisions[i];
    bsm_put_u32(out, precision->precision);
    bsm_put_string(out, precision->given);
    bsm_put_string(out, precision->pattern);
    bsm_put_u32(out, precision->path_count);
    for (uint32_t k = 0; k < precision->path_count; k++) {
      bsm_put_string(out, precision->paths[k]);
    }
  }
  bsm_put_u32(out, p->weight_bits);
  bsm_put_u32(out, p->weight_group);
  bsm_put_u64(out, p->weight_rows);
}

bsm_status bsm_program_to_bytes(const bsm_plan *plan, const uint64_t *offsets,
                                bsm_text *out) {
  const bsm_program *p = plan->program;
  if (!p) {
    bsm_put_u32(out, 0);
    return BSM_OK;
  }
  bsm_put_u32(out, p->block_count);
  bsm_put_u32(out, p->register_count);
  for (uint32_t i = 0; i < p->block_count; i++) put_block(out, &p->blocks[i]);
  bsm_put_u32(out, p->constants_size);
  bsm_put(out, p->constants, p->constants_size);
  bsm_put_ids(out, p->constant_registers, p->constant_count);
  bsm_put_ids(out, p->constant_tensors, p->constant_tensor_count);
  bsm_put_ids(out, p->variants, p->variant_count);
  bsm_put_u32(out, p->range_count);
  for (uint32_t i = 0; i < p->range_count; i++) {
    const bsm_program_range *r = &p->ranges[i];
    bsm_put_u32(out, r->input);
    bsm_put_u32(out, (uint32_t)r->opt.rank);
    put_dims(out, r->min);
    put_dims(out, r->opt);
    put_dims(out, r->max);
  }
  bsm_put_u32(out, p->derived_count);
  for (uint32_t i = 0; i < p->derived_count; i++) {
    bsm_put_u64(out, p->derived[i].key[0]);
    bsm_put_u64(out, p->derived[i].key[1]);
    bsm_put_u32(out, p->derived[i].weights);
  }
  put_precisions(out, p);
  bsm_put_u32(out, p->segment_count);
  for (uint32_t i = 0; i < p->segment_count; i++) {
    bsm_str bytes;
    BSM_TRY(bsm_plan_to_bytes(p->segments[i], offsets, out->arena, &bytes));
    if (bytes.len > UINT32_MAX) {
      return BSM_FAIL(BSM_LIMIT, "a segment takes %zu bytes", bytes.len);
    }
    bsm_put_u32(out, (uint32_t)bytes.len);
    bsm_text_append(out, bytes);
    offsets += p->segments[i]->weights_count;
  }
  return BSM_OK;
}

/* ---- reading ---- */

static bsm_status get_instruction(bsm_byte_reader *r, bsm_instruction *i) {
  uint32_t kind;
  uint32_t *blocks;
  BSM_TRY(bsm_read_u32(r, &kind, "an instruction"));
  if (kind > INT32_MAX ||
      !bsm_instruction_kind_name((bsm_instruction_kind)kind)) {
    return BSM_FAIL(BSM_CORRUPT, "unknown kind %" PRIu32, kind);
  }
  i->kind = (bsm_instruction_kind)kind;
  BSM_TRY(bsm_read_string(r, &i->name, "an instruction"));
  BSM_TRY(bsm_read_string(r, &i->source, "an instruction"));
  BSM_TRY(bsm_read_u32(r, &i->segment, "an instruction"));
  BSM_TRY(bsm_read_ids(r, &i->inputs, &i->input_count, UINT32_MAX, "inputs"));
  BSM_TRY(
      bsm_read_ids(r, &i->outputs, &i->output_count, UINT32_MAX, "outputs"));
  BSM_TRY(bsm_read_ids(r, &blocks, &i->block_count, 2, "blocks"));
  memcpy(i->blocks, blocks, i->block_count * sizeof(*blocks));
  return BSM_OK;
}

static bsm_status get_block(bsm_byte_reader *r, bsm_program_block *b) {
  BSM_TRY(
      bsm_read_ids(r, &b->params, &b->param_count, UINT32_MAX, "parameters"));
  BSM_TRY(
      bsm_read_ids(r, &b->results, &b->result_count, UINT32_MAX, "results"));
  BSM_TRY(bsm_read_count(r, &b->instruction_count, 28, "instructions"));
  b->instructions = BSM_NEW_ARRAY(r->arena, bsm_instruction,
                                  b->instruction_count + (size_t)1);
  BSM_TRY_ALLOC(b->instructions);
  for (uint32_t i = 0; i < b->instruction_count; i++) {
    BSM_TRY_NOTE(get_instruction(r, &b->instructions[i]),
                 "in instruction %" PRIu32, i);
  }
  return BSM_OK;
}

static bsm_status get_constants(bsm_byte_reader *r, bsm_program *p) {
  BSM_TRY(bsm_read_bytes(r, &p->constants, &p->constants_size, "constants"));
  BSM_TRY(bsm_read_ids(r, &p->constant_registers, &p->constant_count,
                       UINT32_MAX, "constants"));
  return bsm_read_ids(r, &p->constant_tensors, &p->constant_tensor_count,
                      UINT32_MAX, "constant tensors");
}

static bsm_status get_dims(bsm_byte_reader *r, uint32_t rank, bsm_dims *out) {
  out->rank = (int32_t)rank;
  return bsm_read(r, out->d, rank * sizeof(out->d[0]), "a range");
}

static bsm_status get_ranges(bsm_byte_reader *r, bsm_program *p) {
  BSM_TRY(bsm_read_count(r, &p->range_count, 8, "ranges"));
  p->ranges =
      BSM_NEW_ARRAY(r->arena, bsm_program_range, p->range_count + (size_t)1);
  BSM_TRY_ALLOC(p->ranges);
  for (uint32_t i = 0; i < p->range_count; i++) {
    bsm_program_range *range = &p->ranges[i];
    uint32_t rank;
    BSM_TRY(bsm_read_u32(r, &range->input, "a range"));
    BSM_TRY(bsm_read_u32(r, &rank, "a range"));
    if (rank > BSM_MAX_RANK) {
      return BSM_FAIL(BSM_CORRUPT, "a range of rank %" PRIu32, rank);
    }
    BSM_TRY(get_dims(r, rank, &range->min));
    BSM_TRY(get_dims(r, rank, &range->opt));
    BSM_TRY(get_dims(r, rank, &range->max));
  }
  return BSM_OK;
}

static bsm_status get_derived(bsm_byte_reader *r, bsm_program *p) {
  BSM_TRY(bsm_read_count(r, &p->derived_count, 20, "derived weights"));
  p->derived = BSM_NEW_ARRAY(r->arena, bsm_program_derived,
                             p->derived_count + (size_t)1);
  BSM_TRY_ALLOC(p->derived);
  for (uint32_t i = 0; i < p->derived_count; i++) {
    bsm_program_derived *d = &p->derived[i];
    BSM_TRY(bsm_read(r, d->key, sizeof(d->key), "derived weights"));
    BSM_TRY(bsm_read_u32(r, &d->weights, "derived weights"));
  }
  return BSM_OK;
}

static bsm_status get_precision(bsm_byte_reader *r, bsm_program_precision *p) {
  BSM_TRY(bsm_read_u32(r, &p->precision, "a precision"));
  BSM_TRY(bsm_read_string(r, &p->given, "a precision"));
  BSM_TRY(bsm_read_string(r, &p->pattern, "a precision"));
  BSM_TRY(bsm_read_count(r, &p->path_count, 4, "paths"));
  p->paths = BSM_NEW_ARRAY(r->arena, const char *, p->path_count + (size_t)1);
  BSM_TRY_ALLOC(p->paths);
  for (uint32_t i = 0; i < p->path_count; i++) {
    BSM_TRY(bsm_read_string(r, &p->paths[i], "a path"));
  }
  return BSM_OK;
}

static bsm_status get_precisions(bsm_byte_reader *r, bsm_program *p) {
  if (r->minor < 3) return BSM_OK;
  BSM_TRY(bsm_read_u32(r, &p->allowed_precisions, "precisions"));
  BSM_TRY(bsm_read_count(r, &p->precision_count, 16, "precisions"));
  p->precisions = BSM_NEW_ARRAY(r->arena, bsm_program_precision,
                                p->precision_count + (size_t)1);
  BSM_TRY_ALLOC(p->precisions);
  for (uint32_t i = 0; i < p->precision_count; i++) {
    BSM_TRY(get_precision(r, &p->precisions[i]));
  }
  if (r->minor < 6) return BSM_OK;
  BSM_TRY(bsm_read_u32(r, &p->weight_bits, "precisions"));
  BSM_TRY(bsm_read_u32(r, &p->weight_group, "precisions"));
  return bsm_read_u64(r, &p->weight_rows, "precisions");
}

static bsm_status get_segments(bsm_byte_reader *r,
                               const bsm_weights_section *weights,
                               bsm_program *p) {
  BSM_TRY(bsm_read_count(r, &p->segment_count, SEGMENT_MIN_BYTES, "segments"));
  p->segments =
      BSM_NEW_ARRAY(r->arena, bsm_plan *, p->segment_count + (size_t)1);
  BSM_TRY_ALLOC(p->segments);
  for (uint32_t i = 0; i < p->segment_count; i++) {
    uint32_t size;
    BSM_TRY(bsm_read_count(r, &size, 1, "a segment"));
    const bsm_str bytes = {(const char *)r->data + r->at, size};
    r->at += size;
    BSM_TRY_NOTE(bsm_plan_from_bytes(bytes, r->minor, weights, true, r->arena,
                                     &p->segments[i]),
                 "in segment %" PRIu32, i);
  }
  return BSM_OK;
}

bsm_status bsm_program_from_bytes(bsm_byte_reader *r,
                                  const bsm_weights_section *weights,
                                  bsm_plan *plan) {
  uint32_t blocks;
  BSM_TRY(bsm_read_count(r, &blocks, 12, "blocks"));
  if (!blocks) return BSM_OK;
  bsm_program *p = BSM_NEW(r->arena, bsm_program);
  BSM_TRY_ALLOC(p);
  plan->program = p;
  p->block_count = blocks;
  BSM_TRY(bsm_read_u32(r, &p->register_count, "registers"));
  if (p->register_count > r->size / 4) { /* each register is named somewhere */
    return BSM_FAIL(BSM_CORRUPT, "%" PRIu32 " registers", p->register_count);
  }
  p->blocks = BSM_NEW_ARRAY(r->arena, bsm_program_block, blocks);
  BSM_TRY_ALLOC(p->blocks);
  for (uint32_t i = 0; i < blocks; i++) {
    BSM_TRY_NOTE(get_block(r, &p->blocks[i]), "in block %" PRIu32, i);
  }
  BSM_TRY(get_constants(r, p));
  BSM_TRY(
      bsm_read_ids(r, &p->variants, &p->variant_count, UINT32_MAX, "variants"));
  BSM_TRY(get_ranges(r, p));
  BSM_TRY(get_derived(r, p));
  BSM_TRY(get_precisions(r, p));
  return get_segments(r, weights, p);
}
