/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on what a file may ask for, applied by every parser. */
#ifndef BESSEMER_LIMITS_H_
#define BESSEMER_LIMITS_H_

#include <stddef.h>
#include <stdint.h>

#include "bessemer/export.h"

BSM_EXTERN_C_BEGIN

/* Zero in a field means the default in parentheses. */
typedef struct bsm_limits {
  size_t struct_size;         /* set by BSM_LIMITS_INIT */
  uint64_t max_file_bytes;    /* whole input file (64 GiB) */
  uint64_t max_entries;       /* members of an archive (1,000,000) */
  uint64_t max_name_bytes;    /* a member name, an identifier (64 KiB) */
  uint64_t max_inflated;      /* bytes inflated from one archive (1 GiB) */
  uint64_t max_inflate_ratio; /* inflated : deflated of a member (1100) */
  uint64_t max_pickle_ops;    /* opcodes of one pickle (50,000,000) */
  uint64_t max_depth;         /* nesting of values, types, blocks (200) */
  uint64_t max_string_bytes;  /* one string (64 MiB) */
  uint64_t max_source_bytes;  /* one code member, one IR text (256 MiB) */
  uint64_t max_nodes;         /* IR nodes of a lowered graph (4,000,000) */
  uint64_t max_tensor_bytes;  /* one tensor made while compiling (16 GiB) */
  /* Loops are unrolled while compiling up to this many iterations in all loops
   * of a method (100,000), and as long as they leave at most this many nodes
   * (100,000). A longer loop becomes a loop of the engine. When it cannot
   * (max_unrolled_nodes is ignored then), compiling fails. */
  uint64_t max_loop_trips;
  uint64_t max_unrolled_nodes;
  uint64_t max_json_values; /* values and keys of one JSON text (20,000,000) */
  /* What loading the file, or all that compiling makes of it, may take at one
   * time, in one call: what is read, known, lowered and planned, and the engine
   * with its weights. The file itself does not count, nor do runs that time or
   * calibrate, and those that look at how exact a plan is, which are left out
   * where they take more than 16 times as much. An engine that was returned
   * counts no more. A constant for which, with a copy, there is no room is left
   * to the engine, whose workspace may then be 16 times as large. (60 MiB, and
   * 64 times the size of the file) */
  uint64_t max_memory_bytes;
  /* What may be computed while loading or compiling, in one call:
   * multiply-adds, and elements visited. Constants that take more are left to
   * the engine; what has to be known, as the state that __setstate__ makes, is
   * an error. A network is run as a whole, to see how exact its fast forms are,
   * where all runs take at most 64 times as much; else parts of its layers are.
   * (2^27, and 1000 times the bytes of the file) */
  uint64_t max_work;
} bsm_limits;

#define BSM_LIMITS_INIT \
  { sizeof(bsm_limits), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

BSM_EXTERN_C_END

#endif /* BESSEMER_LIMITS_H_ */
