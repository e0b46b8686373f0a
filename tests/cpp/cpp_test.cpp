/* SPDX-License-Identifier: Apache-2.0 */
/* bessemer.hpp: cpp_test FOLDER_OF_THE_SOURCES. Compiles, saves, loads and runs
 * a small model, and looks at every way to fail. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bessemer/bessemer.hpp"

namespace {

using bessemer::array;
using bessemer::context;
using bessemer::engine;
using bessemer::shape;

int failures = 0;

void expect(bool good, const char *what) {
  if (good) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  failures++;
}

/* Calls what has to throw E; gives the exception's text. */
template <typename E, typename F>
std::string thrown(F &&call, const char *what) {
  try {
    call();
  } catch (const E &e) {
    return e.what();
  }
  expect(false, what);
  return "";
}

template <typename F>
void refuses(bsm_code code, const char *text, F &&call) {
  try {
    call();
    expect(false, text);
  } catch (const bessemer::error &e) {
    expect(e.code() == code && std::strstr(e.what(), text), e.what());
    expect(std::strcmp(e.name(), bsm_code_name(code)) == 0, e.name());
  }
}

const char model[] =
    "graph(%image : Float(2, 3)):\n"
    "  %y : Tensor = aten::relu(%image)\n"
    "  %n : Tensor = aten::neg(%y)\n"
    "  return (%y, %n)\n";

bessemer::module load() {
  return bessemer::module::load_memory(
      {reinterpret_cast<const std::byte *>(model), sizeof(model) - 1});
}

bsm_compile_options plain() {
  bsm_compile_options options = bessemer::compile_options();
  options.no_timing = true;
  return options;
}

void runs() {
  static const bsm_metadata note = {"licence", "none"};
  bsm_compile_options options = plain();
  options.metadata = &note;
  options.metadata_count = 1;
  const engine made = load().compile({}, options);
  expect(made.inputs().size() == 1 && made.outputs().size() == 2, "bindings");
  expect(made.inputs()[0].shape == shape{2, 3} &&
             made.inputs()[0].dtype == BSM_DTYPE_FLOAT,
         "an input");
  expect(made.metadata("licence") == "none" && !made.metadata("missing") &&
             made.metadata().at("licence") == "none",
         "metadata");
  expect(made.find_input(made.inputs()[0].name) == 0, "find_input");
  expect(made.dump().find("element_wise") != std::string::npos, "dump");
  expect(made.memory(1).scratch > 0 || made.memory(1).workspace > 0, "memory");

  const std::vector<std::byte> bytes = made.bytes();
  const engine loaded = engine::load_memory(bytes);
  context run(loaded);
  const std::vector<float> x = {-2, -1, 0, 1, 2, 3};
  const auto outputs = run.run({array(x, {2, 3})});
  expect(outputs.size() == 2 && outputs[0].shape() == shape{2, 3}, "outputs");
  for (std::size_t i = 0; i < 6; i++) {
    const float want = x[i] > 0 ? x[i] : 0;
    expect(outputs[0].values<float>()[i] == want &&
               outputs[1].values<float>()[i] == -want,
           "the elements");
  }
  std::vector<float> y(6), n(6);
  run.run({array(x, {2, 3})}, {array(y, {2, 3}), array(n, {2, 3})});
  expect(y[5] == 3 && n[4] == -2, "run into the caller's arrays");
  run.seed(7);
  run.synchronize();
  context moved = std::move(run);
  expect(moved.get() && !run.get(), "a moved context");  // NOLINT
}

void ranges() {
  static const char text[] =
      "graph(%x : Tensor):\n"
      "  %y : Tensor = aten::relu(%x)\n"
      "  return (%y)\n";
  bessemer::module source = bessemer::module::load_memory(
      {reinterpret_cast<const std::byte *>(text), sizeof(text) - 1});
  const engine made =
      source.compile({bessemer::input({1, 4}, {2, 4}, {8, 4})}, plain());
  context run(made);
  const shape five{5, 4};
  expect(run.output_shape(0, {&five, 1}) == five, "output_shape");
  refuses(BSM_INVALID_ARGUMENT, "several ranks",
          [] { bessemer::input({1}, {1, 2}, {1}); });
}

