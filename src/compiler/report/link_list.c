/* SPDX-License-Identifier: Apache-2.0 */
/* Writes which parts of the library a program links to run some engines: the
 * tables of base/linked.h, in C. What belongs to devices comes from their
 * targets. */
#include <string.h>

#include "base/linked.h"
#include "base/options.h"
#include "bessemer/compiler.h"
#include "builder/target.h"
#include "engine/program.h"
#include "runtime/engine/engine.h"

static const struct {
  const char *name;
  const bsm_aten_table *table;
} op_tables[] = {
#define TABLE(name) {#name, &bsm_aten_ops_##name},
#include "aten/aten_tables.inl"
#undef TABLE
};
#define TABLE_COUNT (sizeof(op_tables) / sizeof(op_tables[0]))

typedef struct need {
  bool steps[BSM_STEP_KIND_END];
  bool tables[TABLE_COUNT];
} need;

/* ---- what engines need ---- */

static bsm_status add_op(const bsm_aten_library *aten, const char *name,
                         need *out) {
  const bsm_aten_op *op = bsm_aten_find(aten, bsm_str_of(name));
  if (!op) return bsm_fail_not_linked("op", name);
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    const bsm_aten_table *t = op_tables[i].table;
    if (op >= t->ops && op < t->ops + t->count) out->tables[i] = true;
  }
  return BSM_OK;
}

static bsm_status add_steps(const bsm_plan *part, const bsm_aten_library *aten,
                            need *out) {
  for (uint32_t i = 0; i < part->step_count; i++) {
    const bsm_plan_step *step = &part->steps[i];
    out->steps[step->kind] = true;
    if (step->kind == BSM_STEP_ATEN_CALL) {
      BSM_TRY(add_op(aten, step->params->aten_call.op, out));
    }
  }
  return BSM_OK;
}

/* Where a run calls another op than the program says, it is of the same table:
 * a view that is a reshape. */
static bsm_status add_program(const bsm_program *program,
                              const bsm_aten_library *aten, need *out) {
  for (uint32_t b = 0; b < program->block_count; b++) {
    const bsm_program_block *block = &program->blocks[b];
    for (uint32_t i = 0; i < block->instruction_count; i++) {
      const bsm_instruction *instruction = &block->instructions[i];
      if (instruction->kind != BSM_INSTRUCTION_CALL) continue;
      BSM_TRY(add_op(aten, instruction->name, out));
    }
  }
  return BSM_OK;
}

static bsm_status add_plan(const bsm_plan *plan, const bsm_aten_library *aten,
                           need *out) {
  const bsm_plan *part;
  for (uint32_t k = 0; (part = bsm_plan_part(plan, k)); k++) {
    BSM_TRY(add_steps(part, aten, out));
  }
  return plan->program ? add_program(plan->program, aten, out) : BSM_OK;
}

/* ---- text ---- */

/* A string of C; what is not printed plainly becomes a question mark. */
static void write_string(const char *words, bsm_text *text) {
  bsm_text_puts(text, "\"");
  for (; *words; words++) {
    const char c = *words;
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    bsm_text_append(text, (bsm_str){plain ? &c : "?", 1});
  }
  bsm_text_puts(text, "\"");
}

static void write_head(const char *engines, bsm_text *text) {
  bsm_text_puts(text,
                "/* What a program links of libbessemer-runtime, written by "
                "bessemer link-list.\n"
                " * Compile it with -ffunction-sections -fdata-sections, and "
                "link it before the\n"
                " * static library with -Wl,--gc-sections. */\n"
                "#include <stddef.h>\n#include <stdint.h>\n\n"
                "struct bsm_link_list {\n"
                "  const char *engines, *version;\n"
                "};\n"
                "extern const struct bsm_link_list bsm_linked;\n"
                "const struct bsm_link_list bsm_linked = {\n    ");
  write_string(engines, text);
  bsm_text_printf(text, ",\n    \"%s\"};\n", bsm_version());
}

static void write_ops(const need *n, bsm_text *text) {
  bsm_text_puts(text, "\n/* Operators of the reference library. */\n");
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    if (n->tables[i]) {
      bsm_text_printf(text,
                      "extern const struct bsm_aten_table bsm_aten_ops_%s;\n",
                      op_tables[i].name);
    }
  }
  bsm_text_puts(
      text,
      "const struct bsm_aten_table *const bsm_linked_aten_tables[] = {\n");
  for (size_t i = 0; i < TABLE_COUNT; i++) {
    if (n->tables[i]) {
      bsm_text_printf(text, "    &bsm_aten_ops_%s,\n", op_tables[i].name);
    }
  }
  bsm_text_puts(text, "    0};\n");
}

static void write_driver(bool declares, uint32_t number, const char *driver,
                         bsm_text *text) {
  if (declares) {
    bsm_text_printf(text,
                    "extern const struct bsm_step_driver bsm_%s_step_driver;\n",
                    driver);
  } else {
    bsm_text_printf(text, "    [%u] = &bsm_%s_step_driver,\n", number, driver);
  }
}

