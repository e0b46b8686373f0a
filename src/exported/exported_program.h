/* SPDX-License-Identifier: Apache-2.0 */
/* A program of torch.export as its archive (.pt2) has it, read and checked:
 * graph, signature, weights, example inputs. Nothing is interpreted: targets
 * are names, values are known by their names.
 *
 * Everything lives in the arena of the IR context; weights point into the
 * file. All strings are NUL-terminated and interned there (cx->names), so
 * equal names have equal addresses. What the file may leave out is NULL, 0 or
 * "" as the fields say. */
#ifndef BSM_EXPORTED_EXPORTED_PROGRAM_H_
#define BSM_EXPORTED_EXPORTED_PROGRAM_H_

#include "exported/symbolic.h"
#include "ir/graph.h"

typedef struct bsm_exported_graph bsm_exported_graph;
typedef struct bsm_exported_arg bsm_exported_arg;

/* ---- symbolic scalars ---- */

/* A number that is known, or an expression over the program's symbols. */
typedef struct bsm_exported_sym {
  const bsm_sym_expr *expr; /* NULL: `number` is the value */
  bsm_sym_number number;    /* else what it was when exporting, if has_hint */
  bool has_hint;
} bsm_exported_sym;

/* ---- tensors ---- */

/* c10's numbers, which TorchScript uses as well. */
typedef enum bsm_exported_layout {
  BSM_EXPORTED_STRIDED = 0,
  BSM_EXPORTED_SPARSE_COO = 1,
  BSM_EXPORTED_SPARSE_CSR = 2,
  BSM_EXPORTED_MKLDNN = 3,
  BSM_EXPORTED_SPARSE_CSC = 4,
  BSM_EXPORTED_SPARSE_BSR = 5,
  BSM_EXPORTED_SPARSE_BSC = 6,
  BSM_EXPORTED_LAYOUT_UNKNOWN = 127
} bsm_exported_layout;

typedef struct bsm_exported_meta {
  bsm_dtype dtype;        /* BSM_DTYPE_UNDEFINED: one we lack, see dtype_name */
  const char *dtype_name; /* "float8_e4m3fn" */
  size_t rank;            /* at most BSM_MAX_RANK */
  bsm_exported_sym sizes[BSM_MAX_RANK], strides[BSM_MAX_RANK];
  bsm_exported_sym storage_offset;
  bsm_torch_device device;
  bsm_exported_layout layout;
  bool requires_grad;
} bsm_exported_meta;

/* ---- arguments ---- */

/* The tags of the schema's union. */
typedef enum bsm_exported_tag {
  BSM_EXPORTED_NONE = 0,
  BSM_EXPORTED_TENSOR = 1,  /* s: the value's name */
  BSM_EXPORTED_TENSORS = 2, /* strings: names */
  BSM_EXPORTED_INT = 3,
  BSM_EXPORTED_INTS = 4,
  BSM_EXPORTED_FLOAT = 5,
  BSM_EXPORTED_FLOATS = 6,
  BSM_EXPORTED_STRING = 7,
  BSM_EXPORTED_STRINGS = 8,
  BSM_EXPORTED_SYM_INT = 9, /* sym */
  BSM_EXPORTED_SYM_INTS = 10,
  BSM_EXPORTED_SCALAR_TYPE = 11,   /* dtype */
  BSM_EXPORTED_MEMORY_FORMAT = 12, /* i: c10's number: 0 contiguous, 1 preserve,
                                      2 channels_last, 3 channels_last_3d */
  BSM_EXPORTED_LAYOUT = 13,        /* i: bsm_exported_layout */
  BSM_EXPORTED_DEVICE = 14,
  BSM_EXPORTED_BOOL = 15,
  BSM_EXPORTED_BOOLS = 16,
  BSM_EXPORTED_SYM_BOOL = 17,
  BSM_EXPORTED_SYM_BOOLS = 18,
  BSM_EXPORTED_GRAPH = 19,
  BSM_EXPORTED_OPTIONAL_TENSORS = 20, /* strings: names, NULL for None */
  BSM_EXPORTED_CUSTOM_OBJ = 21,
  BSM_EXPORTED_OPERATOR = 22, /* s: "torch.ops.aten.add.Tensor" */
  BSM_EXPORTED_SYM_FLOAT = 23,
  BSM_EXPORTED_SYM_FLOATS = 24,
  BSM_EXPORTED_OPTIONAL_TENSOR = 25, /* s: a name; NULL for None */
  BSM_EXPORTED_COMPLEX = 26,
  BSM_EXPORTED_NESTED_TENSORS = 27,    /* items: TENSORS */
  BSM_EXPORTED_INT_LISTS = 28,         /* items: INTS */
  BSM_EXPORTED_FLOAT_LISTS = 29,       /* items: FLOATS */
  BSM_EXPORTED_STRING_TO_ARGUMENT = 30 /* items, with keys */
} bsm_exported_tag;

