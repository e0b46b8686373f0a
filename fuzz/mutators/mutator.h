/* SPDX-License-Identifier: Apache-2.0 */
/* Mutators that know what an input is made of, so that what they change is
 * often still read: libFuzzer's own change bytes, and a file whose checksum,
 * length or bracket is wrong afterwards tests the first check of its reader and
 * nothing else.
 *
 * A target says what its inputs are by FUZZ_INPUTS; mutator.c has
 * LLVMFuzzerCustomMutator for all of them. */
#ifndef BSM_FUZZ_MUTATORS_MUTATOR_H_
#define BSM_FUZZ_MUTATORS_MUTATOR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_input fuzz_input;
/* Changes something; false: nothing was changed. */
typedef bool (*fuzz_mutator)(fuzz_input *in);

/* Of the target. NULL: its inputs are choices, of which nothing is known. The
 * first `prefix` bytes choose something and are left alone. */
typedef struct fuzz_inputs {
  fuzz_mutator mutate;
  size_t prefix;
} fuzz_inputs;
extern const fuzz_inputs fuzz_target_inputs;
#define FUZZ_INPUTS(mutate, prefix) \
  const fuzz_inputs fuzz_target_inputs = {mutate, prefix}

/* What is being changed: `size` bytes where `room` fit. */
struct fuzz_input {
  uint8_t *data;
  size_t size, room;
  uint64_t random; /* the state of fuzz_below */
};

typedef struct fuzz_span {
  size_t at, size;
} fuzz_span;

enum { FUZZ_MAX_SPANS = 4096 };

/* libFuzzer's mutations of bytes; replay_main.c has some for other builds. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* ---- mutator_kit.c ---- */

/* A number below `n`; 0 for 0. */
size_t fuzz_below(fuzz_input *in, size_t n);
/* Puts `n` bytes in place of `removed` at `at`; `bytes` may lie in the input.
 * False when there is no room: nothing is changed. */
bool fuzz_splice(fuzz_input *in, size_t at, size_t removed, const void *bytes,
                 size_t n);
/* Deletes, repeats, moves or replaces one of `count` spans that do not overlap
 * and mean the same kind of thing: by another of them or one that was seen in
 * an earlier input of this kind (`kind` below FUZZ_POOLS). */
enum { FUZZ_POOLS = 8 };
bool fuzz_change_spans(fuzz_input *in, const fuzz_span *spans, size_t count,
                       size_t kind);
/* Mutates the bytes of a span as libFuzzer does. */
bool fuzz_change_bytes(fuzz_input *in, fuzz_span span);
/* An integer that is odd in some way, or near to `old`. */
int64_t fuzz_integer(fuzz_input *in, int64_t old);
/* Writes a little-endian integer of `n` bytes, and reads one. */
void fuzz_poke(uint8_t *at, uint64_t value, size_t n);
uint64_t fuzz_peek(const uint8_t *at, size_t n);

/* Changes a part of the input as what it is, in a buffer of its own. The part
 * has `most` bytes at most afterwards. */
bool fuzz_mutate_part(fuzz_input *in, fuzz_span part, fuzz_mutator mutate,
                      size_t most);

/* ---- one for each format ---- */

/* Lines of words: code, IR, schemas, calibrations, ... */
bool fuzz_mutate_text(fuzz_input *in);
bool fuzz_mutate_json(fuzz_input *in);
bool fuzz_mutate_pickle(fuzz_input *in);
/* Archives; what their members are is seen from them. */
bool fuzz_mutate_zip(fuzz_input *in);
/* An archive, or the list of members that module_fuzz and exported_fuzz take
 * for one. */
bool fuzz_mutate_members(fuzz_input *in);
/* A file, or what compile_fuzz takes for one: the length of a pickle, the
 * pickle, code. */
bool fuzz_mutate_pickled(fuzz_input *in);
/* Engines; sums and hashes are right afterwards. */
bool fuzz_mutate_engine(fuzz_input *in);
/* Arrays, and archives of arrays. */
bool fuzz_mutate_npy(fuzz_input *in);
/* Whatever the bytes seem to be. */
bool fuzz_mutate_any(fuzz_input *in);

#endif /* BSM_FUZZ_MUTATORS_MUTATOR_H_ */
