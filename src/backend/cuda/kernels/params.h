/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of kernels: each kernel has one of these structs. Read by both
 * sides: C, which fills them in, and CUDA C++ as NVRTC compiles it. Addresses
 * are put in when a step is enqueued. */
#ifndef BSM_BACKEND_CUDA_KERNELS_PARAMS_H_
#define BSM_BACKEND_CUDA_KERNELS_PARAMS_H_

#include "fault.h"

/* A part of the name of every kernel: raise it when a struct changes, so that
 * the code of an engine is never launched with parameters of another form. */
#define BSM_CUDA_PARAMS_VERSION "5"

#define BSM_CUDA_MAX_LOOPS 12
#define BSM_CUDA_MAX_OPERANDS 17

/* What an option of a kernel says when it is compiled (K_LOOPS), a parameter
 * says where there is no such option: kernels that are compiled for any step of
 * their kind (cuda_launch.h). Those take elements of any dtype, too. Their
 * addresses are typed: bsm_dtype is in bits that no address has. float8_e4m3fn,
 * whose number they have no room for, has that of a dtype without kernels. */
#define BSM_CUDA_DTYPE_SHIFT 60
#define BSM_CUDA_E4M3 12

/* A loop over the elements of some tensors: the output first. Offsets are in
 * elements. */
typedef struct bsm_cuda_elements {
  bsm_cuda_u64 address[BSM_CUDA_MAX_OPERANDS];
  bsm_cuda_i64 count, loops;
  bsm_cuda_i64 sizes[BSM_CUDA_MAX_LOOPS]; /* of the loops, outermost first */
  bsm_cuda_i64 strides[BSM_CUDA_MAX_OPERANDS][BSM_CUDA_MAX_LOOPS];
} bsm_cuda_elements;

/* An instruction of an element-wise program, as interpreter.cu runs it: what
 * values are held in, by bsm_cuda_held, while the element type of the result
 * says how it is rounded. */
typedef enum bsm_cuda_held {
  BSM_CUDA_HELD_FLOAT,
  BSM_CUDA_HELD_DOUBLE,
  BSM_CUDA_HELD_INTEGER,
  BSM_CUDA_HELD_TRUTH
} bsm_cuda_held;

typedef enum bsm_cuda_operation {
  BSM_CUDA_UNARY,
  BSM_CUDA_UNARY_TEST,
  BSM_CUDA_BINARY,
  BSM_CUDA_BINARY_TEST,
  BSM_CUDA_ACTIVATION,
  BSM_CUDA_CONSTANT,
  BSM_CUDA_SELECT,
  BSM_CUDA_CAST
} bsm_cuda_operation;

typedef struct bsm_cuda_instruction {
  unsigned char operation, code;
  unsigned char dst, a, b, c; /* registers */
  unsigned char dtype;        /* of dst, as addresses have it */
  unsigned char work;         /* what operands are held in */
  union {
    double alpha; /* and constants that are no integers */
    bsm_cuda_i64 integer;
  };
  double beta;
} bsm_cuda_instruction;

#define BSM_CUDA_MAX_INSTRUCTIONS 64
#define BSM_CUDA_MAX_REGISTERS 32
typedef struct bsm_cuda_program {
  bsm_cuda_elements e;
  bsm_cuda_i64 inputs, count, result; /* registers 0, 1, ... are the inputs */
  bsm_cuda_instruction instructions[BSM_CUDA_MAX_INSTRUCTIONS];
} bsm_cuda_program;

/* Loops over some elements, and inside of each over others that become one
 * value, or are seen together: reductions, softmax, normalisation. Operands:
 * the output first. */
