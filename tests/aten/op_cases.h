/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of tests/data/aten/op_cases/: calls of ops with what PyTorch answers,
 * one file a part. tests/data/aten/make_op_cases.py describes the format and
 * writes it. */
#ifndef TESTS_ATEN_OP_CASES_H_
#define TESTS_ATEN_OP_CASES_H_

#include <dirent.h>

#include "aten/op.h"
#include "base/file.h"

enum { OP_CASE_MAX = 32 };

typedef enum op_outcome {
  OP_RETURNS = 0,
  OP_RAISES = 1,
  OP_SHAPE_ONLY = 2 /* values are not compared (random, uninitialised) */
} op_outcome;

typedef struct op_case {
  bsm_str name; /* "aten::add.Tensor" */
  bsm_ivalue args[OP_CASE_MAX];
  size_t arg_count;
  op_outcome outcome;
  bool strides; /* strides of the results are compared too */
  bsm_ivalue outs[OP_CASE_MAX];
  size_t out_count;
  bool has_after;
  bool has_seed; /* random: results must agree bit for bit */
  uint64_t seed;
  int64_t probe;    /* the integer in [0, 2^31) drawn next */
  bsm_ivalue after; /* args[0] after the call: a tensor's whole storage, 1-D */
} op_case;

typedef struct op_case_reader {
  struct dirent **parts; /* the files, sorted by name */
  int part_count, part;  /* `part`: the one that is open */
  bsm_file_map map;
  const uint8_t *p, *end;
  bool bad;
} op_case_reader;

/* Opens all parts; false when there are none. Close it in any case. */
bool op_cases_open(op_case_reader *r);
void op_cases_close(op_case_reader *r);
/* The name of the file being read, for messages. */
const char *op_cases_part(const op_case_reader *r);
/* The next case, in `arena`; false at the end, or when the file is bad. */
bool op_cases_next(op_case_reader *r, bsm_arena *arena, op_case *out);

/* Whether it takes or gives quantized tensors or packed parameters, which no
 * graph has past lowering. */
bool op_case_is_quantized(const op_case *c);

#endif /* TESTS_ATEN_OP_CASES_H_ */
