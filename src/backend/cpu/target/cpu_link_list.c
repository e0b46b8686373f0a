/* SPDX-License-Identifier: Apache-2.0 */
/* Writes which kernels, drivers and tactics of the CPU a program links.
 *
 * Of kernels it says the instruction sets alone: families that no linked driver
 * names are left to the linker (--gc-sections). The tables are those of
 * kernel_isa.h and cpu_linked.h. */
#include "backend/cpu/target/cpu_link_list.h"

#include <string.h>

#include "backend/cpu/cpu_linked.h"
#include "backend/cpu/kernels/kernel_isa.h"
#include "base/isa.h"

/* ---- kernels ---- */

static const char *const isa_names[] = {
#define X(suffix, bits) #suffix,
    BSM_K_ISAS(X)
#undef X
};

#if BSM_K_ISA_COUNT == 3
#define NAMES "avx512, avx2 and scalar"
#elif BSM_K_ISA_COUNT == 2
#define NAMES "neon and scalar"
#else
#define NAMES "scalar"
#endif

static const char *const families[] = {
#define FAMILY(name) #name,
#include "backend/cpu/kernels/kernel_families.inl"
#undef FAMILY
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The kernels that a level such as "amx" runs, of those with tables of their
 * own. */
static bool find_level(bsm_str name, uint32_t *out) {
  char text[16];
  uint32_t mask;
  if (name.len >= sizeof(text)) return false;
  memcpy(text, name.data, name.len);
  text[name.len] = '\0';
  if (!bsm_isa_parse(text, &mask)) return false;
  for (unsigned i = 0; i < BSM_K_ISA_COUNT; i++) {
    const uint32_t needs = bsm_k_isa_needs(i);
    if (needs & ~mask) continue;
    if (!needs && mask) return false; /* a level of other machines */
    *out |= 1u << i;
    return true;
  }
  return false;
}

static bsm_status find_isa(bsm_str name, uint32_t *out) {
  for (unsigned i = 0; i < BSM_K_ISA_COUNT; i++) {
    if (!bsm_str_eq(name, bsm_str_of(isa_names[i]))) continue;
    *out |= 1u << i;
    return BSM_OK;
  }
  if (find_level(name, out)) return BSM_OK;
  return BSM_FAIL(BSM_INVALID_ARGUMENT,
                  "there are no kernels for '%.*s', but for " NAMES,
                  name.len < 64 ? (int)name.len : 64, name.data);
}

/* Bit i: instruction set i of BSM_K_ISAS. */
static bsm_status parse_isas(const char *text, uint32_t *out) {
  *out = text ? 0 : (1u << BSM_K_ISA_COUNT) - 1;
  while (text) {
    const char *comma = strchr(text, ',');
    const size_t length = comma ? (size_t)(comma - text) : strlen(text);
    BSM_TRY(find_isa((bsm_str){text, length}, out));
    text = comma ? comma + 1 : NULL;
  }
  return BSM_OK;
}

/* One line for each family: its tables by instruction set, best first. */
static void write_families(uint32_t isas, bsm_text *text) {
  bsm_text_printf(text, "const uint32_t bsm_k_linked_isas = %u;\n\n", isas);
  bsm_text_puts(text, "#define FAMILY(name) \\\n  extern const struct name");
  const char *comma = " ";
  for (unsigned i = 0; i < BSM_K_ISA_COUNT; i++) {
    if (!(isas >> i & 1)) continue;
    bsm_text_printf(text, "%sname##_%s", comma, isa_names[i]);
    comma = ", ";
  }
  bsm_text_puts(text, ";\n#define TABLES(name) {");
  for (unsigned i = 0; i < BSM_K_ISA_COUNT; i++) {
    bsm_text_printf(text, isas >> i & 1 ? "%s&name##_%s" : "%s0", i ? ", " : "",
                    isa_names[i]);
  }
  bsm_text_puts(text, "}\n");
  for (size_t i = 0; i < COUNT(families); i++) {
    bsm_text_printf(text,
                    "FAMILY(bsm_k_%s)\n"
                    "const struct bsm_k_%s *const bsm_k_linked_%s[] = "
                    "TABLES(bsm_k_%s);\n",
                    families[i], families[i], families[i], families[i]);
  }
}

/* The tables have a place for each instruction set of the architecture. */
static void write_kernels(uint32_t isas, bsm_text *text) {
  bsm_text_puts(text, "\n/* Kernels of the CPU, by instruction set. */\n");
#if defined(__x86_64__) || defined(__i386__)
  bsm_text_puts(text, "#if !defined(__x86_64__) && !defined(__i386__)\n");
#elif defined(__aarch64__)
  bsm_text_puts(text, "#if !defined(__aarch64__)\n");
#else
  bsm_text_puts(text,
                "#if defined(__x86_64__) || defined(__i386__) || "
                "defined(__aarch64__)\n");
#endif
  bsm_text_puts(text,
                "#error \"this link list is of another architecture: make it "
                "there\"\n#endif\n");
  write_families(isas, text);
}

/* ---- drivers and tactics ---- */

typedef struct need {
  bool kinds[BSM_STEP_KIND_END], typed_kinds[BSM_STEP_KIND_END];
  bool few_bits_kinds[BSM_STEP_KIND_END], half_kinds[BSM_STEP_KIND_END];
  /* In the order of cpu_convolution_tactics.inl. */
  bool tactics[BSM_CPU_MAX_TACTICS];
} need;

static const struct {
  const char *name;
  const bsm_cpu_convolution_tactic *tactic;
} tactics[] = {
#define TACTIC(name) {#name, &bsm_cpu_convolution_##name},
#include "backend/cpu/cpu_convolution_tactics.inl"
#undef TACTIC
};

/* The tactic that runs the step, which no instruction set changes. */
static void add_tactic(const bsm_plan *plan, const bsm_plan_step *step,
                       need *out) {
  const bsm_cpu_convolution_tactic *chosen =
      bsm_cpu_convolution_choose(plan, step, BSM_ISA_SCALAR);
  for (size_t i = 0; i < COUNT(tactics); i++) {
    if (tactics[i].tactic == chosen) out->tactics[i] = true;
  }
}

static void add_step(const bsm_plan *plan, const bsm_plan_step *step,
                     need *out) {
  const bsm_cpu_kind *kind = bsm_cpu_kind_of(plan, step);
  if (!kind || step->space != BSM_SPACE_HOST) return;
  if (kind == bsm_linked_cpu_typed_kinds[step->kind]) {
    out->typed_kinds[step->kind] = true;
    return;
  }
  if (kind == bsm_linked_cpu_few_bits_kinds[step->kind]) {
    out->few_bits_kinds[step->kind] = true;
    return;
  }
  if (kind == bsm_linked_cpu_half_kinds[step->kind]) {
    out->half_kinds[step->kind] = true;
    return;
  }
  out->kinds[step->kind] = true;
  if (step->kind == BSM_STEP_CONVOLUTION) add_tactic(plan, step, out);
}

static void write_tactics(const need *n, bsm_text *text) {
  bsm_text_puts(text, "\n/* Tactics of convolutions. */\n");
  for (size_t i = 0; i < COUNT(tactics); i++) {
    if (n->tactics[i]) {
      bsm_text_printf(text,
                      "extern const struct bsm_cpu_convolution_tactic "
                      "bsm_cpu_convolution_%s;\n",
                      tactics[i].name);
    }
  }
  bsm_text_puts(text,
                "const struct bsm_cpu_convolution_tactic *const\n"
                "    bsm_linked_cpu_convolutions[] = {\n");
  for (size_t i = 0; i < COUNT(tactics); i++) {
    if (n->tactics[i]) {
      bsm_text_printf(text, "        &bsm_cpu_convolution_%s,\n",
                      tactics[i].name);
    }
  }
  bsm_text_puts(text, "        0};\n");
}

/* A driver may serve several kinds; it may be declared again. */
static void write_row(bool declares, uint32_t number, const char *driver,
                      bsm_text *text) {
  if (declares) {
    bsm_text_printf(text, "extern const struct bsm_cpu_kind bsm_cpu_%s;\n",
                    driver);
  } else {
    bsm_text_printf(text, "    [%u] = &bsm_cpu_%s,\n", number, driver);
  }
}

static void write_kinds(const need *n, bool declares, bsm_text *text) {
#define X(name, number, word, member) \
  if (n->kinds[number]) write_row(declares, number, #name, text);
  BSM_BACKEND_STEP_KINDS(X)
#undef X
}

static void write_typed_kinds(const need *n, bool declares, bsm_text *text) {
#define X(name, driver)                                  \
  if (n->typed_kinds[BSM_STEP_##name]) {                 \
    write_row(declares, BSM_STEP_##name, #driver, text); \
  }
  BSM_CPU_TYPED_KINDS(X)
#undef X
}

static void write_few_bits_kinds(const need *n, bool declares, bsm_text *text) {
#define X(name, driver)                                  \
  if (n->few_bits_kinds[BSM_STEP_##name]) {              \
    write_row(declares, BSM_STEP_##name, #driver, text); \
  }
  BSM_CPU_FEW_BITS_KINDS(X)
#undef X
}

static void write_half_kinds(const need *n, bool declares, bsm_text *text) {
#define X(name, driver)                                  \
  if (n->half_kinds[BSM_STEP_##name]) {                  \
    write_row(declares, BSM_STEP_##name, #driver, text); \
  }
  BSM_CPU_HALF_KINDS(X)
#undef X
}

static void write_table(const char *name, const need *n,
                        void (*rows)(const need *, bool, bsm_text *),
                        bsm_text *text) {
  rows(n, true, text);
  bsm_text_printf(text,
                  "const struct bsm_cpu_kind *const %s[%d] = {\n"
                  "    [0] = 0,\n",
                  name, BSM_STEP_KIND_END);
  rows(n, false, text);
  bsm_text_puts(text, "};\n");
}

bsm_status bsm_cpu_write_link_list(const bsm_link_request *request,
                                   bsm_text *text) {
  uint32_t isas;
  need n = {0};
  BSM_TRY(parse_isas(request->isas, &isas));
  write_kernels(isas, text);
  if (request->plan_count == 0) return BSM_OK;
  for (size_t i = 0; i < request->plan_count; i++) {
    const bsm_plan *part;
    for (uint32_t k = 0; (part = bsm_plan_part(request->plans[i], k)); k++) {
      for (uint32_t s = 0; s < part->step_count; s++) {
        add_step(part, &part->steps[s], &n);
      }
    }
  }
  bsm_text_puts(text, "\n/* Drivers of the CPU, by step kind. */\n");
  write_table("bsm_linked_cpu_kinds", &n, write_kinds, text);
  write_table("bsm_linked_cpu_typed_kinds", &n, write_typed_kinds, text);
  write_table("bsm_linked_cpu_few_bits_kinds", &n, write_few_bits_kinds, text);
  write_table("bsm_linked_cpu_half_kinds", &n, write_half_kinds, text);
  write_tactics(&n, text);
  return BSM_OK;
}
