/* SPDX-License-Identifier: Apache-2.0 */
/* The same as run_engine.c in C++: loads an engine with the runtime library
 * alone, runs it on zeros, and prints what comes out.
 *
 *   c++ -std=c++17 run_engine.cpp -lbessemer-runtime && ./a.out digits.bsm */
#include <cstdio>
#include <vector>

#include "bessemer/bessemer.hpp"

namespace {

/* Zeros for an input, and the memory that they are in. */
struct zeros {
  std::vector<std::byte> bytes;
  bsm_array array;
};

zeros make_zeros(const bessemer::binding &b, const bessemer::engine &engine,
                 std::size_t index) {
  bsm_dims dims;
  bessemer::check(
      bsm_engine_input_range(engine.get(), index, nullptr, &dims, nullptr));
  zeros made{std::vector<std::byte>(bessemer::shape(dims).count() *
                                    bsm_dtype_size(b.dtype)),
             bsm_array()};
  made.array.data = made.bytes.data();
  made.array.dtype = b.dtype;
  made.array.dims = dims;
  return made;
}

void run(const char *path) {
  const bessemer::engine engine = bessemer::engine::load(path);
  bessemer::context context(engine);
  std::vector<zeros> memory;
  std::vector<bessemer::array> inputs;
  for (const bessemer::binding &b : engine.inputs()) {
    memory.push_back(make_zeros(b, engine, memory.size()));
    inputs.emplace_back(memory.back().array);
  }
  const std::vector<bessemer::binding> outputs = engine.outputs();
  std::size_t index = 0;
  for (const bessemer::array &out : context.run(inputs)) {
    std::printf("output %zu: %s %s %s\n", index, outputs[index].name.c_str(),
                bsm_dtype_name(out.dtype()), out.shape().text().c_str());
    index++;
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("usage: run_engine ENGINE\n", stderr);
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
