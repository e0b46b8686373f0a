/* SPDX-License-Identifier: Apache-2.0 */
/* The reference library: every op by schema, on boxed values.
 *
 * One implementation serves constant folding, shape propagation (on meta
 * tensors), evaluators, fallback at run time, and is the oracle for the fast
 * kernels. An op is one row in the table of the file that implements it, and
 * one function; a family shares a function through `variant`.
 *
 *   static bsm_status op_relu(bsm_op_ctx *cx, const bsm_ivalue *args,
 *                             bsm_ivalue *outs, const bsm_aten_op *self);
 *   #include "aten/packed/aten_activation.h"  (see aten/op_rows.h)
 *   static const bsm_aten_op rows[] = {
 *     OP("aten::relu(Tensor self) -> Tensor", op_unary, UNARY_RELU, 0),
 *     OP("aten::relu_(Tensor(a!) self) -> Tensor(a!)", op_unary, UNARY_RELU,
 *        BSM_ATEN_INPLACE),
 *   };
 *   BSM_ATEN_TABLE(activation, rows);     listed once in aten_tables.inl
 *
 * The caller guarantees: one arg for each argument of the schema, in order,
 * with defaults filled in and of the schema's types (int where the schema says
 * int or Scalar; None only for optional ones). The values themselves are
 * checked by the op, with PyTorch's error text where it has one.
 *
 * Meta: when any tensor among the args (also inside lists) is meta, cx->meta
 * is set and tensors made by bsm_op_new are meta. An op computes shapes, calls
 * bsm_op_new, and returns before touching data when cx->meta. Views of meta
 * tensors need nothing special. An op whose result shape or scalar result
 * needs data returns BSM_DATA_DEPENDENT. */
#ifndef BSM_ATEN_OP_H_
#define BSM_ATEN_OP_H_

#include "aten/ivalue.h"
#include "aten/schema_text.h"
#include "base/work_budget.h"
#include "bessemer/log.h"

typedef struct bsm_aten_op bsm_aten_op;

typedef struct bsm_op_ctx {
  bsm_arena *arena; /* results live here */
  bool meta;        /* set by bsm_aten_call */
  bool no_data;     /* all results are meta, whatever the args */
  const bsm_logger *logger;
  struct bsm_generator *generator; /* random numbers; NULL: refuse */
  size_t max_tensor_bytes;         /* 0: no limit */
  bsm_work_budget *work;           /* what calls charge; NULL: no limit */
  /* The caller can do without the results. Where there is no room for them and
   * for a copy, as the engine has one, that is BSM_LIMIT and work->refused. */
  bool may_leave;
  size_t arg_count; /* set by bsm_aten_call; matters to varargs */
  /* The op that runs, and its table when another op called it. */
  const bsm_aten_op *op;
  const struct bsm_aten_table *table;
} bsm_op_ctx;

typedef bsm_status (*bsm_aten_fn)(bsm_op_ctx *cx, const bsm_ivalue *args,
                                  bsm_ivalue *outs, const bsm_aten_op *self);

enum {
  BSM_ATEN_INPLACE = 1u << 0, /* writes args[0], returns it */
  BSM_ATEN_VIEW = 1u << 1,    /* output 0 shares the storage of args[0] */
  BSM_ATEN_RANDOM = 1u << 2,  /* draws random numbers; never folded */
  BSM_ATEN_EFFECT = 1u << 3,  /* raises, prints or mutates a container */
  BSM_ATEN_COMPLEX = 1u << 4, /* its Scalars may be complex numbers */
  /* Looks at no item of its lists and dicts but the one that it is asked for,
   * so that it takes the same time whatever their length. */
  BSM_ATEN_PASSES_ON = 1u << 5,
  /* Draws random numbers where its arguments ask for it: dropout. */
  BSM_ATEN_MAY_DRAW = 1u << 6,
  /* Looks at one element of a tensor at most, as what asks for its dims. */
  BSM_ATEN_ATTRIBUTE = 1u << 7,
  BSM_ATEN_PACKED = 1u << 8 /* its text is: aten/schema_text.h */
};

struct bsm_aten_op {
  const char *text; /* the schema: use bsm_aten_schema() */
  bsm_aten_fn fn;
  int32_t variant; /* tells members of a family apart */
  uint32_t flags;
};

/* Whether there are arguments with which it draws random numbers. */
static inline bool bsm_aten_may_draw(const bsm_aten_op *op) {
  return (op->flags & (BSM_ATEN_RANDOM | BSM_ATEN_MAY_DRAW)) != 0;
}

