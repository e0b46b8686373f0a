/* SPDX-License-Identifier: Apache-2.0 */
/* The signature: what each input of the graph is, with the tensor of those
 * that the archive holds, and where each output goes. */
#include "exported/exported_reader.h"

/* ---- inputs ---- */

/* A tensor of the model: from the state, or from the constants, where buffers
 * that are not persistent are as well. */
static bsm_status find_tensor(const bsm_xr *r, const bsm_place *at,
                              bsm_exported_input_spec *out) {
  const bsm_str name = bsm_str_of(out->target);
  const bool is_constant =
      out->kind == BSM_EXPORTED_TENSOR_CONSTANT ||
      (out->kind == BSM_EXPORTED_BUFFER && !out->persistent);
  const bsm_strmap *first = is_constant ? &r->constants : &r->weights;
  const bsm_strmap *second = is_constant ? &r->weights : &r->constants;
  const bsm_xr_payload *payload = bsm_strmap_get(first, name);
  if (!payload) payload = bsm_strmap_get(second, name);
  if (payload && payload->tensor) {
    out->tensor = payload->tensor;
    return BSM_OK;
  }
  return bsm_place_fail(at, BSM_CORRUPT, "the archive has no tensor \"%.200s\"",
                        out->target);
}

/* An input that is `{"arg": {"name": ...}, <key>: <target>}`. */
static bsm_status read_held(bsm_xr *r, const bsm_place *at, const char *key,
                            bsm_exported_input_spec *out) {
  bsm_place arg, persistent;
  BSM_TRY(bsm_place_field(at, "arg", &arg));
  BSM_TRY(bsm_xr_field_name(r, &arg, "name", &out->name));
  out->arg.tag = BSM_EXPORTED_TENSOR;
  out->arg.u.s = out->name;
  if (!key) return BSM_OK;
  BSM_TRY(bsm_xr_field_name(r, at, key, &out->target));
  out->persistent = true;
  BSM_TRY(bsm_place_optional(at, "persistent", &persistent));
  if (persistent.json) BSM_TRY(bsm_place_bool(&persistent, &out->persistent));
  if (out->kind != BSM_EXPORTED_CUSTOM_OBJECT) return find_tensor(r, at, out);
  BSM_TRY(bsm_xr_field_name(r, &arg, "class_fqn", &out->class_name));
  out->arg.tag = BSM_EXPORTED_CUSTOM_OBJ;
  out->arg.u.custom_obj.name = out->name;
  out->arg.u.custom_obj.class_name = out->class_name;
  return BSM_OK;
}

/* The name that the graph gives to an argument; "" for a constant. */
static const char *arg_name(const bsm_exported_arg *arg) {
  switch (arg->tag) {
    case BSM_EXPORTED_TENSOR:
      return arg->u.s;
    case BSM_EXPORTED_SYM_INT:
    case BSM_EXPORTED_SYM_FLOAT:
    case BSM_EXPORTED_SYM_BOOL:
      return arg->u.sym.name ? arg->u.sym.name : "";
    case BSM_EXPORTED_CUSTOM_OBJ:
      return arg->u.custom_obj.name;
    default:
      return "";
  }
}

static bsm_status read_user_input(bsm_xr *r, const bsm_place *at,
                                  bsm_exported_input_spec *out) {
  bsm_place arg;
  BSM_TRY(bsm_place_field(at, "arg", &arg));
  BSM_TRY(bsm_xr_arg(r, &arg, &out->arg));
  out->name = arg_name(&out->arg);
  if (out->arg.tag == BSM_EXPORTED_CUSTOM_OBJ) {
    out->class_name = out->arg.u.custom_obj.class_name;
  }
  return BSM_OK;
}

