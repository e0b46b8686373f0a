/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the abstract run: which tensors share a storage, what each
 * storage holds now, which lists and dicts may be one of several, and a log of
 * writes from which a block can take its own back.
 *
 * Every tensor belongs to a storage, which has one base tensor with a current
 * residual value and a version; other tensors of the storage are views, each
 * made from its parent by a view op. Writing through a view computes a new
 * value for the base; a read of any alias replays its view chain when its own
 * value is older than the storage. Literally (values/literal_policy.h), a
 * tensor has one value for ever. */
#ifndef BSM_LOWERING_SPECIALIZE_MEMORY_MEMORY_H_
#define BSM_LOWERING_SPECIALIZE_MEMORY_MEMORY_H_

#include "lowering/specialize/values/abstract_value.h"

/* How a view's elements lie in its parent: what writing through it needs. */
typedef enum bsm_view_kind {
  BSM_VIEW_BASE = 0, /* not a view */
  BSM_VIEW_IDENTITY, /* same elements, same shape */
  BSM_VIEW_RESHAPE,  /* same elements in the same order */
  BSM_VIEW_PERMUTE,
  BSM_VIEW_SELECT,
  BSM_VIEW_SLICE,
  BSM_VIEW_EXPAND, /* readable, not writable */
  BSM_VIEW_GATHER, /* any other geometry: elements by linear index */
  BSM_VIEW_OTHER   /* another dtype: written back only for complex parts */
} bsm_view_kind;

typedef struct bsm_spec_storage bsm_spec_storage;
typedef struct bsm_spec_tensor bsm_spec_tensor;

struct bsm_spec_storage {
  bsm_storage *storage;
  bsm_spec_tensor *base;
  bsm_value *value; /* of the base now; NULL: known data, or not yet made */
  uint64_t version; /* of the last write */
  uint64_t created; /* stamp when it was first seen */
  bool may_alias;   /* came out of an If: may alias what the branches saw */
};

struct bsm_spec_tensor {
  bsm_tensor *tensor;
  bsm_spec_storage *storage;
  bsm_spec_tensor *parent; /* NULL for the base */
  uint32_t depth;          /* length of the chain to the base */
  bsm_view_kind kind;
  /* The op that made it, to be replayed; NULL: made by geometry alone. */
  const bsm_schema *schema;
  bsm_ivalue *args;
  size_t parent_arg; /* which of them is the parent */
  /* SELECT, SLICE. */
  int64_t dim, start, end, step;
  bsm_ivalue index; /* SELECT: when it is a symbol, instead of `start` */
  bool moving;      /* its place depends on such an index */
  int64_t perm[BSM_MAX_RANK]; /* PERMUTE: dim i is the parent's dim perm[i] */
  bsm_value *value;           /* the residual value as of `version`, or NULL */
  uint64_t version;
  /* Literally: a tensor of the module, which is `tensor` without its data. */
  const bsm_tensor *known;
  bool strides_unknown; /* literally: its strides are not those of `tensor` */
  const char *name;     /* for the residual value; may be NULL */
  bsm_source source;
};

/* Something that a residual block may write to though it is older. */
typedef enum bsm_spec_location_kind {
  BSM_LOCATION_STORAGE,   /* of tensors: its value and version */
  BSM_LOCATION_CONTAINER, /* its value */
  BSM_LOCATION_SYMBOL,    /* its value and version */
  BSM_LOCATION_SLOT       /* an attribute of an object */
} bsm_spec_location_kind;

typedef struct bsm_spec_location {
  bsm_spec_location_kind kind;
  union {
    void *key; /* tells locations apart */
    bsm_spec_storage *storage;
    bsm_dynamic_container *dynamic;
    bsm_spec_symbol *symbol;
    bsm_ivalue *slot;
  } u;
} bsm_spec_location;

/* What a location holds. */
typedef struct bsm_spec_content {
  bsm_spec_location location;
  bsm_value *value;
  uint64_t version;
  bsm_ivalue slot;
} bsm_spec_content;

/* The residual values that tensors, symbols and dynamic containers had when a
 * block ended. */
typedef struct bsm_spec_snapshot {
  /* Tensors, symbols, dynamic containers -> residual value. */
  bsm_ptrmap values;
  uint64_t created; /* stamp when the block began */
} bsm_spec_snapshot;

typedef struct bsm_spec_memory {
  bsm_ptrmap tensors;  /* bsm_tensor -> bsm_spec_tensor */
  bsm_ptrmap storages; /* bsm_storage -> bsm_spec_storage */
  bsm_ptrmap shadows;  /* of the module -> ours: tensors, lists, objects ... */
  bsm_ptrmap loaded;   /* shadow bsm_object -> bool[]: slots that are ours */
  bsm_ptrmap allocations; /* containers made inside a branch -> stamp */
  bsm_ptrmap shared;      /* bsm_list, bsm_dict that may be one of several */
  /* What locations held before each write. */
  BSM_VEC(bsm_spec_content) undo;
  /* A container that has to become dynamic before the block that failed for it
   * is tried again; NULL: none. */
  const bsm_ivalue *must_be_dynamic;
  /* Residual values are those of this closed block; NULL: the present ones. */
  const bsm_spec_snapshot *reading;
} bsm_spec_memory;

/* Gives the run an empty memory, in its scratch arena. */
BSM_NODISCARD bsm_status bsm_spec_memory_init(bsm_spec *s);

#endif /* BSM_LOWERING_SPECIALIZE_MEMORY_MEMORY_H_ */
