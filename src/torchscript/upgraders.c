/* SPDX-License-Identifier: Apache-2.0 */
/* The table of upgraders, written in the serialized language. */
#include "torchscript/upgraders.h"

typedef struct upgrader {
  int64_t since;      /* the first version with the new meaning */
  const char *schema; /* the old one; it replaces the overload of this name */
  const char *function;
} upgrader;

#define FACTORY_KEYWORDS                                                  \
  "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, " \
  "bool? "                                                                \
  "pin_memory=None) -> Tensor"

static const upgrader upgraders[] = {
    {4, "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "div_Tensor"},
    {4, "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", "div_Scalar"},
    {4, "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     "div__Tensor"},
    {4, "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     "div__Scalar"},
    {5, "aten::full(SymInt[] size, Scalar fill_value, " FACTORY_KEYWORDS,
     "full"},
    {8,
     "aten::linspace(Scalar start, Scalar end, int? "
     "steps=None, " FACTORY_KEYWORDS,
     "linspace"},
    {9,
     "aten::logspace(Scalar start, Scalar end, int? steps=None, float "
     "base=10, " FACTORY_KEYWORDS,
     "logspace"},
    {10, "aten::gelu(Tensor self) -> Tensor", "gelu"},
};
enum { UPGRADER_COUNT = sizeof upgraders / sizeof upgraders[0] };

/* What the factories of the table end with. */
#define FACTORY_PARAMS                                                   \
  "    dtype: Optional[int]=None, layout: Optional[int]=None,\n"         \
  "    device: Optional[Device]=None, pin_memory: Optional[bool]=None) " \
  "-> Tensor:\n"
#define FACTORY_ARGS \
  "dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)\n"
#define STEPS                         \
  "  if torch.__is__(steps, None):\n" \
  "    steps0 = 100\n"                \
  "  else:\n"                         \
  "    steps0 = unchecked_cast(int, steps)\n"

/* True division when an operand is floating point, else truncating. `type` is
 * that of `other`, `is_floating` asks whether it is a float; `op` is div or
 * div_. */
#define DIV(name, type, is_floating, op)     \
  "def " name "(self: Tensor, other: " type  \
  ") -> Tensor:\n"                           \
  "  if torch.is_floating_point(self):\n"    \
  "    floating = True\n"                    \
  "  else:\n"                                \
  "    floating = " is_floating              \
  "\n"                                       \
  "  if floating:\n"                         \
  "    result = torch." op                   \
  "(self, other)\n"                          \
  "  else:\n"                                \
  "    result = torch." op                   \
  "(self, other, rounding_mode=\"trunc\")\n" \
  "  return result\n"
#define TENSOR_IS_FLOATING "torch.is_floating_point(other)"
#define SCALAR_IS_FLOATING "isinstance(other, float)"

static const char source[] = DIV("div_Tensor", "Tensor", TENSOR_IS_FLOATING,
                                 "div") DIV("div__Tensor", "Tensor",
                                            TENSOR_IS_FLOATING, "div_")
    DIV("div_Scalar", "number", SCALAR_IS_FLOATING, "div") DIV(
        "div__Scalar", "number", SCALAR_IS_FLOATING,
        "div_") "def full(size: List[int], fill_value: number,\n" FACTORY_PARAMS
                "  if torch.__is__(dtype, None):\n"
                "    value : number = float(fill_value)\n"
                "  else:\n"
                "    value = fill_value\n"
                "  return torch.full(size, value, " FACTORY_ARGS
                "def linspace(start: number, end: number, steps: "
                "Optional[int]=None,\n" FACTORY_PARAMS STEPS
                "  return torch.linspace(start, end, steps0, " FACTORY_ARGS
                "def logspace(start: number, end: number, steps: "
                "Optional[int]=None,\n"
                "    base: float=10.,\n" FACTORY_PARAMS STEPS
                "  return torch.logspace(start, end, steps0, "
                "base, " FACTORY_ARGS
                "def gelu(self: Tensor) -> Tensor:\n"
                "  return torch.gelu(self, approximate=\"none\")\n";

/* The qualified name of an upgrader's schema: up to its '('. */
static bsm_str qualified_name(const upgrader *u) {
  return (bsm_str){u->schema, strcspn(u->schema, "(")};
}

/* "aten::div" of "aten::div.Tensor". */
static bsm_str operator_name(const upgrader *u) {
  return (bsm_str){u->schema, strcspn(u->schema, ".(")};
}

/* The overloads of today without those replaced, then the old ones. */
static bsm_status make_candidates(bsm_script_file *file, const char *name,
                                  const bsm_schema *const *today, size_t count,
                                  const bsm_schema ***out, size_t *out_count) {
  bsm_ir_ctx *cx = file->script->cx;
  BSM_VEC(const bsm_schema *) list = {0};
  for (size_t i = 0; i < count; i++) {
    bool replaced = false;
    for (size_t k = 0; k < UPGRADER_COUNT; k++) {
      replaced |= upgraders[k].since > file->version &&
                  bsm_str_eq(qualified_name(&upgraders[k]),
                             bsm_str_of(today[i]->qualified));
    }
    if (!replaced) BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &list, today[i]));
  }
  for (size_t k = 0; k < UPGRADER_COUNT; k++) {
    bsm_schema *schema = NULL;
    if (upgraders[k].since <= file->version ||
        !bsm_str_eq(operator_name(&upgraders[k]), bsm_str_of(name))) {
      continue;
    }
    BSM_TRY(bsm_schema_parse(cx->types, cx->arena,
                             bsm_str_of(upgraders[k].schema), &schema));
    BSM_TRY_ALLOC(bsm_vec_push(cx->arena, &list, schema));
    BSM_TRY_ALLOC(bsm_ptrmap_set(cx->arena, &file->script->old_schemas, schema,
                                 (void *)(uintptr_t)&upgraders[k]));
  }
  *out = list.items;
  *out_count = list.len;
  return BSM_OK;
}

typedef struct candidates {
  const bsm_schema **items;
  size_t count;
} candidates;

bsm_status bsm_upgraders_candidates(bsm_script_file *file, const char *name,
                                    const bsm_schema *const **out,
                                    size_t *count) {
  bsm_ir_ctx *cx = file->script->cx;
  const bsm_str key = bsm_str_of(name);
  bool old = false;
  BSM_TRY(bsm_schema_table_overloads(cx->schemas, key, out, count));
  for (size_t k = 0; k < UPGRADER_COUNT; k++) {
    old |= upgraders[k].since > file->version &&
           bsm_str_eq(operator_name(&upgraders[k]), key);
  }
  if (!old) return BSM_OK;
  candidates *list = bsm_strmap_get(&file->script->candidates, key);
  if (!list) {
    list = BSM_NEW(cx->arena, candidates);
    BSM_TRY_ALLOC(list);
    BSM_TRY(
        make_candidates(file, name, *out, *count, &list->items, &list->count));
    BSM_TRY_ALLOC(
        bsm_strmap_set(cx->arena, &file->script->candidates, key, list));
  }
  *out = list->items;
  *count = list->count;
  return BSM_OK;
}

bsm_status bsm_upgraders_function(bsm_script *script, const bsm_schema *schema,
                                  bsm_function **out) {
  static const char module[] = "bessemer.upgraders";
  const upgrader *u = bsm_ptrmap_get(&script->old_schemas, schema);
  *out = NULL;
  if (!u) return BSM_OK;
  if (!script->upgraders) {
    BSM_TRY(bsm_script_add_source(script, BSM_STR(module), BSM_STR(source),
                                  "upgraders", &script->upgraders));
    script->upgraders->version = INT64_MAX;
  }
  char *key = bsm_arena_printf(script->cx->arena, "%s.%s", module, u->function);
  BSM_TRY_ALLOC(key);
  *out = bsm_strmap_get(&script->functions, bsm_str_of(key));
  if (*out) return BSM_OK;
  const bsm_def *def =
      bsm_strmap_get(&script->upgraders->defs, bsm_str_of(u->function));
  if (!def) return BSM_FAIL(BSM_INTERNAL, "no upgrader '%s'", u->function);
  BSM_TRY(bsm_script_fn_new(script->upgraders, def, NULL, module, out));
  BSM_TRY_ALLOC(bsm_strmap_set(script->cx->arena, &script->functions,
                               bsm_str_of(key), *out));
  return BSM_OK;
}