/* Before schema 8, bools were written as_int. */
static bsm_status read_constant(bsm_xr *r, const bsm_place *at,
                                bsm_exported_arg *out) {
  bsm_place item;
  BSM_TRY(bsm_xr_union(at, &item));
  if (strcmp(item.key, "as_int") != 0 ||
      bsm_place_kind_of(&item) != BSM_JSON_BOOL) {
    return bsm_xr_arg(r, at, out);
  }
  out->tag = BSM_EXPORTED_BOOL;
  return bsm_place_bool(&item, &out->u.b);
}

static bsm_status read_constant_input(bsm_xr *r, const bsm_place *at,
                                      bsm_exported_input_spec *out) {
  bsm_place value;
  BSM_TRY(bsm_xr_field_name(r, at, "name", &out->name));
  BSM_TRY(bsm_place_field(at, "value", &value));
  BSM_TRY(read_constant(r, &value, &out->arg));
  switch (out->arg.tag) {
    case BSM_EXPORTED_NONE:
    case BSM_EXPORTED_INT:
    case BSM_EXPORTED_FLOAT:
    case BSM_EXPORTED_STRING:
    case BSM_EXPORTED_BOOL:
      return BSM_OK;
    default:
      return bsm_place_fail(&value, BSM_CORRUPT, "is no constant");
  }
}

/* Whether the graph's input is the one that the signature speaks of. */
static bsm_status check_input(const bsm_xr *r, const bsm_place *at, size_t i,
                              const bsm_exported_input_spec *spec) {
  const char *name = arg_name(&r->program->graph->inputs[i]);
  if (spec->kind == BSM_EXPORTED_CONSTANT_INPUT ||
      spec->kind == BSM_EXPORTED_INPUT_TOKEN || strcmp(name, spec->name) == 0) {
    return BSM_OK;
  }
  return bsm_place_fail(at, BSM_CORRUPT,
                        "is \"%.100s\", but input %zu of the graph \"%.100s\"",
                        spec->name, i, name);
}

static bsm_status read_input_spec(bsm_xr *r, const bsm_place *at,
                                  bsm_exported_input_spec *out) {
  static const struct {
    const char *tag;
    bsm_exported_input_kind kind;
    const char *target;
  } held[] = {
      {"parameter", BSM_EXPORTED_PARAMETER, "parameter_name"},
      {"buffer", BSM_EXPORTED_BUFFER, "buffer_name"},
      {"tensor_constant", BSM_EXPORTED_TENSOR_CONSTANT, "tensor_constant_name"},
      {"custom_obj", BSM_EXPORTED_CUSTOM_OBJECT, "custom_obj_name"},
      {"token", BSM_EXPORTED_INPUT_TOKEN, NULL},
  };
  bsm_place item;
  BSM_TRY(bsm_xr_union(at, &item));
  for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
    if (strcmp(item.key, held[i].tag) != 0) continue;
    out->kind = held[i].kind;
    return read_held(r, &item, held[i].target, out);
  }
  if (strcmp(item.key, "user_input") == 0) {
    out->kind = BSM_EXPORTED_USER_INPUT;
    return read_user_input(r, &item, out);
  }
  if (strcmp(item.key, "constant_input") == 0) {
    out->kind = BSM_EXPORTED_CONSTANT_INPUT;
    return read_constant_input(r, &item, out);
  }
  return bsm_xr_unknown_tag(r, &item);
}

static bsm_status read_input_specs(bsm_xr *r, const bsm_place *at) {
  bsm_exported_program *p = r->program;
  BSM_TRY(bsm_place_array(at, &p->input_count));
  if (p->input_count != p->graph->input_count) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "has %zu items, but the graph %zu inputs",
                          p->input_count, p->graph->input_count);
  }
  bsm_exported_input_spec *specs =
      BSM_NEW_ARRAY(r->arena, bsm_exported_input_spec, p->input_count + 1);
  BSM_TRY_ALLOC(specs);
  p->inputs = specs;
  for (size_t i = 0; i < p->input_count; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(read_input_spec(r, &item, &specs[i]));
    BSM_TRY(check_input(r, &item, i, &specs[i]));
  }
  return BSM_OK;
}

/* ---- outputs ---- */

