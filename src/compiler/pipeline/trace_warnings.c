/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of unused inputs and of devices, and reports the shapes that a trace
 * was made with. */
#include "compiler/pipeline/trace_warnings.h"

#include <string.h>

/* ---- unused inputs ---- */

bool bsm_is_traced(const bsm_module *module) {
  return module->model.traced;
}

bool bsm_is_traced_method(const bsm_module *module, const bsm_method *method) {
  return bsm_is_traced(module) && strcmp(method->name, "forward") == 0;
}

static bsm_status warn_of_inputs(const bsm_module *module,
                                 const bsm_method *method,
                                 bsm_compilation_record *record) {
  if (!bsm_is_traced_method(module, method)) return BSM_OK;
  for (size_t i = 0; i < method->parameter_count; i++) {
    const bsm_value *value =
        bsm_node_out(method->graph->block->params, method->first + i);
    if (value->uses.len) continue;
    BSM_TRY(bsm_record_warning(
        record,
        "input \"%s\" is not used: a trace has only what its example "
        "needed, so a branch that uses it may be missing",
        bsm_method_parameter_name(method, i)));
  }
  return BSM_OK;
}

/* ---- devices ---- */

enum { MAX_DEPTH = 64, MAX_CLASSES = 10000 };

typedef struct device_scan {
  bsm_arena *arena;
  bsm_ptrmap seen; /* classes */
  size_t classes, count;
  const bsm_node *first;
} device_scan;

static bool is_gpu(const bsm_node *node) {
  const bsm_ivalue *value = bsm_node_attr_get(node, "value");
  if (!value) return false;
  if (value->tag == BSM_IVALUE_DEVICE) return value->u.device.type != 0;
  if (value->tag != BSM_IVALUE_STRING || !node->outputs.len) return false;
  const bsm_value *out = bsm_node_out(node, 0);
  return out->uses.len &&
         bsm_node_is(out->uses.items[0].user, "aten::device") &&
         bsm_str_starts_with(*value->u.s, BSM_STR("cuda"));
}

static void scan_block(device_scan *scan, const bsm_block *block,
                       size_t depth) {
  for (const bsm_node *n = block->first; n && depth < 256; n = n->next) {
    if (bsm_node_is(n, "prim::Constant") && is_gpu(n)) {
      if (!scan->count++) scan->first = n;
    }
    for (size_t i = 0; i < n->blocks.len; i++) {
      scan_block(scan, n->blocks.items[i], depth + 1);
    }
  }
}

/* The methods of the object's class, and those of what is inside. */
static bsm_status scan_object(device_scan *scan, const bsm_object *object,
                              size_t depth) {
  const bsm_class *cls = object->type ? object->type->cls : NULL;
  if (!cls || depth > MAX_DEPTH || bsm_ptrmap_get(&scan->seen, cls) ||
      scan->classes++ > MAX_CLASSES) {
    return BSM_OK;
  }
  BSM_TRY_ALLOC(bsm_ptrmap_set(scan->arena, &scan->seen, cls, scan));
  for (size_t i = 0; i < cls->methods.len; i++) {
    const bsm_graph *graph = cls->methods.items[i]->graph;
    if (graph) scan_block(scan, graph->block, 0);
  }
  for (size_t i = 0; i < object->len; i++) {
    const bsm_ivalue *slot = &object->slots[i];
    if (slot->tag == BSM_IVALUE_OBJECT && slot->u.object) {
      BSM_TRY(scan_object(scan, slot->u.object, depth + 1));
    }
  }
  return BSM_OK;
}

static bsm_status warn_of_devices(bsm_module *module, const bsm_method *method,
                                  bsm_compilation_record *record) {
  device_scan scan = {.arena = &module->arena};
  bsm_text place;
  if (method->root) {
    BSM_TRY(scan_object(&scan, method->root, 0));
  } else {
    scan_block(&scan, method->graph->block, 0);
  }
  if (!scan.count) return BSM_OK;
  bsm_text_init(&place, &module->arena);
  bsm_source_print(&place, &scan.first->source);
  if (place.failed) return BSM_FAIL_OOM();
  BSM_TRY(bsm_record_warning(
      record,
      "the model names a GPU as the device of its tensors in %zu place%s, "
      "as at %s: it has no effect, an engine runs on the CPU",
      scan.count, scan.count == 1 ? "" : "s",
      place.len ? place.data : "an unknown place"));
  return BSM_OK;
}

bsm_status bsm_warn_of_trace(bsm_module *module,
                             const bsm_compile_options *options,
                             bsm_compilation_record *record) {
  bsm_method method;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  BSM_TRY(warn_of_inputs(module, &method, record));
  return warn_of_devices(module, &method, record);
}

/* ---- a fixed shape that is not the example's ---- */

static bsm_status note_trace(bsm_module *module,
                             const bsm_compile_options *options,
                             const char **note) {
  bsm_method method;
  bsm_lowering_input *inputs;
  BSM_TRY(bsm_module_find_method(module, options->method, &method));
  if (!bsm_is_traced_method(module, &method)) return BSM_OK;
  BSM_TRY(bsm_method_inputs(module, &method, options->inputs,
                            options->input_count, &module->arena, &inputs));
  for (size_t i = 0; i < method.parameter_count; i++) {
    bsm_ivalue example;
    bool found;
    BSM_TRY(bsm_method_example(module, &method, i, &module->arena, &found,
                               &example));
    if (!found || example.tag != BSM_IVALUE_TENSOR ||
        inputs[i].value.tag != BSM_IVALUE_TENSOR ||
        bsm_dims_equal(example.u.tensor->sizes,
                       inputs[i].value.u.tensor->sizes)) {
      continue;
    }
    *note = bsm_arena_printf(
        &module->arena,
        "the model was traced with input \"%s\" of shape %s; " BSM_TRACE_ADVICE,
        inputs[i].name, bsm_dims_str(example.u.tensor->sizes));
    BSM_TRY_ALLOC(*note);
    return BSM_OK;
  }
  return BSM_OK;
}

bsm_status bsm_note_trace(bsm_module *module,
                          const bsm_compile_options *options,
                          bsm_status status) {
  const char *note = NULL;
  if (!status || bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
  bsm_status other = note_trace(module, options, &note);
  bsm_status_free(other); /* the first failure is reported */
  return note ? bsm_status_note(status, "%s", note) : status;
}
