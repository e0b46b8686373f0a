/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an archive of torch.export:
 *
 *   members -> version of the schema -> weights, constants -> graph
 *   -> signature -> structure of the arguments -> ranges -> example inputs */
#include "exported/exported_reader.h"

enum {
  OLDEST_MAJOR = 5, /* torch 2.3; the JSON of older ones differs */
  NEWEST_MAJOR = 8
};

/* ---- versions ---- */

static bsm_status read_version(bsm_xr *r, const bsm_place *root) {
  bsm_exported_program *p = r->program;
  bsm_place version, field;
  BSM_TRY(bsm_place_field(root, "schema_version", &version));
  BSM_TRY(bsm_place_field(&version, "major", &field));
  BSM_TRY(bsm_place_int(&field, &p->schema_major));
  BSM_TRY(bsm_place_field(&version, "minor", &field));
  BSM_TRY(bsm_place_int(&field, &p->schema_minor));
  p->torch_version = "";
  BSM_TRY(bsm_place_optional(root, "torch_version", &field));
  if (field.json) BSM_TRY(bsm_xr_name(r, &field, &p->torch_version));
  if (p->schema_major >= OLDEST_MAJOR && p->schema_major <= NEWEST_MAJOR) {
    return BSM_OK;
  }
  return BSM_FAIL(
      BSM_VERSION,
      "the program has schema %lld.%lld%s%.40s; majors %d to %d can be read: "
      "export it again with torch 2.6 to 2.15",
      (long long)p->schema_major, (long long)p->schema_minor,
      *p->torch_version ? ", of torch " : "", p->torch_version, OLDEST_MAJOR,
      NEWEST_MAJOR);
}

static bsm_status read_opset(bsm_xr *r, const bsm_place *root) {
  bsm_place opset, aten;
  BSM_TRY(bsm_place_optional(root, "opset_version", &opset));
  if (!opset.json) return BSM_OK;
  BSM_TRY(bsm_place_optional(&opset, "aten", &aten));
  return aten.json ? bsm_place_int(&aten, &r->program->opset_version) : BSM_OK;
}

/* ---- ranges ---- */

/* One end: null, infinite or beyond 64 bits leave it open. */
static int64_t range_end(const bsm_place *range, const char *key,
                         int64_t open) {
  bsm_place field;
  int64_t value = open;
  bsm_status status = bsm_place_optional(range, key, &field);
  if (!status && bsm_place_kind_of(&field) == BSM_JSON_INT) {
    status = bsm_place_int(&field, &value);
  }
  bsm_status_free(status);
  return value;
}

static bsm_status read_ranges(bsm_xr *r, const bsm_place *root) {
  bsm_symbol_table *table = &r->program->symbols;
  bsm_place at, item;
  size_t count = 0, index = 0;
  BSM_TRY(bsm_place_field(root, "range_constraints", &at));
  BSM_TRY(bsm_place_check_object(&at, &count));
  for (bsm_place_iterator it = {0}; bsm_place_next(&at, &it, &item);) {
    size_t keys = 0;
    BSM_TRY(bsm_place_check_object(&item, &keys));
    BSM_TRY(bsm_symbol_add(r->arena, table, bsm_str_of(item.key), &index));
    bsm_symbol *symbol = &table->symbols.items[index];
    symbol->has_range = true;
    symbol->min = range_end(&item, "min_val", INT64_MIN);
    symbol->max = range_end(&item, "max_val", INT64_MAX);
    if (symbol->min > symbol->max) {
      return bsm_place_fail(&item, BSM_CORRUPT, "is empty");
    }
  }
  return BSM_OK;
}

static bsm_status read_guards(bsm_xr *r, const bsm_place *root) {
  bsm_place at;
  bsm_xr_names names = {0};
  BSM_TRY(bsm_place_optional(root, "guards_code", &at));
  if (at.json) BSM_TRY(bsm_xr_names_read(r, &at, &names));
  r->program->guards = names.items;
  r->program->guard_count = names.len;
  return BSM_OK;
}

/* ---- the program ---- */

static bsm_status read_json(bsm_xr *r, const bsm_place *root) {
  bsm_place module, field;
  BSM_TRY(read_version(r, root));
  BSM_TRY(read_opset(r, root));
  BSM_TRY(bsm_xr_weights(r));
  BSM_TRY(bsm_place_field(root, "graph_module", &module));
  BSM_TRY(bsm_place_field(&module, "graph", &field));
  BSM_TRY(bsm_xr_graph(r, &field, "", &r->program->graph));
  BSM_TRY(bsm_place_field(&module, "signature", &field));
  BSM_TRY(bsm_xr_signature(r, &field));
  BSM_TRY(bsm_xr_module_call(r, &module));
  BSM_TRY(read_ranges(r, root));
  return read_guards(r, root);
}

static bsm_status read_program(bsm_xr *r) {
  const char *member = r->is_old ? "serialized_exported_program.json"
                                 : bsm_arena_printf(r->arena, "models/%s.json",
                                                    r->program->model_name);
  bsm_str bytes = {0};
  BSM_TRY_ALLOC(member);
  BSM_TRY(bsm_xr_read_member(r, member, &bytes));
  if (!bytes.data) {
    return BSM_FAIL(BSM_CORRUPT, "the archive has no member \"%s\"", member);
  }
  bsm_json_document document;
  bsm_status status = bsm_json_document_parse(
      r->arena->allocator, bytes, member, &r->cx->limits, &document);
  if (!status) {
    const bsm_place root = bsm_json_document_root(&document);
    status = read_json(r, &root);
  }
  bsm_json_document_free(&document);
  BSM_TRY(status);
  return bsm_xr_examples(r);
}

bsm_status bsm_exported_program_read(bsm_ir_ctx *cx, const void *data,
                                     size_t size,
                                     const bsm_exported_read_options *options,
                                     bsm_exported_program **out) {
  *out = NULL;
  bsm_exported_program *program = BSM_NEW(cx->arena, bsm_exported_program);
  BSM_TRY_ALLOC(program);
  program->cx = cx;
  bsm_xr r = {.cx = cx, .arena = cx->arena, .program = program};
  BSM_TRY(bsm_xr_open(&r, data, size, options ? options->model_name : NULL));
  BSM_TRY(read_program(&r));
  *out = program;
  return BSM_OK;
}