static const struct {
  const char *tag;
  bsm_exported_output_kind kind;
  const char *target;
} output_kinds[] = {
    {"user_output", BSM_EXPORTED_USER_OUTPUT, NULL},
    {"loss_output", BSM_EXPORTED_LOSS_OUTPUT, NULL},
    {"buffer_mutation", BSM_EXPORTED_BUFFER_MUTATION, "buffer_name"},
    {"parameter_mutation", BSM_EXPORTED_PARAMETER_MUTATION, "parameter_name"},
    {"user_input_mutation", BSM_EXPORTED_USER_INPUT_MUTATION,
     "user_input_name"},
    {"gradient_to_parameter", BSM_EXPORTED_GRADIENT_TO_PARAMETER,
     "parameter_name"},
    {"gradient_to_user_input", BSM_EXPORTED_GRADIENT_TO_USER_INPUT,
     "user_input_name"},
    {"token", BSM_EXPORTED_OUTPUT_TOKEN, NULL},
};

static bsm_status read_output_spec(bsm_xr *r, const bsm_place *at,
                                   bsm_exported_output_spec *out) {
  bsm_place item, arg;
  const size_t count = sizeof(output_kinds) / sizeof(*output_kinds);
  size_t k = 0;
  BSM_TRY(bsm_xr_union(at, &item));
  while (k < count && strcmp(item.key, output_kinds[k].tag) != 0) k++;
  if (k == count) return bsm_xr_unknown_tag(r, &item);
  out->kind = output_kinds[k].kind;
  BSM_TRY(bsm_place_field(&item, "arg", &arg));
  if (output_kinds[k].target) {
    BSM_TRY(bsm_xr_field_name(r, &item, output_kinds[k].target, &out->target));
  }
  if (out->kind == BSM_EXPORTED_USER_OUTPUT) {
    return bsm_xr_arg(r, &arg, &out->arg);
  }
  out->arg.tag = BSM_EXPORTED_TENSOR;
  return bsm_xr_field_name(r, &arg, "name", &out->arg.u.s);
}

static bsm_status check_output(const bsm_xr *r, const bsm_place *at, size_t i,
                               const bsm_exported_output_spec *spec) {
  const char *name = arg_name(&r->program->graph->outputs[i]);
  if (spec->kind == BSM_EXPORTED_OUTPUT_TOKEN ||
      strcmp(name, arg_name(&spec->arg)) == 0) {
    return BSM_OK;
  }
  return bsm_place_fail(at, BSM_CORRUPT,
                        "is \"%.100s\", but output %zu of the graph "
                        "\"%.100s\"",
                        arg_name(&spec->arg), i, name);
}

static bsm_status read_output_specs(bsm_xr *r, const bsm_place *at) {
  bsm_exported_program *p = r->program;
  BSM_TRY(bsm_place_array(at, &p->output_count));
  if (p->output_count != p->graph->output_count) {
    return bsm_place_fail(at, BSM_CORRUPT,
                          "has %zu items, but the graph %zu outputs",
                          p->output_count, p->graph->output_count);
  }
  bsm_exported_output_spec *specs =
      BSM_NEW_ARRAY(r->arena, bsm_exported_output_spec, p->output_count + 1);
  BSM_TRY_ALLOC(specs);
  p->outputs = specs;
  for (size_t i = 0; i < p->output_count; i++) {
    const bsm_place item = bsm_place_item(at, i);
    BSM_TRY(read_output_spec(r, &item, &specs[i]));
    BSM_TRY(check_output(r, &item, i, &specs[i]));
  }
  return BSM_OK;
}

bsm_status bsm_xr_signature(bsm_xr *r, const bsm_place *at) {
  bsm_place specs;
  BSM_TRY(bsm_place_field(at, "input_specs", &specs));
  BSM_TRY(read_input_specs(r, &specs));
  BSM_TRY(bsm_place_field(at, "output_specs", &specs));
  return read_output_specs(r, &specs);
}
