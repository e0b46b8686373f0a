/* SPDX-License-Identifier: Apache-2.0 */
/* The record, and the two ways to fill it in: nodes and warnings. */
#include "compiler/pipeline/compilation_record.h"

#include <stdarg.h>

void bsm_compilation_record_init(bsm_compilation_record *record,
                                 const bsm_allocator *allocator,
                                 const bsm_logger *logger) {
  *record = (bsm_compilation_record){.logger = logger};
  bsm_arena_init(&record->arena, allocator);
  bsm_placement_list_init(&record->nodes, &record->arena);
  bsm_placement_list_init(&record->optimal, &record->arena);
}

void bsm_compilation_record_destroy(bsm_compilation_record *record) {
  bsm_arena_destroy(&record->arena);
}

void bsm_placement_list_init(bsm_placement_list *list, bsm_arena *arena) {
  *list = (bsm_placement_list){.arena = arena};
}

/* Replaces a text by a copy of it. */
static bsm_status copy_text(bsm_arena *arena, const char **text) {
  if (!*text) return BSM_OK;
  *text = bsm_arena_strdup(arena, *text);
  BSM_TRY_ALLOC(*text);
  return BSM_OK;
}

/* Graphs that are made for a plan alone end before the record does. */
static bsm_status copy_source(bsm_arena *arena, bsm_source *source) {
  BSM_TRY(copy_text(arena, &source->code_file));
  BSM_TRY(copy_text(arena, &source->python_file));
  return copy_text(arena, &source->scope);
}

bsm_status bsm_place_node(bsm_placement_list *list, const bsm_node *node,
                          bsm_node_run run, const char *why) {
  const bsm_schema *schema = node->schema;
  const uintptr_t known = (uintptr_t)bsm_ptrmap_get(&list->index, node);
  bsm_node_placement placement = {
      .name = schema ? schema->qualified : node->kind,
      .schema = schema ? schema->text : node->kind,
      .source = node->source,
      .run = run,
      .why = why ? bsm_arena_strdup(list->arena, why) : NULL};
  if (why) BSM_TRY_ALLOC(placement.why);
  BSM_TRY(copy_source(list->arena, &placement.source));
  if (known) {
    list->items.items[known - 1] = placement;
    return BSM_OK;
  }
  if (!bsm_vec_push(list->arena, &list->items, placement) ||
      !bsm_ptrmap_set(list->arena, &list->index, node,
                      (void *)(uintptr_t)list->items.len)) {
    return BSM_FAIL_OOM();
  }
  return BSM_OK;
}

bsm_status bsm_placement_list_append(bsm_placement_list *list,
                                     const bsm_placement_list *from) {
  for (size_t i = 0; i < from->items.len; i++) {
    bsm_node_placement copy = from->items.items[i];
    BSM_TRY(copy_text(list->arena, &copy.name));
    BSM_TRY(copy_text(list->arena, &copy.schema));
    BSM_TRY(copy_source(list->arena, &copy.source));
    BSM_TRY(copy_text(list->arena, &copy.why));
    BSM_TRY_ALLOC(bsm_vec_push(list->arena, &list->items, copy));
  }
  return BSM_OK;
}

bsm_status bsm_record_warning(bsm_compilation_record *record,
                              const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = bsm_arena_vprintf(&record->arena, format, args);
  va_end(args);
  BSM_TRY_ALLOC(text);
  BSM_TRY_ALLOC(bsm_vec_push(&record->arena, &record->warnings, text));
  bsm_log(record->logger, BSM_LOG_LEVEL_WARNING, "%s", text);
  return BSM_OK;
}