/* A sym_int, sym_float or sym_bool: a value of the graph, or a number. */
typedef struct bsm_exported_sym_arg {
  const char *name;      /* NULL: the number */
  bsm_sym_number number; /* its kind is right also beside a name */
} bsm_exported_sym_arg;

struct bsm_exported_arg {
  bsm_exported_tag tag;
  union {
    int64_t i;
    double d;
    bool b;
    struct {
      double re, im;
    } c;
    const char *s;
    struct {
      bsm_dtype dtype; /* BSM_DTYPE_UNDEFINED: one we lack */
      const char *name;
    } dtype;
    bsm_torch_device device;
    bsm_exported_sym_arg sym;
    const bsm_exported_graph *graph;
    struct {
      const char *name, *class_name;
    } custom_obj;
    struct {
      const int64_t *items;
      size_t len;
    } ints;
    struct {
      const double *items;
      size_t len;
    } floats;
    struct {
      const bool *items;
      size_t len;
    } bools;
    struct {
      const char *const *items;
      size_t len;
    } strings;
    struct {
      const bsm_exported_sym_arg *items;
      size_t len;
    } syms;
    struct {
      const bsm_exported_arg *items;
      const char *const *keys; /* STRING_TO_ARGUMENT; else NULL */
      size_t len;
    } list;
  } u;
};

/* ---- graphs ---- */

typedef enum bsm_exported_arg_kind {
  BSM_EXPORTED_KIND_UNKNOWN = 0, /* older files: by the name */
  BSM_EXPORTED_POSITIONAL = 1,
  BSM_EXPORTED_KEYWORD = 2
} bsm_exported_arg_kind;

typedef struct bsm_exported_named_arg {
  const char *name; /* of the operator's schema; "" for higher-order ones */
  bsm_exported_arg_kind kind;
  bsm_exported_arg arg;
} bsm_exported_named_arg;

typedef struct bsm_exported_node {
  const char *target; /* "torch.ops.aten.conv2d.default", "_operator.mul" */
  const char *name;   /* "" in older files */
  const bsm_exported_named_arg *inputs;
  size_t input_count;
  /* TENSOR, TENSORS, OPTIONAL_TENSORS, SYM_INT, ... with the names of new
   * values, which no argument refers to when nothing uses them. */
  const bsm_exported_arg *outputs;
  size_t output_count;
  /* Of higher-order operators: whether the result is a tensor and no list of
   * one; BSM_EXPORTED_UNSAID in files that do not say. */
  int8_t single_tensor_return;
  bsm_source source; /* python_file, python_line, scope where known */
} bsm_exported_node;

enum { BSM_EXPORTED_UNSAID = -1 };

struct bsm_exported_graph {
  const char *name; /* "" for the program's own, "true_graph_0" */
  const bsm_exported_arg *inputs, *outputs;
  size_t input_count, output_count;
  const bsm_exported_node *nodes; /* in the order of execution */
  size_t node_count;
  bsm_strmap tensor_values; /* name -> bsm_exported_meta */
  bsm_strmap sym_values;    /* name -> bsm_exported_sym: ints, floats, bools */
  bsm_strmap custom_objs;   /* name -> the class's name, a char array */
  bool is_single_tensor_return;
};

/* What is known of a value of this graph; NULL: nothing. */
const bsm_exported_meta *bsm_exported_tensor(const bsm_exported_graph *graph,
                                             const char *name);
const bsm_exported_sym *bsm_exported_sym_value(const bsm_exported_graph *graph,
                                               const char *name);

/* ---- signature ---- */

typedef enum bsm_exported_input_kind {
  BSM_EXPORTED_USER_INPUT = 1,
  BSM_EXPORTED_PARAMETER = 2,       /* target, tensor */
  BSM_EXPORTED_BUFFER = 3,          /* target, tensor, persistent */
  BSM_EXPORTED_TENSOR_CONSTANT = 4, /* target, tensor */
  BSM_EXPORTED_CUSTOM_OBJECT = 5,   /* target, class_name */
  BSM_EXPORTED_INPUT_TOKEN = 6,
  /* A user input that is not a tensor: its value was fixed when exporting.
   * `arg` is NONE, INT, FLOAT, STRING or BOOL, `name` the placeholder. */
  BSM_EXPORTED_CONSTANT_INPUT = 7
} bsm_exported_input_kind;

