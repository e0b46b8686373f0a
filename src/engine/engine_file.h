/* SPDX-License-Identifier: Apache-2.0 */
/* The engine file.
 *
 *   offset  size  field (little-endian)
 *        0     8  magic "BSMENGIN"
 *        8     4  format: major version in the upper half, minor in the lower
 *       12     4  byte-order mark 0x01020304
 *       16     8  size of the whole file
 *       24     8  size of the description that follows the header
 *       32     8  offset of the weights, a multiple of 64
 *       40     8  size of the weights
 *       48     8  hash of the description
 *       56     8  hash of the weights
 *       64        description: tensors, bindings, steps, structures
 *        …        weights, each at a multiple of 64
 *        …   128  in a signed file: the signature (bsm_engine_signature)
 *
 * A runtime reads files of its own major version whose minor version is not
 * above its own. It refuses all others, and names both versions. What a minor
 * version adds is read when the file has it; its default means what older files
 * mean. Within a major version fields are never moved or removed.
 *   8.0  what plan_writer.c writes, without the fields marked with a later one
 *   8.1  the target; memory spaces of tensors, steps and weights; precisions of
 *        steps; the device's workspace
 *   8.2  a signature at the end; nothing in the description
 *   8.3  precisions of programs; the hash of the description starts from the
 *        format's number, so that it covers that, too
 *   8.4  steps of kind scan
 *   8.5  steps of the kinds int8_convolution, non_zero and nms
 *   8.6  forms of matrix_multiply, the weights of programs
 *   8.7  convolution and matrix_multiply of float16 and bfloat16 on CPUs; steps
 *        of kind regions
 *   8.8  on GPUs: int8_convolution that gives float16 and bfloat16, a second
 *        output of normalization, matrix_multiply by weights of few bits
 *   8.9  steps of kind sample; deconvolutions of float16 and bfloat16 on CPUs;
 *        targets that say whether there is VNNI
 *   8.10 gathers of mode SELECT
 *
 * The rest of the header is covered by its redundancy: every field is checked
 * against the file. A description is a plain sequence of integers, doubles and
 * counted strings; nothing in it is an address or code. Machine code for a
 * device is weights (bsm_plan_code). */
#ifndef BSM_ENGINE_ENGINE_FILE_H_
#define BSM_ENGINE_ENGINE_FILE_H_

#include "base/file.h"
#include "engine/plan.h"

#define BSM_ENGINE_FORMAT_MAJOR 8u
#define BSM_ENGINE_FORMAT_MINOR 10u
#define BSM_ENGINE_FORMAT_VERSION \
  (BSM_ENGINE_FORMAT_MAJOR << 16 | BSM_ENGINE_FORMAT_MINOR)

/* The end of a signed file. `signature` is of all bytes before it, which are
 * all others of the file. */
typedef struct bsm_engine_signature {
  char magic[8];      /* "BSMSIGNS" */
  uint32_t algorithm; /* BSM_SIGNATURE_ED25519 */
  uint32_t zero;
  uint8_t public_key[32]; /* of who signed */
  uint8_t zeros[16];
  uint8_t signature[64];
} bsm_engine_signature;
/* Ed25519 of BSM_SIGNED_PREFIX and the 64 bytes of BLAKE2b of what is signed.
 */
#define BSM_SIGNATURE_ED25519 1u
#define BSM_SIGNED_PREFIX "Bessemer engine\n"

/* What looks at the bytes of a file before they are written, and may sign it.
 */
typedef struct bsm_engine_seal {
  const uint8_t *public_key; /* NULL: the file has no signature */
  /* The pieces are the file, or all of it but the last 64 bytes, which are the
   * signature that this makes. */
  bsm_status (*seal)(void *user, const bsm_file_piece *pieces, size_t count,
                     uint8_t *signature);
  void *user;
} bsm_engine_seal;
/* The hash of the description of a file of a format (its field). */
uint64_t bsm_engine_file_hash(uint32_t format, const void *description,
                              size_t size);
/* Takes all pieces of a file; they live as long as the call. */
typedef bsm_status (*bsm_engine_put)(void *user, const bsm_file_piece *pieces,
                                     size_t count);
/* Gives the plan as an engine file to `put`. `seal` may be NULL. */
BSM_NODISCARD bsm_status bsm_engine_file_give(const bsm_plan *plan,
                                              const bsm_engine_seal *seal,
                                              bsm_engine_put put, void *user);
/* Puts it into the file whose name `path` points to (const char **). The file
 * appears complete or not at all. */
BSM_NODISCARD bsm_status bsm_engine_put_in_file(void *path,
                                                const bsm_file_piece *pieces,
                                                size_t count);
/* Both. */
BSM_NODISCARD bsm_status bsm_engine_file_write(const bsm_plan *plan,
                                               const char *path,
                                               const bsm_engine_seal *seal);

/* Reads an engine from memory into `arena`. Weights stay in `data`, which must
 * be aligned to BSM_ALIGNMENT and outlive the plan. `check_weights`: verify
 * their hash. The result has passed bsm_plan_verify. */
BSM_NODISCARD bsm_status bsm_engine_file_read(bsm_arena *arena,
                                              const void *data, size_t size,
                                              bool check_weights,
                                              bsm_plan **out);

/* The signature of an engine file, as it says, not verified; false: it has
 * none, or the bytes are no engine. */
bool bsm_engine_file_signature(const void *data, size_t size,
                               bsm_engine_signature *out);

#endif /* BSM_ENGINE_ENGINE_FILE_H_ */
