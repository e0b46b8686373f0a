/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: converters by operator and overload, evaluators by kind or
 * operator. Schemas are parsed when registered, so a misspelt one is an error
 * at once. */
#include <string.h>

#include "conversion/conversion_internal.h"

struct bsm_converter_registry {
  bsm_arena *arena;
  bsm_type_table *types;
  const bsm_logger *logger;
  bsm_strmap converters; /* qualified name -> bsm_converter_entry */
  bsm_strmap evaluators; /* name -> bsm_evaluator_pattern */
  BSM_VEC(bsm_converter_entry *) converter_list;
  BSM_VEC(const bsm_evaluator_pattern *) evaluator_list;
};

static bsm_status register_converter(bsm_converter_registry *registry,
                                     const bsm_conversion_pattern *pattern) {
  bsm_schema *schema = NULL;
  if (!pattern->schema || !pattern->convert) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "a conversion pattern has no schema or no function");
  }
  bsm_status status = bsm_schema_parse(registry->types, registry->arena,
                                       bsm_str_of(pattern->schema), &schema);
  if (status) {
    if (bsm_status_code(status) == BSM_OUT_OF_MEMORY) return status;
    bsm_status wrapped =
        BSM_FAIL(BSM_INVALID_ARGUMENT, "the schema \"%s\" does not parse: %s",
                 pattern->schema, bsm_status_message(status));
    bsm_status_free(status);
    return wrapped;
  }
  bsm_str name = bsm_str_of(schema->qualified);
  bsm_converter_entry *entry = bsm_strmap_get(&registry->converters, name);
  if (entry) {
    bsm_log(registry->logger, BSM_LOG_LEVEL_INFO,
            "the converter for %s is replaced", schema->qualified);
  } else {
    entry = BSM_NEW(registry->arena, bsm_converter_entry);
    BSM_TRY_ALLOC(entry);
    if (!bsm_strmap_set(registry->arena, &registry->converters, name, entry) ||
        !bsm_vec_push(registry->arena, &registry->converter_list, entry)) {
      return BSM_FAIL_OOM();
    }
  }
  entry->pattern = pattern;
  entry->schema = schema;
  return BSM_OK;
}

bsm_status bsm_register_conversion_patterns(
    bsm_converter_registry *registry, const bsm_conversion_pattern *patterns,
    size_t count) {
  if (!registry || (count > 0 && !patterns)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "registering converters: no registry or no patterns");
  }
  for (size_t i = 0; i < count; i++) {
    BSM_TRY(register_converter(registry, &patterns[i]));
  }
  return BSM_OK;
}

static bsm_status register_evaluators(bsm_converter_registry *registry,
                                      const bsm_evaluator_table *table) {
  for (size_t i = 0; i < table->count; i++) {
    const bsm_evaluator_pattern *pattern = &table->patterns[i];
    bsm_str name = bsm_str_of(pattern->name);
    if (bsm_strmap_get(&registry->evaluators, name)) {
      return BSM_FAIL(BSM_INTERNAL, "two evaluators for %s", pattern->name);
    }
    if (!bsm_strmap_set(registry->arena, &registry->evaluators, name,
                        (void *)pattern) ||
        !bsm_vec_push(registry->arena, &registry->evaluator_list, pattern)) {
      return BSM_FAIL_OOM();
    }
  }
  return BSM_OK;
}

bsm_status bsm_converter_registry_create(bsm_arena *arena,
                                         bsm_type_table *types,
                                         const bsm_logger *logger,
                                         bsm_converter_registry **out) {
  static const bsm_converter_table *const converters[] = {
#define CONVERTERS(name) &bsm_converters_##name,
#define EVALUATORS(name)
#include "conversion/converter_tables.inl"
#undef CONVERTERS
#undef EVALUATORS
  };
  static const bsm_evaluator_table *const evaluators[] = {
#define CONVERTERS(name)
#define EVALUATORS(name) &bsm_evaluators_##name,
#include "conversion/converter_tables.inl"
#undef CONVERTERS
#undef EVALUATORS
  };
  *out = NULL;
  bsm_converter_registry *registry = BSM_NEW(arena, bsm_converter_registry);
  BSM_TRY_ALLOC(registry);
  registry->arena = arena;
  registry->types = types;
  for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]); i++) {
    BSM_TRY(bsm_register_conversion_patterns(registry, converters[i]->patterns,
                                             converters[i]->count));
  }
  for (size_t i = 0; i < sizeof(evaluators) / sizeof(evaluators[0]); i++) {
    BSM_TRY(register_evaluators(registry, evaluators[i]));
  }
  registry->logger = logger;
  *out = registry;
  return BSM_OK;
}

const char *bsm_node_qualified(const bsm_node *node) {
  return node->schema ? node->schema->qualified : node->kind;
}

const bsm_converter_entry *bsm_registry_find_converter(
    const bsm_converter_registry *registry, const bsm_node *node) {
  return bsm_strmap_get(&registry->converters,
                        bsm_str_of(bsm_node_qualified(node)));
}

const bsm_evaluator_pattern *bsm_registry_find_evaluator(
    const bsm_converter_registry *registry, const bsm_node *node) {
  const bsm_evaluator_pattern *found = bsm_strmap_get(
      &registry->evaluators, bsm_str_of(bsm_node_qualified(node)));
  if (found || strncmp(node->kind, "prim::", 6) != 0) return found;
  return bsm_strmap_get(&registry->evaluators, bsm_str_of(node->kind));
}

bool bsm_registry_has_converter(const bsm_converter_registry *registry,
                                const char *qualified_name) {
  return bsm_strmap_get(&registry->converters, bsm_str_of(qualified_name)) !=
         NULL;
}

bool bsm_registry_has_evaluator(const bsm_converter_registry *registry,
                                const char *qualified_name) {
  return bsm_strmap_get(&registry->evaluators, bsm_str_of(qualified_name)) !=
         NULL;
}

size_t bsm_registry_converter_count(const bsm_converter_registry *registry) {
  return registry->converter_list.len;
}

const char *bsm_registry_converter_schema(
    const bsm_converter_registry *registry, size_t index) {
  if (index >= registry->converter_list.len) return NULL;
  return registry->converter_list.items[index]->pattern->schema;
}

size_t bsm_registry_evaluator_count(const bsm_converter_registry *registry) {
  return registry->evaluator_list.len;
}

const char *bsm_registry_evaluator_name(const bsm_converter_registry *registry,
                                        size_t index) {
  if (index >= registry->evaluator_list.len) return NULL;
  return registry->evaluator_list.items[index]->name;
}
