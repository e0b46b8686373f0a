/* SPDX-License-Identifier: Apache-2.0 */
/* Why steps of the sweep may stay far below their bound: by the kind, and by
 * what the text of a case, "dtype name | tactic", holds. Of each kind the first
 * row that fits is the reason, down to its least share: less than that it does
 * not explain. A case that no row fits, or that is below its least share, has
 * no reason, and is to be mended, or gets one here. */
#ifndef BENCH_SWEEP_REASONS_H_
#define BENCH_SWEEP_REASONS_H_

#include "engine/plan.h"

typedef struct sweep_reason {
  bsm_step_kind kind;
  double least;      /* percent of the bound */
  const char *holds; /* one of the texts that `|` separates; "": all */
  const char *reason;
} sweep_reason;

#define NARROW "float64|float16|bfloat16|int|bool"
#define APART " spread|, spread"
#define APART_REASON \
  "elements lie apart: each is loaded or stored by itself, half of the cache"
#define NARROW_REASON \
  "computed in float, double or int64, into which blocks are converted"

static const sweep_reason sweep_reasons[] = {
    {BSM_STEP_CONVOLUTION, 2, "float64|float16|bfloat16",
     "without AMX products of 16 bits are widened, those of double have half "
     "the lanes"},
    {BSM_STEP_CONVOLUTION, 2, "depthwise",
     "several outputs of each map are products of one column"},
    {BSM_STEP_CONVOLUTION, 2, " 1 to | 2 to | 3 to | 4 to ",
     "few input maps: copying windows takes longer than multiplying"},
    {BSM_STEP_CONVOLUTION, 2, " to 1 in| to 2 in| to 3 in| to 4 in",
     "few output maps fill a panel of 16 columns, or its half, with zeros"},
    {BSM_STEP_CONVOLUTION, 2, "grouped|lanes",
     "groups of few maps fill their panels of 16 columns with zeros"},
    {BSM_STEP_CONVOLUTION, 2, " in 1,",
     "few multiply-adds: under a microsecond, most of it calls"},
    {BSM_STEP_CONVOLUTION, 2, "",
     "groups that are products of their own, of few columns"},
    {BSM_STEP_CONVOLUTION_CHAIN, 5, "",
     "the first layer is made again at the edges of each band"},
    {BSM_STEP_DECONVOLUTION, 2, "float64|float16|bfloat16", NARROW_REASON},
    {BSM_STEP_DECONVOLUTION, 2, " in 1,",
     "a phase has few taps and maps, and the outputs of all are interleaved"},
    {BSM_STEP_DECONVOLUTION, 2, "",
     "each group is a product of its few maps, one for each phase"},
    {BSM_STEP_POOLING, 1, "planes|strided",
     "adaptive windows differ in size; elements that lie apart are read one by "
     "one"},
    {BSM_STEP_POOLING, 1, "lines",
     "a window is joined over its height and its width, which move each "
     "element; the bound counts one"},
    {BSM_STEP_POOLING, 1, "",
     "taps are compared or added, an instruction each"},
    {BSM_STEP_MATRIX_MULTIPLY, 1, "",
     "few rows or columns, whose product waits for its operands"},
    {BSM_STEP_ATTENTION, 10, "",
     "few keys or a narrow head, around an exp each"},
    {BSM_STEP_RECURRENT, 3, "",
     "each step waits for the one before, and for functions of its gates"},
    {BSM_STEP_ELEMENT_WISE, 1, APART, APART_REASON},
    {BSM_STEP_ELEMENT_WISE, 1, NARROW, NARROW_REASON},
    {BSM_STEP_ELEMENT_WISE, 1, "turned",
     "operands of another order are transposed in blocks"},
    {BSM_STEP_ELEMENT_WISE, 1, "",
     "functions count as one operation, and those without vectors are called"},
    {BSM_STEP_SOFTMAX, 1, APART, APART_REASON},
    {BSM_STEP_SOFTMAX, 1, "",
     "an exp takes ten operations, and the data passes three times"},
    {BSM_STEP_NORMALIZATION, 1, APART, APART_REASON},
    {BSM_STEP_NORMALIZATION, 1, "",
     "the data passes three times, in short rows by blocks"},
    {BSM_STEP_REDUCE, 1, APART, APART_REASON},
    {BSM_STEP_REDUCE, 1, "",
     "sums of few or short rows are made in double, in blocks"},
    {BSM_STEP_TOP_K, 0.5, "", "comparing and ordering is not counted"},
    {BSM_STEP_GATHER, 1, "", "each element or short slice is looked up"},
    {BSM_STEP_SCATTER, 1, "",
     "each element or short slice is looked up, twice, and updates have an "
     "order"},
    {BSM_STEP_COPY, 2, APART, APART_REASON},
    {BSM_STEP_COPY, 2, NARROW, "elements are converted"},
    {BSM_STEP_COPY, 2, "", "rows of two to seven elements, or a transposition"},
    {BSM_STEP_FILL, 5, "", "elements with gaps are written one by one"},
    {BSM_STEP_PAD, 1, APART, APART_REASON},
    {BSM_STEP_PAD, 1, "", "short rows, each with ends of its own"},
    {BSM_STEP_RESIZE, 1, APART, APART_REASON},
    {BSM_STEP_RESIZE, 1, "lines",
     "along a line each tap of an output is looked up"},
    {BSM_STEP_RESIZE, 1, "",
     "elements that lie apart, and dtypes but float, go one by one"},
    {BSM_STEP_SAMPLE, 1, "", "the taps of each place are looked up"},
};

#endif /* BENCH_SWEEP_REASONS_H_ */