void fails(const char *folder) {
  refuses(BSM_IO, "nowhere.bsm", [] { engine::load("nowhere.bsm"); });
  refuses(BSM_IO, "nowhere.ts", [] { bessemer::module::load("nowhere.ts"); });
  const std::string digits = std::string(folder) + "/examples/digits/digits.ts";
  refuses(BSM_INVALID_ARGUMENT, "digits.ts", [&] {
    bessemer::module::load(digits).compile({bessemer::input({1, 2})}, plain());
  });
  std::vector<float> x(6);
  refuses(BSM_INVALID_ARGUMENT, "6 elements for the shape",
          [&] { array(x, {2, 2}); });
  refuses(BSM_INVALID_ARGUMENT, "too many dimensions",
          [] { shape(std::vector<std::int64_t>(99)); });
  refuses(BSM_INVALID_ARGUMENT, "were asked for as",
          [&] { array(x, {2, 3}).values<std::int32_t>(); });
  const engine made = load().compile({}, plain());
  context run(made);
  refuses(BSM_INVALID_ARGUMENT, "shape", [&] { run.run({array(x, {3, 2})}); });
  refuses(BSM_NOT_FOUND, "no output", [&] { made.find_output("nothing"); });
  refuses(BSM_NOT_FOUND, "perhaps \"image\"; there are: image",
          [&] { made.find_input("imge"); });
}

struct stop {
  static const char *what() { return "stop"; }
};

/* Exceptions of the user's functions come out as they are. */
void callbacks() {
  bessemer::module source = load();
  std::size_t told = 0;
  source.compile({}, plain(), [&](std::string_view, std::size_t, std::size_t) {
    told++;
    return true;
  });
  expect(told > 0, "progress");
  refuses(BSM_CANCELLED, "cancelled", [&] {
    source.compile({}, plain(),
                   [](std::string_view, std::size_t, std::size_t) {
                     return false;
                   });
  });
  expect(thrown<stop>(
             [&] {
               source.compile({}, plain(),
                              [](std::string_view, std::size_t, std::size_t)
                                  -> bool { throw stop(); });
             },
             "an exception of progress") == "stop",
         "another one came out");
  const engine made = source.compile({}, plain());
  thrown<stop>(
      [&] {
        made.save([](bessemer::span<const std::byte>) { throw stop(); });
      },
      "an exception of a writer");
}

/* Loops that the caller runs. */
void pools() {
  expect(bessemer::thread_pool(2).size() == 2, "a pool's threads");
  refuses(BSM_INVALID_ARGUMENT, "-1 threads",
          [] { bessemer::thread_pool(-1); });
  bsm_thread_pool_options own = BSM_THREAD_POOL_OPTIONS_INIT;
  own.threads = 3;
  own.run = [](void *, int count, void (*task)(void *, int), void *arg) {
    for (int i = 0; i < count; i++) task(arg, i);
  };
  const bessemer::thread_pool pool(own);
  bsm_context_options options = bessemer::context_options();
  options.pool = pool.get();
  const engine made = load().compile({}, plain());
  context run(made, options);
  std::vector<float> x = {-1, 2, -3, 4, -5, 6};
  const std::vector<array> out = run.run({array(x, {2, 3})});
  expect(out[0].values<float>()[1] == 2, "a run in a pool of the caller's");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  try {
    runs();
    ranges();
    fails(argv[1]);
    callbacks();
    pools();
  } catch (const std::exception &e) {
    std::fprintf(stderr, "FAILED: %s\n", e.what());
    return 1;
  }
  if (failures) return 1;
  std::puts("cpp_test: ok");
  return 0;
}
