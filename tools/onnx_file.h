/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX files: a graph as the protobuf message ModelProto. */
#ifndef BSM_TOOLS_ONNX_FILE_H_
#define BSM_TOOLS_ONNX_FILE_H_

#include "base/arena.h"
#include "bessemer/onnx.h"

/* The file appears whole or not at all; "-": the standard output.
 * BSM_LIMIT: it would be larger than the 2 GB that protobuf allows.
 * BSM_UNSUPPORTED: this build has no nanopb. */
BSM_NODISCARD bsm_status bsm_onnx_write(bsm_arena *arena, const char *path,
                                        const bsm_onnx_graph *graph);

#endif /* BSM_TOOLS_ONNX_FILE_H_ */