/* Whether the op is one that programs of engines write to tensors with: copy_,
 * fill_ and zero_. All other in-place ops are these of a result. */
bool bsm_aten_only_writes(const bsm_aten_op *op);

/* The ops of one file. `calls`: the other tables of which they call ops by name
 * (bsm_op_call), up to a NULL; NULL: none. So the linker sees what it needs. */
typedef struct bsm_aten_table bsm_aten_table;
struct bsm_aten_table {
  const bsm_aten_op *ops;
  size_t count;
  const bsm_aten_table *const *calls;
};

#define BSM_ATEN_TABLE_OF(name, array, calls)  \
  const bsm_aten_table bsm_aten_ops_##name = { \
      (array), sizeof(array) / sizeof((array)[0]), (calls)}
/* A table whose ops call no others; and one that names those that they call. */
#define BSM_ATEN_TABLE(name, array) BSM_ATEN_TABLE_OF(name, array, NULL)
#define BSM_ATEN_TABLE_CALLING(name, array, ...)                           \
  static const bsm_aten_table *const name##_calls[] = {__VA_ARGS__, NULL}; \
  BSM_ATEN_TABLE_OF(name, array, name##_calls)

#define TABLE(name) extern const bsm_aten_table bsm_aten_ops_##name;
#include "aten/aten_tables.inl"
#undef TABLE

/* The tables that are linked (base/linked.h), up to a NULL. */
extern const bsm_aten_table *const bsm_linked_aten_tables[];

/* An index over the linked tables; immutable after creation, shared freely. */
typedef struct bsm_aten_library bsm_aten_library;
BSM_NODISCARD bsm_status bsm_aten_library_create(bsm_arena *arena,
                                                 bsm_aten_library **out);
/* By "aten::add.Tensor"; NULL when there is none. */
const bsm_aten_op *bsm_aten_find(const bsm_aten_library *library,
                                 bsm_str qualified_name);
/* Adds an op of the user's, which is borrowed, or replaces the one of the same
 * name. */
BSM_NODISCARD bsm_status bsm_aten_library_add(bsm_arena *arena,
                                              bsm_aten_library *library,
                                              const bsm_aten_op *op);
size_t bsm_aten_library_count(const bsm_aten_library *library);
const bsm_aten_op *bsm_aten_library_at(const bsm_aten_library *library,
                                       size_t index);

/* Whether args that come from outside, such as an engine, may be given to an
 * op: as above, and nothing is left to the op: no argument of a type variable,
 * a dict or a tuple but None, no schema with "...", `n_outs` as the schema has.
 */
BSM_NODISCARD bsm_status bsm_aten_check_call(const bsm_aten_op *op,
                                             const bsm_ivalue *args,
                                             size_t n_args, size_t n_outs);

/* Calls an op. Sets cx->meta from the args. Notes the op's name on failure. */
BSM_NODISCARD bsm_status bsm_aten_call(bsm_op_ctx *cx, const bsm_aten_op *op,
                                       const bsm_ivalue *args, size_t n_args,
                                       bsm_ivalue *outs, size_t n_outs);

/* Checks count and types of args against the op's schema, as bsm_aten_call
 * does. */
BSM_NODISCARD bsm_status bsm_aten_check_args(const bsm_aten_op *op,
                                             const bsm_ivalue *args,
                                             size_t n_args);

/* For ops that are made of others: calls one by its qualified name,
 * "aten::add.Tensor", with every argument given. It is in the table of the
 * calling op or in one that this table `calls`. Keeps cx->meta. */
BSM_NODISCARD bsm_status bsm_op_call(bsm_op_ctx *cx, const char *name,
                                     const bsm_ivalue *args, size_t n_args,
                                     bsm_ivalue *outs, size_t n_outs);
/* For ops, before they do it: a * b * c multiply-adds, or visits of elements.
 * bsm_aten_call charges a visit of each element of the arguments, and
 * bsm_op_new of the results, so an op charges what it does beyond that.
 * BSM_LIMIT when the caller allows no more; nothing for tensors without data.
 */
BSM_NODISCARD bsm_status bsm_op_charge(bsm_op_ctx *cx, int64_t a, int64_t b,
                                       int64_t c);
/* For ops that look at no item of a list or dict, and move n of them. */
BSM_NODISCARD bsm_status bsm_op_charge_items(bsm_op_ctx *cx, size_t n);
/* For ops: a new contiguous output, meta when cx->meta. */
BSM_NODISCARD bsm_status bsm_op_new(bsm_op_ctx *cx, bsm_dtype dtype,
                                    bsm_dims sizes, bsm_tensor **out);

#endif /* BSM_ATEN_OP_H_ */
