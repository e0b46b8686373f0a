/* SPDX-License-Identifier: Apache-2.0 */
#include "soak/random_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t random_below(uint64_t *state, uint32_t n) {
  uint64_t x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  *state = x;
  return (uint32_t)(x >> 32) % n;
}

__attribute__((format(printf, 2, 3))) static void put(random_model *m,
                                                      const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n =
      vsnprintf(m->text + m->length, sizeof(m->text) - m->length, format, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof(m->text) - m->length) abort();
  m->length += (size_t)n;
}

static void put_linear(random_model *m, int layer, int64_t from, int64_t to) {
  put(m, "  %%s%d : int[] = prim::Constant[value=[%lld, %lld]]()\n", layer,
      (long long)to, (long long)from);
  put(m,
      "  %%w%d : Tensor = aten::full(%%s%d, %%half, %%none, %%none, %%none, "
      "%%none)\n",
      layer, layer);
  put(m, "  %%y%d : Tensor = aten::linear(%%y%d, %%w%d, %%none)\n", layer,
      layer - 1, layer);
}

/* A layer that keeps the shape. */
static void put_same(random_model *m, int layer, uint32_t which) {
  static const char *const unary[] = {"relu", "tanh", "sigmoid", "abs", "neg"};
  if (which < 5) {
    put(m, "  %%y%d : Tensor = aten::%s(%%y%d)\n", layer, unary[which],
        layer - 1);
  } else if (which == 5) {
    put(m, "  %%y%d : Tensor = aten::softmax(%%y%d, %%one, %%none)\n", layer,
        layer - 1);
  } else {
    put(m, "  %%y%d : Tensor = aten::add(%%y%d, %%y%d, %%one)\n", layer,
        layer - 1, layer - 1);
  }
}

static void put_cat(random_model *m, int layer) {
  put(m, "  %%l%d : Tensor[] = prim::ListConstruct(%%y%d, %%y%d)\n", layer,
      layer - 1, layer - 1);
  put(m, "  %%y%d : Tensor = aten::cat(%%l%d, %%one)\n", layer, layer);
}

/* A number that depends on data: of the input, so that no rounding before it
 * makes another one. */
static void put_count(random_model *m, int layer) {
  put(m,
      "  %%z%d : Tensor = aten::nonzero(%%y0)\n"
      "  %%k%d : int = aten::size(%%z%d, %%zero)\n"
      "  %%n%d : int = aten::remainder(%%k%d, %%four)\n",
      layer, layer, layer, layer, layer);
}

static void put_branch(random_model *m, int layer) {
  put_count(m, layer);
  put(m,
      "  %%c%d : bool = aten::gt(%%n%d, %%one)\n"
      "  %%y%d : Tensor = prim::If(%%c%d)\n"
      "    block0():\n"
      "      %%a%d : Tensor = aten::tanh(%%y%d)\n"
      "      -> (%%a%d)\n"
      "    block1():\n"
      "      %%b%d : Tensor = aten::mul(%%y%d, %%half)\n"
      "      -> (%%b%d)\n",
      layer, layer, layer, layer, layer, layer - 1, layer, layer, layer - 1,
      layer);
}

static void put_loop(random_model *m, int layer) {
  put_count(m, layer);
  put(m,
      "  %%y%d : Tensor = prim::Loop(%%n%d, %%true, %%y%d)\n"
      "    block0(%%i%d : int, %%u%d : Tensor):\n"
      "      %%v%d : Tensor = aten::mul(%%u%d, %%half)\n"
      "      -> (%%true, %%v%d)\n",
      layer, layer, layer - 1, layer, layer, layer, layer, layer);
}

void random_model_make(random_model *m, uint64_t *state) {
  m->length = 0;
  m->width = 1 + random_below(state, 40);
  int64_t width = m->width;
  put(m,
      "graph(%%y0 : Tensor):\n"
      "  %%none : NoneType = prim::Constant()\n"
      "  %%zero : int = prim::Constant[value=0]()\n"
      "  %%one : int = prim::Constant[value=1]()\n"
      "  %%four : int = prim::Constant[value=4]()\n"
      "  %%true : bool = prim::Constant[value=1]()\n"
      "  %%half : float = prim::Constant[value=0.03125]()\n");
  const int layers = 1 + (int)random_below(state, 8);
  for (int layer = 1; layer <= layers; layer++) {
    const uint32_t which = random_below(state, 16);
    if (which < 5) {
      const int64_t to = 1 + random_below(state, 48);
      put_linear(m, layer, width, to);
      width = to;
    } else if (which == 5 && width < 100) {
      put_cat(m, layer);
      width *= 2;
    } else if (which == 6) {
      put_branch(m, layer);
    } else if (which == 7) {
      put_loop(m, layer);
    } else {
      put_same(m, layer, random_below(state, 7));
    }
  }
  put(m, "  return (%%y%d)\n", layers);
}
