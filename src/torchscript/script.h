/* SPDX-License-Identifier: Apache-2.0 */
/* The `code/` language: source text -> syntax tree -> IR.
 *
 * A bsm_script owns the code members of one archive. Classes and functions are
 * found by qualified name; a file is parsed when the first name in it is asked
 * for, a method is type-checked and emitted when its graph is asked for
 * (bsm_function_graph). */
#ifndef BSM_TORCHSCRIPT_SCRIPT_H_
#define BSM_TORCHSCRIPT_SCRIPT_H_

#include "ir/graph.h"

typedef struct bsm_script bsm_script;

/* How a script reads its sources. */
typedef struct bsm_script_hooks {
  void *user;
  /* The text of "code/<path>.py" for the module path "__torch__.a.b"; *out has
   * data NULL when there is none. `*path` names it in messages. */
  bsm_status (*read_source)(void *user, bsm_str module, bsm_str *out,
                            const char **path);
  /* The Python source of a byte offset in that file (debug files); leaves
   * *out alone when unknown. Fails for want of memory alone. May be NULL. */
  bsm_status (*python_source)(void *user, bsm_str module, size_t offset,
                              const char **file, uint32_t *line);
} bsm_script_hooks;

/* `version`: the archive's operator version, for upgraders. `constants`: the
 * values behind CONSTANTS.cN; may be filled in later, before methods are
 * compiled. */
BSM_NODISCARD bsm_status bsm_script_create(bsm_ir_ctx *cx, int64_t version,
                                           const bsm_script_hooks *hooks,
                                           bsm_script **out);
void bsm_script_set_constants(bsm_script *script, const bsm_ivalue *constants,
                              size_t count);

/* The type of a class, NamedTuple, interface or enum by qualified name;
 * BSM_NOT_FOUND when the archive has none. Its attributes, constants and
 * methods (uncompiled) are filled in. An enum's items are the constants of its
 * class, each an ENUM value whose object has two slots: name and value. */
BSM_NODISCARD bsm_status bsm_script_find_type(bsm_script *script, bsm_str name,
                                              const bsm_type **out);
/* A method of the root module as a caller from outside runs it: `forward` with
 * the module's forward hooks around it. (Calls between modules inside the code
 * have their hooks written out.) BSM_NOT_FOUND when there is none. */
BSM_NODISCARD bsm_status bsm_script_find_entry(bsm_script *script,
                                               const bsm_type *type,
                                               const char *name,
                                               bsm_function **out);
/* A free function by qualified name. */
BSM_NODISCARD bsm_status bsm_script_find_function(bsm_script *script,
                                                  bsm_str name,
                                                  bsm_function **out);
/* A type written in Python style: "Dict[str, List[Tensor]]". */
BSM_NODISCARD bsm_status bsm_script_parse_type(bsm_script *script, bsm_str text,
                                               const bsm_type **out);

#endif /* BSM_TORCHSCRIPT_SCRIPT_H_ */
