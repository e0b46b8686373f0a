/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all commands. */
#include "tools/cli.h"

const bsm_command bsm_commands[] = {
#define X(name, id, help) {name, bsm_cmd_##id, help, &bsm_argp_##id},
    BSM_COMMANDS(X)
#undef X
        {NULL, NULL, NULL, NULL}};
