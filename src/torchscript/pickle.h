/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle subset of TorchScript as an allow-list machine. Nothing is ever
 * called or imported: a GLOBAL is looked up in a fixed list (or is a class of
 * this archive), and anything else is BSM_CORRUPT with the opcode's offset. */
#ifndef BSM_TORCHSCRIPT_PICKLE_H_
#define BSM_TORCHSCRIPT_PICKLE_H_

#include "aten/ivalue.h"
#include "bessemer/limits.h"
#include "ir/type.h"

/* What the machine asks its owner. All may be NULL: then using them fails. */
typedef struct bsm_pickle_hooks {
  void *user;
  /* The bytes of storage record `key` ("0"), `size` bytes as the pickle
   * claims; a storage shared by several tensors is asked for once. */
  bsm_status (*read_storage)(void *user, bsm_str key, bsm_dtype dtype,
                             int64_t numel, bsm_storage **out);
  /* The class type of "__torch__.pkg.Name". */
  bsm_status (*find_class)(void *user, bsm_str name, const bsm_type **out);
  /* BUILD of an object whose class has __setstate__: run it. */
  bsm_status (*set_state)(void *user, bsm_object *object, bsm_ivalue state);
  /* Parses a Python-style type text (restore_type_tag). */
  bsm_status (*parse_type)(void *user, bsm_str text, const bsm_type **out);
  /* Storages were byte-swapped when read: one that is shared by tensors of
   * different element sizes is then refused. */
  bool storages_swapped;
} bsm_pickle_hooks;

/* Runs a pickle; the one value left on STOP is the result. `what` names the
 * member in messages. */
BSM_NODISCARD bsm_status bsm_unpickle(bsm_arena *arena, bsm_type_table *types,
                                      bsm_str bytes, const char *what,
                                      const bsm_limits *limits,
                                      const bsm_pickle_hooks *hooks,
                                      bsm_ivalue *out);

#endif /* BSM_TORCHSCRIPT_PICKLE_H_ */