#define BSM_CUDA_NESTED_OPERANDS 5
typedef struct bsm_cuda_nested {
  bsm_cuda_u64 address[BSM_CUDA_NESTED_OPERANDS];
  bsm_cuda_i64 outer_count, inner_count;
  bsm_cuda_i64 outer_loops, inner_loops, group;
  bsm_cuda_i64 operation; /* what of its kind the step does */
  bsm_cuda_i64 outer_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 inner_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 outer_strides[BSM_CUDA_NESTED_OPERANDS][BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 inner_strides[BSM_CUDA_NESTED_OPERANDS][BSM_CUDA_MAX_LOOPS];
  double number;     /* epsilon, correction */
  bsm_cuda_u64 grid; /* of an operand of bytes: kernels/grid.cuh */
} bsm_cuda_nested;

/* Padding and cropping: sizes of the output. */
typedef struct bsm_cuda_pad {
  bsm_cuda_u64 y, x;
  bsm_cuda_i64 count, loops, mode;
  bsm_cuda_i64 sizes[BSM_CUDA_MAX_LOOPS], x_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 y_strides[BSM_CUDA_MAX_LOOPS], x_strides[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 start[BSM_CUDA_MAX_LOOPS];
  double value;
  bsm_cuda_i64 integer;
} bsm_cuda_pad;

/* An image: [n, c, size...] with three spatial dimensions. */
typedef struct bsm_cuda_image {
  bsm_cuda_u64 address;
  bsm_cuda_i64 n, c, size[3];
  bsm_cuda_i64 n_stride, c_stride, stride[3];
} bsm_cuda_image;

typedef struct bsm_cuda_window {
  bsm_cuda_i64 kernel[3], stride[3], dilation[3], pre[3], post[3];
} bsm_cuda_window;

typedef struct bsm_cuda_pooling {
  bsm_cuda_image x, y;
  bsm_cuda_window window;
  bsm_cuda_i64 divisor; /* 0: of the window */
  bsm_cuda_i64 average, adaptive, inside;
} bsm_cuda_pooling;

/* out = act(scale * A B + bias + residual), batched over `batch` loops. */
typedef struct bsm_cuda_product {
  bsm_cuda_u64 a, b, y, bias, residual;
  bsm_cuda_i64 m, n, k, loops, activation;
  bsm_cuda_i64 a_row, a_column, b_row, b_column, y_row, residual_row,
      residual_column;
  bsm_cuda_i64 batch_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 a_batch[BSM_CUDA_MAX_LOOPS], b_batch[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 y_batch[BSM_CUDA_MAX_LOOPS], residual_batch[BSM_CUDA_MAX_LOOPS];
  double scale, alpha, beta;
} bsm_cuda_product;

/* A product by a matrix of few bits: b are its panels. */
typedef struct bsm_cuda_few_bits {
  bsm_cuda_product product;
  bsm_cuda_i64 panel, codes; /* bytes from panel to panel; of codes of one */
  bsm_cuda_i32 bits, group;
} bsm_cuda_few_bits;

/* A convolution, or with TRANSPOSED a deconvolution. */
typedef struct bsm_cuda_convolution {
  bsm_cuda_image x, y, residual; /* residual.address 0: none */
  bsm_cuda_u64 kernel, bias;     /* bias 0: none */
  bsm_cuda_window window;
  bsm_cuda_i64 groups, in, out; /* maps of one group */
  bsm_cuda_i64 transposed, activation;
  double alpha, beta;
} bsm_cuda_convolution;

/* How rows of y follow each other: K_LINES. */
#define BSM_CUDA_EVEN_ROWS 0
#define BSM_CUDA_LINES_OF_ROWS 1
#define BSM_CUDA_LOOPS_OF_ROWS 2
#define BSM_CUDA_ROW_LOOPS 5

/* A product on tensor cores: y = act(scale A B + bias + residual), batched over
 * `loops`, or over the groups of a convolution. Offsets within a batch fit in
 * 32 bits where they are of that type. */
typedef struct bsm_cuda_mma {
  bsm_cuda_u64 a, b, y, bias, residual;
  bsm_cuda_u64 partial;  /* [batches][tiles][splits][tile], where k is split */
  bsm_cuda_u64 counters; /* one of each tile: 0 before and after */
  bsm_cuda_i32 m, n, k, tiles_n;
  bsm_cuda_i32 splits, split_k; /* of k, and how many k a split has */
  float scale, alpha, beta;
  bsm_cuda_i32 loops;
  bsm_cuda_i64 a_row, a_column, b_row, b_column, y_row, residual_row,
      residual_column;
  bsm_cuda_i64 bias_batch;
  bsm_cuda_i32 batch_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 a_batch[BSM_CUDA_MAX_LOOPS], b_batch[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 y_batch[BSM_CUDA_MAX_LOOPS], residual_batch[BSM_CUDA_MAX_LOOPS];
  /* Of a convolution. Maps are a_column apart. */
  bsm_cuda_i32 maps; /* of the input, in one group */
  bsm_cuda_i32 in[3], in_stride[3], out[3];
  bsm_cuda_i32 kernel[3], stride[3], dilation[3], pre[3];
  bsm_cuda_i64 image_stride;
  /* Where rows of y come in lines of out[2]: from line to line. */
  bsm_cuda_i64 y_line;
  /* Where they come in loops: the rows, and how far apart they are, in each,
   * the innermost first; the last one has the rest. */
  bsm_cuda_i32 row_sizes[BSM_CUDA_ROW_LOOPS - 1];
  bsm_cuda_i64 row_strides[BSM_CUDA_ROW_LOOPS];
} bsm_cuda_mma;

/* What squeezes and excites images whose maps lie together. The addresses of
 * biases, and of what the units are written to, may be 0. Strides are in
 * elements. */
typedef struct bsm_cuda_squeeze_excite {
  bsm_cuda_u64 x, y, mean, hidden, gates;
  bsm_cuda_u64 to_units, unit_bias, to_gates, gate_bias;
  bsm_cuda_i32 pixels, maps, units;
  bsm_cuda_i32 slice; /* maps of a block, a multiple of 8 */
  bsm_cuda_i64 x_image, x_pixel, y_image, y_pixel;
  bsm_cuda_i64 mean_image, hidden_image, gates_image;
  float unit_alpha, unit_beta, gate_alpha, gate_beta;
} bsm_cuda_squeeze_excite;

/* Group and instance norm of images whose maps lie together. What chunks of
 * pixels know of their groups is in `parts`; `kept` is what an activation is
 * taken of. Strides are in elements. */
typedef struct bsm_cuda_group_norm {
  bsm_cuda_u64 x, y, scale, bias, parts, kept;
  bsm_cuda_i64 x_image, x_pixel, y_image, y_pixel, kept_image, kept_pixel;
  bsm_cuda_i32 pixels, chunk; /* of an image, and of a block */
  float epsilon, alpha, beta;
} bsm_cuda_group_norm;

/* How copies of tiles find a tensor, as the driver writes it (cuda_map.h). */
#ifdef __cplusplus
#define BSM_CUDA_ALIGNED(n) alignas(n)
#else
#define BSM_CUDA_ALIGNED(n) _Alignas(n)
#endif
typedef struct bsm_cuda_map {
  BSM_CUDA_ALIGNED(64) bsm_cuda_u64 words[16];
} bsm_cuda_map;

/* A product whose operands come as tiles of tensors. Blocks share the k of the
 * first tiles: each takes the same part of all their steps; the others they
 * take whole, in turns. */
#define BSM_CUDA_TILE_LOOPS 3

/* By which a kernel divides numbers of 31 bits: the upper half of a product
 * with `magic`, shifted; magic 0: by 1. */
typedef struct bsm_cuda_divisor {
  bsm_cuda_u32 magic, shift;
} bsm_cuda_divisor;

typedef struct bsm_cuda_tiled {
  bsm_cuda_mma product; /* partial: two tiles of each block */
  bsm_cuda_map a, b, y; /* y: where it is stored in tiles */
  bsm_cuda_i32 tiles_m, tiles, shared_tiles; /* `tiles` of all batches */
  bsm_cuda_i32 steps;                        /* tiles of k */
  bsm_cuda_i32 raster; /* rows of tiles that are taken together */
  bsm_cuda_i32 chunks; /* of a convolution: tiles of k of one tap */
  /* Whether a loop over batches moves in the tensors. */
  bsm_cuda_i32 a_moves[BSM_CUDA_TILE_LOOPS], b_moves[BSM_CUDA_TILE_LOOPS];
  /* Tiles of a batch, of as many rows as are taken together, and those rows. */
  bsm_cuda_divisor of_batch, of_band, of_rows, of_last_rows;
  bsm_cuda_divisor of_out[3], of_loop[BSM_CUDA_TILE_LOOPS];
} bsm_cuda_tiled;

typedef struct bsm_cuda_gather {
  bsm_cuda_elements e; /* output, data, indices */
  bsm_cuda_fault_place fault;
  bsm_cuda_i64 tuple; /* numbers of an index, and how far apart they are */
  bsm_cuda_i64 tuple_stride;
  bsm_cuda_i64 wraps; /* negative indices count from the end */
  bsm_cuda_i64 sizes[BSM_CUDA_MAX_LOOPS], strides[BSM_CUDA_MAX_LOOPS];
} bsm_cuda_gather;

/* Rows along an axis: the output's values, the input, the output's indices.
 * Rows that do not fit in shared memory are sorted in `stages` rounds,
 * `at_once` of them in the same ones. */
#define BSM_CUDA_TOP_K_TILE 2048
typedef struct bsm_cuda_top_k {
  bsm_cuda_nested rows; /* operands 0, 1, 2; the axis is the inner loop */
  bsm_cuda_i64 k, room; /* room: a power of two, n at least */
  bsm_cuda_i64 largest;
  bsm_cuda_u64
      scratch; /* pairs [at_once][room]; 0: they are in shared memory */
  bsm_cuda_i64 at_once, stages, round;
} bsm_cuda_top_k;

/* Rows along an axis: the output's values, the input, the output's indices. A
 * row is `chunks` pieces of `chunk` elements. */
typedef enum bsm_cuda_scan_phase {
  BSM_CUDA_SCAN_ROWS,   /* elements of whole rows */
  BSM_CUDA_SCAN_TOTALS, /* totals of chunks */
  BSM_CUDA_SCAN_PREFIX, /* totals of all chunks before each */
  BSM_CUDA_SCAN_CHUNKS  /* elements of chunks */
} bsm_cuda_scan_phase;
typedef struct bsm_cuda_scan {
  bsm_cuda_nested rows; /* operands 0, 1, 2; the axis is the inner loop */
  bsm_cuda_i64 chunk, chunks, phase;
  bsm_cuda_u64 totals; /* [rows][chunks] numbers with their index */
} bsm_cuda_scan;

/* Places of elements that are not zero: chunks of elements are counted, the
 * counts summed, the places written. */
typedef enum bsm_cuda_non_zero_phase {
  BSM_CUDA_NON_ZERO_COUNT,
  BSM_CUDA_NON_ZERO_SUM,
  BSM_CUDA_NON_ZERO_WRITE
} bsm_cuda_non_zero_phase;
typedef struct bsm_cuda_non_zero {
  bsm_cuda_u64 y, x;
  bsm_cuda_u64 counts; /* i64: those before each chunk, and of all */
  bsm_cuda_i64 n, chunk, chunks, phase;
} bsm_cuda_non_zero;

/* Non-maximum suppression: in round r the boxes r * `rows` and the next. */
typedef enum bsm_cuda_nms_phase {
  BSM_CUDA_NMS_COMPARE, /* each box of the round with all behind it */
  BSM_CUDA_NMS_KEEP     /* one after the other: is it kept */
} bsm_cuda_nms_phase;
typedef struct bsm_cuda_nms {
  bsm_cuda_u64 y, x;
  bsm_cuda_u64 over; /* u64 [rows][words]: bit j: box j overlaps too much */
  bsm_cuda_u64 gone; /* u64 [words]: bit j: box j is not kept */
  bsm_cuda_i64 n, words, rows, phase, round;
  double threshold;
} bsm_cuda_nms;

/* Pooling of regions: a thread for each bin. */
typedef enum bsm_cuda_places_dtype { /* that places are rounded to */
                                     BSM_CUDA_PLACES_FLOAT,
                                     BSM_CUDA_PLACES_DOUBLE,
                                     BSM_CUDA_PLACES_HALF,
                                     BSM_CUDA_PLACES_BFLOAT16
} bsm_cuda_places_dtype;
typedef struct bsm_cuda_regions {
  bsm_cuda_u64 y, x, regions, places; /* places: 0, or i32 */
  bsm_cuda_fault_place fault;
  bsm_cuda_i64 count; /* bins of all regions */
  bsm_cuda_i64 channels, rows, columns, images, height, width;
  bsm_cuda_i64 strides[4]; /* of the image */
  bsm_cuda_i64 samples, whole, grouped, aligned, dtype;
  bsm_cuda_i64 by_channels; /* neighbours are channels, not columns */
  double scale;
} bsm_cuda_regions;

typedef struct bsm_cuda_resize {
  bsm_cuda_elements e; /* over all dims but the resized ones */
  bsm_cuda_i64 in[3], out[3], x_stride[3], y_stride[3];
  double scale[3]; /* input coordinates for each of the output */
  bsm_cuda_i64 mode, corners, spatial;
} bsm_cuda_resize;

/* Lines of the output that updates go to in order: `e` goes over the lines, of
 * operands output, updates, indices; `tuples` over the updates of each. */
typedef struct bsm_cuda_scatter {
  bsm_cuda_elements e;
  bsm_cuda_fault_place fault;
  bsm_cuda_i64 tuple_count, tuples, reduction, keeps, wraps;
  bsm_cuda_i64 tuple_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 index_strides[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 update_strides[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 depth, depth_stride;
  bsm_cuda_i64 axis; /* the first dimension that indices name */
  bsm_cuda_i64 sizes[BSM_CUDA_MAX_LOOPS], strides[BSM_CUDA_MAX_LOOPS];
  double fill; /* what any update replaces */
  bsm_cuda_i64 integer_fill;
} bsm_cuda_scatter;

/* Operands: output, q, k, v, two biases, mask; each by heads, rows, columns. */
#define BSM_CUDA_ATTENTION_OPERANDS 7
typedef struct bsm_cuda_attention {
  bsm_cuda_u64 address[BSM_CUDA_ATTENTION_OPERANDS];
  bsm_cuda_i64 heads, queries, keys, depth, width, diagonal;
  bsm_cuda_i64 loops, biases, mask, causal, clears;
  bsm_cuda_i64 head_sizes[BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 head_strides[BSM_CUDA_ATTENTION_OPERANDS][BSM_CUDA_MAX_LOOPS];
  bsm_cuda_i64 row[BSM_CUDA_ATTENTION_OPERANDS];
  bsm_cuda_i64 column[BSM_CUDA_ATTENTION_OPERANDS];
  double scale, fill;
} bsm_cuda_attention;

/* Attention whose operands come as tiles of tensors: the maps of Q, K and V,
 * and whether a loop over heads moves in them. */
typedef struct bsm_cuda_tiled_attention {
  bsm_cuda_attention attention;
  bsm_cuda_map q, k, v;
  bsm_cuda_i32 moves[3][BSM_CUDA_TILE_LOOPS];
} bsm_cuda_tiled_attention;

/* One step in time of a level of a recurrent network: round r is step r, or
 * counted from the end in the second direction. States are what elements are
 * held in, [2 (rounds in turns)][D][B][P], cells and what is projected
 * [D][B][H], products of the inputs [D][chunk][B][G H]. */
typedef struct bsm_cuda_recurrent {
  bsm_cuda_u64 products, states, cells, unprojected;
  bsm_cuda_u64 weights, lengths, y; /* lengths 0: all have p.length steps */
  bsm_cuda_i64 round;
  bsm_cuda_i64 cell, length, chunk, batch, hidden, state;
  /* Elements of the weights: those of a direction, and where in them are the
   * recurrent matrix, the projection, and the recurrent bias. */
  bsm_cuda_i64 direction, recurrent, projection, bias;
  bsm_cuda_i64 y_step, y_row;
} bsm_cuda_recurrent;

/* States of a recurrent network between tensors and dense arrays: hidden states
 * and cells, both [D][B][size]. */
typedef struct bsm_cuda_states {
  bsm_cuda_u64 tensor[2], array[2];
  bsm_cuda_i64 count[2], batch, size[2], out;
  bsm_cuda_i64 strides[2][3];
} bsm_cuda_states;

/* ---- products of bytes ---- */

/* What sums of bytes become (bsm_step_int8_convolution). Where bytes are e4m3
 * (K_FP8), sums are floats, and there are neither offsets nor zero points. */
typedef struct bsm_cuda_int8_end {
  bsm_cuda_u64 columns; /* float: scales of all maps, then their biases */
  bsm_cuda_u64 offsets; /* i32, one of each map */
  bsm_cuda_i32 maps;
  bsm_cuda_i32 x_zero, residual_zero, y_zero, least, greatest;
  float residual_scale, y_inverse, alpha, beta;
  bsm_cuda_i32 activation;
  bsm_cuda_i32 residual, y; /* bsm_cuda_int8_numbers */
  bsm_cuda_i32 reserved;
} bsm_cuda_int8_end;

/* What is added to sums of bytes, and what becomes of them. */
typedef enum bsm_cuda_int8_numbers {
  BSM_CUDA_INT8_NONE,
  BSM_CUDA_INT8_BYTES,
  BSM_CUDA_INT8_FLOATS,
  BSM_CUDA_INT8_HALVES,
  BSM_CUDA_INT8_BFLOATS
} bsm_cuda_int8_numbers;

/* In tiles. Rows of the kernel are b_column apart, and padded with zeros to a
 * multiple of 16 bytes. */
typedef struct bsm_cuda_int8_gemm {
  bsm_cuda_mma product;
  bsm_cuda_int8_end end;
} bsm_cuda_int8_gemm;

/* By tiles that the GPU copies, two bytes of k being one of its elements. */
typedef struct bsm_cuda_int8_tiled {
  bsm_cuda_tiled tiled;
  bsm_cuda_int8_end end;
} bsm_cuda_int8_tiled;

/* In any layout. The kernel's maps, its k of a line, and its lines, are so many
 * bytes apart. */
typedef struct bsm_cuda_int8_convolution {
  bsm_cuda_convolution convolution;
  bsm_cuda_int8_end end;
  bsm_cuda_i64 kernel_map, kernel_k;
  bsm_cuda_i64 line, next_line; /* line: k of one */
} bsm_cuda_int8_convolution;

#endif /* BSM_BACKEND_CUDA_KERNELS_PARAMS_H_ */
