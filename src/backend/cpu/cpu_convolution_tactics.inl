/* SPDX-License-Identifier: Apache-2.0 */
/* Every tactic of float convolutions, once. */
TACTIC(depthwise)
TACTIC(gemm_1x1)
TACTIC(rows)
TACTIC(indirect)
TACTIC(im2col)
TACTIC(winograd_2)
TACTIC(winograd_4)
TACTIC(winograd_6)
TACTIC(regions)
TACTIC(grouped)
TACTIC(planar)
TACTIC(lanes)