static void write_rows(const need *n, bool declares, bsm_text *text) {
#define X(name, number, word, member)            \
  if (n->steps[number] && !declares) {           \
    write_driver(false, number, "device", text); \
  }
  BSM_BACKEND_STEP_KINDS(X)
#undef X
#define X(name, number, word, member) \
  if (n->steps[number]) write_driver(declares, number, #member, text);
  BSM_RUNTIME_STEP_KINDS(X)
#undef X
}

static void write_steps(const need *n, bsm_text *text) {
  bsm_text_puts(text,
                "\n/* What runs steps, by kind. */\n"
                "extern const struct bsm_step_driver bsm_device_step_driver;"
                "\n");
  write_rows(n, true, text);
  bsm_text_printf(text,
                  "const struct bsm_step_driver *const "
                  "bsm_linked_step_drivers[%d] = {\n"
                  "    [0] = 0,\n",
                  BSM_STEP_KIND_END);
  write_rows(n, false, text);
  bsm_text_puts(text, "};\n");
  bsm_text_puts(text,
                "\n/* Plans for other shapes could need any part. */\n"
                "struct bsm_region_planner_ops;\n"
                "const struct bsm_region_planner_ops *const "
                "bsm_linked_region_planner = 0;\n");
}

/* The CPU, and the devices that engines were built for. */
static bool needs_device(const bsm_link_request *request, const char *name) {
  bool needs = strcmp(name, "cpu") == 0;
  const size_t length = strlen(name);
  for (size_t i = 0; i < request->plan_count && !needs; i++) {
    const char *target = request->plans[i]->target;
    needs = target && strncmp(target, name, length) == 0 &&
            (target[length] == ':' || target[length] == 0);
  }
  return needs;
}

static void write_devices(const bsm_link_request *request, bsm_text *text) {
  size_t count, needed = 0;
  const bsm_device_ops *const *devices = bsm_device_table(&count);
  bsm_text_puts(text, "\n/* Devices. */\n");
  for (size_t i = 0; i < count; i++) {
    if (!needs_device(request, devices[i]->name)) continue;
    bsm_text_printf(text,
                    "extern const struct bsm_device_ops bsm_%s_device_ops;\n",
                    devices[i]->name);
    needed++;
  }
  bsm_text_puts(text,
                "static const struct bsm_device_ops *const devices[] = {\n");
  for (size_t i = 0; i < count; i++) {
    if (!needs_device(request, devices[i]->name)) continue;
    bsm_text_printf(text, "    &bsm_%s_device_ops,\n", devices[i]->name);
  }
  bsm_text_printf(
      text,
      "};\n"
      "const struct bsm_device_ops *const *bsm_device_table(size_t *count);\n"
      "const struct bsm_device_ops *const *bsm_device_table(size_t *count) {\n"
      "  *count = %zu;\n"
      "  return devices;\n"
      "}\n",
      needed);
}

static bsm_status write_list(const bsm_link_request *request,
                             const char *engines, bsm_arena *arena,
                             bsm_text *text) {
  size_t count;
  need n = {{false}, {false}};
  bsm_aten_library *aten;
  const bsm_target_ops *const *targets = bsm_target_table(&count);
  BSM_TRY(bsm_aten_library_create(arena, &aten));
  for (size_t i = 0; i < request->plan_count; i++) {
    BSM_TRY(add_plan(request->plans[i], aten, &n));
  }
  write_head(engines, text);
  if (request->plan_count > 0) {
    write_ops(&n, text);
    write_steps(&n, text);
    write_devices(request, text);
  }
  for (size_t i = 0; i < count; i++) {
    if (targets[i]->link_list) {
      BSM_TRY(targets[i]->link_list(request, text));
    }
  }
  return text->failed ? BSM_FAIL_OOM() : BSM_OK;
}

bsm_status bsm_write_link_list(const bsm_engine *const *engines, size_t count,
                               const char *names, const char *isas,
                               char **out) {
  BSM_NEED(out);
  *out = NULL;
  BSM_NEED(names);
  if (count > 0) BSM_NEED(engines);
  bsm_arena arena;
  bsm_text text;
  bsm_arena_init(&arena, NULL);
  bsm_text_init(&text, &arena);
  const bsm_plan **plans = BSM_NEW_ARRAY(&arena, const bsm_plan *, count + 1);
  bsm_status status = plans ? BSM_OK : BSM_FAIL_OOM();
  for (size_t i = 0; !status && i < count; i++) plans[i] = engines[i]->plan;
  const bsm_link_request request = {plans, count, isas};
  if (!status) status = write_list(&request, names, &arena, &text);
  if (!status) {
    *out = strdup(text.data);
    if (!*out) status = BSM_FAIL_OOM();
  }
  bsm_arena_destroy(&arena);
  return status;
}
