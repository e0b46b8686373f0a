/* SPDX-License-Identifier: Apache-2.0 */
/* Names of layer kinds and of the enums in their parameters. */
#include "network/network_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(const char *const *names, size_t count, int value) {
  if (value < 0 || (size_t)value >= count || !names[value]) return "?";
  return names[value];
}

const char *bsm_layer_kind_name(bsm_layer_kind kind) {
  switch (kind) {
#define X(name, number, text) \
  case BSM_LAYER_##name:      \
    return text;
    BSM_LAYER_KINDS(X)
#undef X
  }
  return "?";
}

const char *bsm_activation_name(bsm_activation_type type) {
  static const char *const names[] = {
      "none",       "relu",        "sigmoid",      "tanh",
      "leaky_relu", "elu",         "selu",         "softsign",
      "softplus",   "clip",        "hard_sigmoid", "thresholded_relu",
      "gelu_erf",   "gelu_tanh",   "silu",         "hard_swish",
      "mish",       "log_sigmoid", "threshold"};
  return name_of(names, COUNT(names), (int)type);
}

const char *bsm_unary_name(bsm_unary_operation operation) {
  static const char *const names[] = {
      "exp",   "log",   "sqrt",        "recip",  "abs",   "neg",
      "sin",   "cos",   "tan",         "sinh",   "cosh",  "asin",
      "acos",  "atan",  "asinh",       "acosh",  "atanh", "ceil",
      "floor", "erf",   "not",         "sign",   "round", "isinf",
      "isnan", "trunc", "rsqrt",       "log2",   "log10", "log1p",
      "expm1", "erfc",  "bitwise_not", "square", "frac",  "exp2"};
  return name_of(names, COUNT(names), (int)operation);
}

const char *bsm_element_wise_name(bsm_element_wise_operation operation) {
  static const char *const names[] = {
      "sum",           "prod",        "max",        "min",         "sub",
      "div",           "pow",         "floor_div",  "and",         "or",
      "xor",           "equal",       "greater",    "less",        "not_equal",
      "greater_equal", "less_equal",  "trunc_div",  "remainder",   "fmod",
      "atan2",         "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left",
      "shift_right"};
  return name_of(names, COUNT(names), (int)operation);
}

const char *bsm_reduce_name(bsm_reduce_operation operation) {
  static const char *const names[] = {"sum", "prod", "max", "min", "avg",
                                      "any", "all",  "l2",  "l1",  "variance"};
  return name_of(names, COUNT(names), (int)operation);
}

const char *bsm_sample_padding_name(bsm_sample_padding padding) {
  static const char *const names[] = {"zeros", "border", "reflection"};
  return name_of(names, COUNT(names), (int)padding);
}

const char *bsm_resize_name(bsm_resize_mode mode) {
  static const char *const names[] = {"nearest", "linear", "cubic",
                                      "nearest_exact"};
  return name_of(names, COUNT(names), (int)mode);
}

const char *bsm_padding_mode_name(bsm_padding_mode mode) {
  static const char *const names[] = {"constant", "reflect", "replicate",
                                      "circular"};
  return name_of(names, COUNT(names), (int)mode);
}

const char *bsm_scan_name(bsm_scan_operation operation) {
  static const char *const names[] = {"sum", "prod", "max", "min",
                                      "log_sum_exp"};
  return name_of(names, COUNT(names), (int)operation);
}

const char *bsm_scatter_name(bsm_scatter_reduction reduction) {
  static const char *const names[] = {"assign", "add", "mul", "min", "max"};
  return name_of(names, COUNT(names), (int)reduction);
}

const char *bsm_gather_name(bsm_gather_mode mode) {
  static const char *const names[] = {"default", "element", "nd", "select"};
  return name_of(names, COUNT(names), (int)mode);
}

const char *bsm_recurrent_name(bsm_recurrent_operation operation) {
  static const char *const names[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  return name_of(names, COUNT(names), (int)operation);
}
