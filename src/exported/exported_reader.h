/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the reader share; names begin with bsm_xr_ ("exported,
 * read").
 *
 * exported_archive.c: which members there are; exported_program.c: the JSON of
 * the program, from the top; exported_args.c: arguments; exported_graph.c:
 * values and nodes; exported_signature.c: inputs and outputs;
 * exported_tree.c: the structure of arguments; exported_weights.c: tensors;
 * exported_pickles.c: what torch.save wrote. */
#ifndef BSM_EXPORTED_EXPORTED_READER_H_
#define BSM_EXPORTED_EXPORTED_READER_H_

#include "exported/exported_program.h"
#include "exported/json_place.h"
#include "torchscript/zip.h"

/* Tensors by their names in the model. */
typedef struct bsm_xr_payload {
  bsm_tensor *tensor; /* NULL: a custom object */
} bsm_xr_payload;

typedef struct bsm_xr {
  bsm_ir_ctx *cx;
  bsm_arena *arena; /* the context's */
  bsm_exported_program *program;
  bsm_zip zip;
  bsm_str prefix;   /* directory of all members, with its slash; or empty */
  bool is_old;      /* the layout of torch before 2.8 */
  bool swapped;     /* weights are of the other byte order */
  bsm_strmap exprs; /* text -> bsm_sym_expr: the same ones come often */
  bsm_strmap weights, constants; /* name -> bsm_xr_payload */
  bsm_strmap named_tuples;       /* class -> bsm_xr_names */
  uint64_t node_count;
} bsm_xr;

typedef struct bsm_xr_names {
  const char *const *items;
  size_t len;
} bsm_xr_names;

/* ---- exported_archive.c ---- */
/* Opens the archive, checks what it is, and chooses the model. */
BSM_NODISCARD bsm_status bsm_xr_open(bsm_xr *r, const void *data, size_t size,
                                     const char *model_name);
/* The bytes of a member by its name without the prefix; data NULL: absent. */
BSM_NODISCARD bsm_status bsm_xr_read_member(bsm_xr *r, const char *name,
                                            bsm_str *out);
/* The entry; NULL: absent. */
const bsm_zip_entry *bsm_xr_find_member(const bsm_xr *r, const char *name);

/* ---- exported_args.c ---- */
/* Interned. */
BSM_NODISCARD bsm_status bsm_xr_name(bsm_xr *r, const bsm_place *at,
                                     const char **out);
BSM_NODISCARD bsm_status bsm_xr_field_name(bsm_xr *r, const bsm_place *at,
                                           const char *key, const char **out);
BSM_NODISCARD bsm_status bsm_xr_names_read(bsm_xr *r, const bsm_place *at,
                                           bsm_xr_names *out);
/* The one alternative of a union: its tag is `out->key`. */
BSM_NODISCARD bsm_status bsm_xr_union(const bsm_place *at, bsm_place *out);
BSM_NODISCARD bsm_status bsm_xr_arg(bsm_xr *r, const bsm_place *at,
                                    bsm_exported_arg *out);
BSM_NODISCARD bsm_status bsm_xr_args(bsm_xr *r, const bsm_place *at,
                                     const bsm_exported_arg **out, size_t *len);
/* BSM_CORRUPT for a tag that the schema does not know. */
BSM_NODISCARD bsm_status bsm_xr_unknown_tag(const bsm_xr *r,
                                            const bsm_place *at);

/* ---- exported_values.c ---- */
BSM_NODISCARD bsm_status bsm_xr_sym(bsm_xr *r, const bsm_place *at,
                                    bsm_sym_kind kind, bsm_exported_sym *out);
BSM_NODISCARD bsm_status bsm_xr_meta(bsm_xr *r, const bsm_place *at,
                                     bsm_exported_meta *out);
BSM_NODISCARD bsm_status bsm_xr_dtype(const bsm_place *at, bsm_dtype *out,
                                      const char **name);
BSM_NODISCARD bsm_status bsm_xr_layout(const bsm_place *at,
                                       bsm_exported_layout *out);
BSM_NODISCARD bsm_status bsm_xr_memory_format(const bsm_place *at,
                                              int64_t *out);
BSM_NODISCARD bsm_status bsm_xr_device(const bsm_place *at,
                                       bsm_torch_device *out);

/* ---- exported_graph.c ---- */
BSM_NODISCARD bsm_status bsm_xr_graph(bsm_xr *r, const bsm_place *at,
                                      const char *name,
                                      const bsm_exported_graph **out);

/* ---- exported_signature.c ---- */
/* After the graph and the weights. */
BSM_NODISCARD bsm_status bsm_xr_signature(bsm_xr *r, const bsm_place *at);

/* ---- exported_tree.c ---- */
/* The root's entry of the module call graph. */
BSM_NODISCARD bsm_status bsm_xr_module_call(bsm_xr *r, const bsm_place *at);

/* ---- exported_weights.c ---- */
/* All weights and constants of the model. */
BSM_NODISCARD bsm_status bsm_xr_weights(bsm_xr *r);

/* ---- exported_pickles.c ---- */
/* The value in `bytes`, an archive of torch.save; `what` for messages. */
BSM_NODISCARD bsm_status bsm_xr_unpickle(bsm_xr *r, bsm_str bytes,
                                         const char *what, bsm_ivalue *out);
/* Example inputs; what cannot be read is told to the log and left out. */
BSM_NODISCARD bsm_status bsm_xr_examples(bsm_xr *r);

#endif /* BSM_EXPORTED_EXPORTED_READER_H_ */
