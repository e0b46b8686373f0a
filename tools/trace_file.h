/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of runs as files that Perfetto and chrome://tracing open: one lane for
 * each thread, and one for the device. */
#ifndef BSM_TOOLS_TRACE_FILE_H_
#define BSM_TOOLS_TRACE_FILE_H_

#include "tools/session.h"

/* Runs the engine `runs` times in a context of its own, and writes what its
 * threads did. The file appears whole or not at all. */
BSM_NODISCARD bsm_status bsm_trace_write(bsm_cli *cli, bsm_session *session,
                                         const bsm_array *inputs, int runs,
                                         const char *path);

#endif /* BSM_TOOLS_TRACE_FILE_H_ */