/* One for each input of the graph, in their order. */
typedef struct bsm_exported_input_spec {
  bsm_exported_input_kind kind;
  const char *name;     /* of the graph's value */
  bsm_exported_arg arg; /* as the signature has it */
  const char *target;   /* "layer1.0.conv1.weight"; else NULL */
  bool persistent;
  bsm_tensor *tensor; /* read-only where it points into the file */
  const char *class_name;
} bsm_exported_input_spec;

typedef enum bsm_exported_output_kind {
  BSM_EXPORTED_USER_OUTPUT = 1,
  BSM_EXPORTED_LOSS_OUTPUT = 2,
  BSM_EXPORTED_BUFFER_MUTATION = 3,     /* target: the buffer */
  BSM_EXPORTED_PARAMETER_MUTATION = 4,  /* target: the parameter */
  BSM_EXPORTED_USER_INPUT_MUTATION = 5, /* target: the input's name */
  BSM_EXPORTED_GRADIENT_TO_PARAMETER = 6,
  BSM_EXPORTED_GRADIENT_TO_USER_INPUT = 7,
  BSM_EXPORTED_OUTPUT_TOKEN = 8
} bsm_exported_output_kind;

/* One for each output of the graph, in their order. */
typedef struct bsm_exported_output_spec {
  bsm_exported_output_kind kind;
  bsm_exported_arg arg;
  const char *target; /* NULL for USER_OUTPUT, OUTPUT_TOKEN, LOSS_OUTPUT */
} bsm_exported_output_spec;

/* ---- structure of arguments and results ---- */

typedef enum bsm_exported_tree_kind {
  BSM_EXPORTED_TREE_LEAF = 0, /* a value: the next of the flat list */
  BSM_EXPORTED_TREE_TUPLE = 1,
  BSM_EXPORTED_TREE_LIST = 2,        /* deques as well */
  BSM_EXPORTED_TREE_DICT = 3,        /* keys; OrderedDict, defaultdict too */
  BSM_EXPORTED_TREE_NAMED_TUPLE = 4, /* field_names where known */
  /* A class the model's author registered: field_names where they are known,
   * else the children are numbered. */
  BSM_EXPORTED_TREE_OBJECT = 5
} bsm_exported_tree_kind;

typedef struct bsm_exported_tree {
  bsm_exported_tree_kind kind;
  const char *type_name;          /* "builtins.tuple"; NULL for a leaf */
  const bsm_ivalue *keys;         /* of a dict: strings, numbers, None */
  const char *const *field_names; /* NULL: unknown */
  const struct bsm_exported_tree *children;
  size_t child_count;
  size_t leaf_count; /* in the whole subtree */
} bsm_exported_tree;

/* ---- the program ---- */

typedef struct bsm_exported_program {
  bsm_ir_ctx *cx;
  const char *model_name;    /* "model" */
  const char *torch_version; /* "2.11.0"; "" when not said */
  int64_t schema_major, schema_minor;
  int64_t opset_version; /* of aten */
  const bsm_exported_graph *graph;
  const bsm_exported_input_spec *inputs;
  size_t input_count;
  const bsm_exported_output_spec *outputs;
  size_t output_count;
  bsm_symbol_table symbols; /* with their ranges */
  /* ((args...), {kwargs...}) and the result; NULL when the file has none. */
  const bsm_exported_tree *in_tree, *out_tree;
  /* The names of forward's positional parameters; NULL: unknown. */
  const char *const *forward_arg_names;
  size_t forward_arg_count;
  const char *const *guards; /* Python expressions */
  size_t guard_count;
  /* The submodules that nodes come from, and the class of each, by path. */
  BSM_VEC(const char *) module_paths;
  bsm_strmap module_classes;
  /* What the model was exported with, when it could be read. */
  bool has_examples;
  bsm_tuple *example_args;
  bsm_dict *example_kwargs; /* by strings */
} bsm_exported_program;

typedef struct bsm_exported_read_options {
  /* Of an archive that holds several; NULL: "model", or the only one. */
  const char *model_name;
} bsm_exported_read_options;

/* Whether the file is an archive of torch.export, of any version or kind, by
 * its members: the others are left to the reader of TorchScript. */
bool bsm_exported_is_archive(const void *data, size_t size);

/* Reads an archive in memory. `data` is borrowed: weights point into it, so it
 * must outlive everything made from the program. `options` may be NULL.
 * BSM_VERSION: a schema we do not know; BSM_UNSUPPORTED: compiled packages;
 * BSM_CORRUPT with the member and the place in its JSON; BSM_LIMIT. */
BSM_NODISCARD bsm_status bsm_exported_program_read(
    bsm_ir_ctx *cx, const void *data, size_t size,
    const bsm_exported_read_options *options, bsm_exported_program **out);

#endif /* BSM_EXPORTED_EXPORTED_PROGRAM_H_ */
