/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays between files and engines: which array is which input. */
#ifndef BSM_TOOLS_ARRAYS_H_
#define BSM_TOOLS_ARRAYS_H_

#include "bessemer/compiler.h"
#include "bessemer/engine.h"
#include "tools/cli.h"
#include "tools/npy.h"

/* Named arrays from several files. Those of an .npz keep their names; the k-th
 * .npy is called "in_k". */
typedef struct bsm_array_set {
  bsm_npy_file *files;
  size_t file_count;
  bsm_npy_array *items;
  size_t count;
} bsm_array_set;

/* Opens `paths` and DIRECTORY/in_0.npy, in_1.npy, ... (NULL: none). The caller
 * closes *out, also after a failure. */
BSM_NODISCARD bsm_status bsm_array_set_open(bsm_arena *arena,
                                            const char *const *paths,
                                            size_t path_count,
                                            const char *directory,
                                            bsm_array_set *out);
void bsm_array_set_close(bsm_array_set *set);

/* Appends specs for the parameters of `method` that *out has none for.
 * `weights` (may be NULL) become constants by name; of `inputs`, arrays bind by
 * name ("x", or "x.key" for what is in a container), else by position as
 * "in_k", which counts the arrays that parameters take; numbers bind to
 * parameters that are no tensors; what has a default may be missing. The specs
 * refer to the arrays. */
BSM_NODISCARD bsm_status bsm_specs_from_arrays(bsm_arena *arena,
                                               bsm_module *module,
                                               const char *method,
                                               const bsm_array_set *inputs,
                                               const bsm_array_set *weights,
                                               bsm_spec_vec *out);

typedef BSM_VEC(bsm_npy_file) bsm_npy_vec;
/* Opens the files that constant tensors of specs name; the caller closes
 * `files`, also after a failure. */
BSM_NODISCARD bsm_status bsm_specs_open_files(bsm_arena *arena,
                                              bsm_input_spec *specs,
                                              size_t count, bsm_npy_vec *files);

/* One array for each input of the engine, by name, else by position. Fails when
 * an array contradicts what was fixed. */
BSM_NODISCARD bsm_status bsm_bind_inputs(bsm_arena *arena,
                                         const bsm_engine *engine,
                                         const bsm_array_set *set,
                                         bsm_array **out);

/* Arrays of made-up numbers, the same every time, of the shapes that the engine
 * was built to be fast with; integers are zero, so that they are valid as
 * indices. */
BSM_NODISCARD bsm_status bsm_make_inputs(bsm_arena *arena,
                                         const bsm_engine *engine,
                                         bsm_array **out);
/* The same of given shapes, one for each input; NULL: the best ones. */
BSM_NODISCARD bsm_status bsm_make_inputs_of(bsm_arena *arena,
                                            const bsm_engine *engine,
                                            const bsm_dims *shapes,
                                            size_t count, bsm_array **out);

/* The outputs of the last run, in the context's memory, named "out_0", "out_1",
 * ..., or by their paths in the result, fit for file names. */
BSM_NODISCARD bsm_status bsm_take_outputs(bsm_arena *arena,
                                          bsm_context *context, bool by_path,
                                          bsm_npy_array **out, size_t *count);

/* Writes the outputs to an .npz, or the only one to an .npy. */
BSM_NODISCARD bsm_status bsm_save_outputs(const char *path,
                                          const bsm_npy_array *outputs,
                                          size_t count);
/* Writes DIRECTORY/out_0.npy, ... */
BSM_NODISCARD bsm_status bsm_save_outputs_in(const char *directory,
                                             const bsm_npy_array *outputs,
                                             size_t count);

/* The i-th element as a number; complex: its real part. */
double bsm_array_element(const bsm_array *array, size_t i);
/* The number of elements of dims without -1. */
BSM_NODISCARD bsm_status bsm_dims_count(bsm_dims dims, size_t *out);

#endif /* BSM_TOOLS_ARRAYS_H_ */
