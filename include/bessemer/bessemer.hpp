/* SPDX-License-Identifier: Apache-2.0 */
/* The C API for C++17: objects that own what they stand for, failures as
 * exceptions, arrays with their types.
 *
 *   bessemer::engine engine = bessemer::engine::load("model.bsm");
 *   bessemer::context context(engine);
 *   std::vector<float> x(1 * 3 * 224 * 224);
 *   auto outputs = context.run({bessemer::array(x, {1, 3, 224, 224})});
 *   for (float score : outputs[0].values<float>()) ...
 *
 * Header only, over the functions of the C headers: link libbessemer-runtime,
 * or libbessemer for `module` and `compile`. Options are the C API's structs,
 * with default values: bessemer::compile_options(). get() of each object gives
 * the C API's pointer, for what is not here. What the headers say of threads
 * and of lifetimes holds: a context is used by one thread at a time. */
#ifndef BESSEMER_BESSEMER_HPP_
#define BESSEMER_BESSEMER_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bessemer/calibration.h"
#include "bessemer/compiler.h"
#include "bessemer/engine.h"

namespace bessemer {

/* ---- failures ---- */

/* A failed call: what() is the message with its notes, one on a line. */
class error : public std::runtime_error {
 public:
  error(bsm_code code, const char *message)
      : std::runtime_error(message), code_(code) {}
  bsm_code code() const noexcept { return code_; }
  const char *name() const noexcept { return bsm_code_name(code_); }

 private:
  bsm_code code_;
};

/* Throws what a function of the C API returns, unless it is success. */
inline void check(bsm_status status) {
  if (!status) return;
  struct owner {
    bsm_status status;
    ~owner() { bsm_status_free(status); }
  } own{status};
  throw error(bsm_status_code(status), bsm_status_message(status));
}

namespace detail {

template <typename T, void (*Free)(T *)>
struct deleter {
  void operator()(T *pointer) const noexcept { Free(pointer); }
};
template <typename T, void (*Free)(T *)>
using handle = std::unique_ptr<T, deleter<T, Free>>;

inline std::string take_text(char *text) {
  struct owner {
    char *text;
    ~owner() { bsm_string_free(text); }
  } own{text};
  return text ? std::string(text) : std::string();
}

/* Runs a function of the user's where no exception may get out. */
class guard {
 public:
  template <typename F>
  bool operator()(F &&call) noexcept {
    try {
      std::forward<F>(call)();
      return true;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }
  /* The user's exception before the library's failure, which follows it. */
  void check(bsm_status status) {
    if (!thrown_) return bessemer::check(status);
    bsm_status_free(status);
    std::rethrow_exception(thrown_);
  }

 private:
  std::exception_ptr thrown_;
};

}  // namespace detail

/* ---- elements ---- */

/* Some elements in a row, which belong to another: std::span of C++20. */
template <typename T>
class span {
 public:
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept
      : data_(data), size_(size) {}
  template <typename C, typename = std::enable_if_t<std::is_convertible_v<
                            decltype(std::declval<C &>().data()), T *>>>
  constexpr span(C &container) noexcept
      : data_(container.data()), size_(container.size()) {}
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};

/* 16 bits that are a number of half or bfloat16. */
struct half {
  std::uint16_t bits;
};
struct bfloat16 {
  std::uint16_t bits;
};

/* The dtype of a type of C++. */
template <typename T>
constexpr bsm_dtype dtype_of() noexcept {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) {
    return BSM_DTYPE_FLOAT;
  } else if constexpr (std::is_same_v<U, double>) {
    return BSM_DTYPE_DOUBLE;
  } else if constexpr (std::is_same_v<U, bool>) {
    return BSM_DTYPE_BOOL;
  } else if constexpr (std::is_same_v<U, half>) {
    return BSM_DTYPE_HALF;
  } else if constexpr (std::is_same_v<U, bfloat16>) {
    return BSM_DTYPE_BFLOAT16;
  } else {
    static_assert(std::is_integral_v<U> &&
                      (std::is_signed_v<U> || sizeof(U) == 1),
                  "no tensor has elements of this type");
    return sizeof(U) == 8   ? BSM_DTYPE_INT64
           : sizeof(U) == 4 ? BSM_DTYPE_INT32
           : sizeof(U) == 2 ? BSM_DTYPE_INT16
           : std::is_signed_v<U> ? BSM_DTYPE_INT8
                                 : BSM_DTYPE_UINT8;
  }
}

/* The sizes of a tensor's dimensions. */
class shape {
 public:
  shape() = default;
  shape(const bsm_dims &dims) : dims_(dims) {}
  shape(std::initializer_list<std::int64_t> sizes) {
    set(sizes.begin(), sizes.size());
  }
  shape(const std::vector<std::int64_t> &sizes) {
    set(sizes.data(), sizes.size());
  }
  int rank() const noexcept { return dims_.rank; }
  std::int64_t operator[](int i) const noexcept { return dims_.d[i]; }
  const std::int64_t *begin() const noexcept { return dims_.d; }
  const std::int64_t *end() const noexcept {
    return dims_.d + (dims_.rank > 0 ? dims_.rank : 0);
  }
  /* How many elements. */
  std::size_t count() const noexcept {
    std::size_t n = 1;
    for (std::int64_t size : *this) n *= static_cast<std::size_t>(size);
    return n;
  }
  std::string text() const { return bsm_dims_str(dims_); }
  const bsm_dims &get() const noexcept { return dims_; }
  friend bool operator==(const shape &a, const shape &b) noexcept {
    if (a.rank() != b.rank()) return false;
    for (int i = 0; i < a.rank(); i++) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const shape &a, const shape &b) noexcept {
    return !(a == b);
  }

 private:
  void set(const std::int64_t *sizes, std::size_t count) {
    if (count > BSM_MAX_RANK) {
      throw error(BSM_INVALID_ARGUMENT, "a shape of too many dimensions");
    }
    dims_.rank = static_cast<std::int32_t>(count);
    for (std::size_t i = 0; i < count; i++) dims_.d[i] = sizes[i];
  }

  bsm_dims dims_ = bsm_dims();
};

/* Elements of the caller's, or of a run, with dtype and shape. */
class array {
 public:
  explicit array(const bsm_array &made) : array_(made) {}
  /* Elements that are in a container, as many as the shape has. */
  template <typename C, typename T = std::remove_pointer_t<
                            decltype(std::declval<C &>().data())>>
  array(C &elements, const shape &sizes)
      : array(elements.data(), elements.size(), sizes) {
    static_assert(!std::is_same_v<std::decay_t<C>, std::vector<bool>>,
                  "a vector of bool has no array of elements");
  }
  template <typename T>
  array(T *elements, std::size_t count, const shape &sizes) {
    if (count != sizes.count()) {
      throw error(BSM_INVALID_ARGUMENT,
                  (std::to_string(count) + " elements for the shape " +
                   sizes.text())
                      .c_str());
    }
    array_.data = const_cast<std::remove_const_t<T> *>(elements);
    array_.dtype = dtype_of<T>();
    array_.dims = sizes.get();
  }

  bsm_dtype dtype() const noexcept { return array_.dtype; }
  bessemer::shape shape() const { return array_.dims; }
  /* The elements; they have to be of that type, and contiguous. */
  template <typename T>
  span<T> values() const {
    if (dtype_of<T>() != array_.dtype) {
      throw error(BSM_INVALID_ARGUMENT,
                  (std::string("elements of ") + bsm_dtype_name(array_.dtype) +
                   " were asked for as " + bsm_dtype_name(dtype_of<T>()))
                      .c_str());
    }
    if (array_.strides || array_.space != BSM_SPACE_HOST) {
      throw error(BSM_UNSUPPORTED,
                  "the elements are not in a row in the host's memory");
    }
    return {static_cast<T *>(array_.data), shape().count()};
  }
  const bsm_array &get() const noexcept { return array_; }

 private:
  bsm_array array_ = bsm_array();
};

/* ---- options: the C API's structs with their defaults ---- */

inline bsm_engine_load_options load_options() {
  return BSM_ENGINE_LOAD_OPTIONS_INIT;
}
inline bsm_engine_save_options save_options() {
  return BSM_ENGINE_SAVE_OPTIONS_INIT;
}
inline bsm_context_options context_options() {
  return BSM_CONTEXT_OPTIONS_INIT;
}
inline bsm_module_options module_options() { return BSM_MODULE_OPTIONS_INIT; }
inline bsm_compile_options compile_options() {
  return BSM_COMPILE_OPTIONS_INIT;
}

/* ---- engines ---- */

/* An input or output of an engine. Sizes of -1 are known only in a run. */
struct binding {
  std::string name;
  bsm_dtype dtype;
  bessemer::shape shape;
  bsm_memory_space space;
};

class engine {
 public:
  /* Takes over what a function of the C API has made. */
  explicit engine(bsm_engine *made) noexcept : engine_(made) {}

  static engine load(const std::string &path,
                     const bsm_engine_load_options &options = load_options()) {
    bsm_engine *made = nullptr;
    check(bsm_engine_load(path.c_str(), &options, &made));
    return engine(made);
  }
  /* The bytes are borrowed, and must outlive the engine. */
  static engine load_memory(
      span<const std::byte> bytes,
      const bsm_engine_load_options &options = load_options()) {
    bsm_engine *made = nullptr;
    check(bsm_engine_load_memory(bytes.data(), bytes.size(), &options, &made));
    return engine(made);
  }

  void save(const std::string &path,
            const bsm_engine_save_options &options = save_options()) const {
    check(bsm_engine_save_with(get(), path.c_str(), &options));
  }
  /* Hands the bytes of the file to `write`, piece by piece. What it throws ends
   * the saving. */
  void save(const std::function<void(span<const std::byte>)> &write,
            const bsm_engine_save_options &options = save_options()) const {
    struct target {
      const std::function<void(span<const std::byte>)> *write;
      detail::guard guard;
      static bsm_status put(void *user, const void *data, std::size_t size) {
        target *t = static_cast<target *>(user);
        const span<const std::byte> piece(static_cast<const std::byte *>(data),
                                          size);
        return t->guard([&] { (*t->write)(piece); })
                   ? BSM_OK
                   : bsm_status_make(BSM_IO, "the writer has thrown");
      }
    } to{&write, {}};
    to.guard.check(bsm_engine_save_stream(get(), target::put, &to, &options));
  }
  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all;
    save([&](span<const std::byte> piece) {
      all.insert(all.end(), piece.begin(), piece.end());
    });
    return all;
  }

  std::vector<binding> inputs() const {
    return bindings(bsm_engine_input_count(get()), bsm_engine_input);
  }
  std::vector<binding> outputs() const {
    return bindings(bsm_engine_output_count(get()), bsm_engine_output);
  }
  std::size_t find_input(const std::string &name) const {
    std::size_t index = 0;
    check(bsm_engine_find_input(get(), name.c_str(), &index));
    return index;
  }
  std::size_t find_output(const std::string &name) const {
    std::size_t index = 0;
    check(bsm_engine_find_output(get(), name.c_str(), &index));
    return index;
  }
  /* Of one key, and all of it. */
  std::optional<std::string_view> metadata(const std::string &key) const {
    const char *value = bsm_engine_metadata(get(), key.c_str());
    if (!value) return std::nullopt;
    return value;
  }
  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> all;
    const char *key, *value;
    for (std::size_t i = 0; bsm_engine_metadata_at(get(), i, &key, &value);
         i++) {
      all.emplace(key, value);
    }
    return all;
  }
  bsm_engine_memory_info memory(int threads = 0) const {
    bsm_engine_memory_info info = BSM_ENGINE_MEMORY_INFO_INIT;
    check(bsm_engine_memory(get(), threads, &info));
    return info;
  }
  /* The plan as text. */
  std::string dump() const {
    char *text = nullptr;
    check(bsm_engine_dump(get(), &text));
    return detail::take_text(text);
  }
  bsm_engine *get() const noexcept { return engine_.get(); }

 private:
  std::vector<binding> bindings(std::size_t count,
                                bsm_status (*of)(const bsm_engine *,
                                                 std::size_t,
                                                 bsm_binding *)) const {
    std::vector<binding> all;
    for (std::size_t i = 0; i < count; i++) {
      bsm_binding b = BSM_BINDING_INIT;
      check(of(get(), i, &b));
      all.push_back({b.name, b.dtype, b.dims, b.space});
    }
    return all;
  }

  detail::handle<bsm_engine, bsm_engine_destroy> engine_;
};

/* Threads for contexts that take turns: context_options().pool. */
class thread_pool {
 public:
  /* `threads` counts the calling one; 0: one for each CPU. */
  explicit thread_pool(int threads = 0) {
    bsm_thread_pool *made = nullptr;
    check(bsm_thread_pool_create(threads, nullptr, &made));
    pool_.reset(made);
  }
  /* With the caller's functions, out of which no exception may come. */
  explicit thread_pool(const bsm_thread_pool_options &options) {
    bsm_thread_pool *made = nullptr;
    check(bsm_thread_pool_create_with(&options, &made));
    pool_.reset(made);
  }
  int size() const noexcept { return bsm_thread_pool_size(get()); }
  bsm_thread_pool *get() const noexcept { return pool_.get(); }

 private:
  detail::handle<bsm_thread_pool, bsm_thread_pool_destroy> pool_;
};

class context {
 public:
  explicit context(const engine &of,
                   const bsm_context_options &options = context_options()) {
    bsm_context *made = nullptr;
    check(bsm_context_create(of.get(), &options, &made));
    context_.reset(made);
  }

  /* Runs on arrays for all inputs, in order. The outputs are the context's
   * until its next run. */
  std::vector<array> run(span<const array> inputs) {
    const std::vector<bsm_array> in = arrays(inputs);
    check(bsm_context_run_keep(get(), in.data(), in.size()));
    std::vector<array> all;
    for (std::size_t i = 0; i < bsm_context_output_count(get()); i++) {
      bsm_array out = bsm_array();
      check(bsm_context_output(get(), i, &out));
      all.push_back(array(out));
    }
    return all;
  }
  std::vector<array> run(std::initializer_list<array> inputs) {
    return run(span<const array>(inputs.begin(), inputs.size()));
  }
  /* Runs into arrays of the caller's for all outputs. */
  void run(span<const array> inputs, span<const array> outputs) {
    const std::vector<bsm_array> in = arrays(inputs), out = arrays(outputs);
    check(bsm_context_run(get(), in.data(), in.size(), out.data(), out.size()));
  }
  void run(std::initializer_list<array> inputs,
           std::initializer_list<array> outputs) {
    run(span<const array>(inputs.begin(), inputs.size()),
        span<const array>(outputs.begin(), outputs.size()));
  }
  /* What later runs draw: see bsm_context_seed. */
  void seed(std::uint64_t number) { check(bsm_context_seed(get(), number)); }
  void synchronize() { check(bsm_context_synchronize(get())); }

  /* The shape that output `index` has for inputs of these shapes. */
  bessemer::shape output_shape(std::size_t index,
                               span<const bessemer::shape> inputs) {
    bsm_dims dims = bsm_dims();
    for (std::size_t i = 0; i < inputs.size(); i++) {
      check(bsm_context_set_input_shape(get(), i, &inputs[i].get()));
    }
    check(bsm_context_output_shape(get(), index, &dims));
    return dims;
  }
  bsm_context *get() const noexcept { return context_.get(); }

 private:
  static std::vector<bsm_array> arrays(span<const array> from) {
    std::vector<bsm_array> all;
    all.reserve(from.size());
    for (const array &a : from) all.push_back(a.get());
    return all;
  }

  detail::handle<bsm_context, bsm_context_destroy> context_;
};

/* ---- compiling: the functions of libbessemer ---- */

/* What is known of an input of the engine: for compile_options().inputs. */
inline bsm_input_spec input(const shape &sizes,
                            bsm_dtype dtype = BSM_DTYPE_FLOAT) {
  bsm_input_spec spec = BSM_INPUT_SPEC_INIT;
  spec.dtype = dtype;
  spec.rank = sizes.rank();
  for (int i = 0; i < sizes.rank(); i++) {
    spec.min[i] = spec.opt[i] = spec.max[i] = sizes[i];
  }
  return spec;
}
inline bsm_input_spec input(const shape &min, const shape &opt,
                            const shape &max,
                            bsm_dtype dtype = BSM_DTYPE_FLOAT) {
  if (min.rank() != opt.rank() || max.rank() != opt.rank()) {
    throw error(BSM_INVALID_ARGUMENT, "shapes of several ranks for one input");
  }
  bsm_input_spec spec = input(opt, dtype);
  for (int i = 0; i < opt.rank(); i++) {
    spec.min[i] = min[i];
    spec.max[i] = max[i];
  }
  return spec;
}

/* False cancels; so do exceptions, which compile() throws again. */
using progress =
    std::function<bool(std::string_view phase, std::size_t done,
                       std::size_t total)>;

class module {
 public:
  static module load(const std::string &path,
                     const bsm_module_options &options = module_options()) {
    bsm_module *made = nullptr;
    check(bsm_module_load(path.c_str(), &options, &made));
    return module(made);
  }
  /* The bytes are borrowed, and must outlive the module. */
  static module load_memory(
      span<const std::byte> bytes, const std::string &name = "model",
      const bsm_module_options &options = module_options()) {
    bsm_module *made = nullptr;
    check(bsm_module_load_memory(bytes.data(), bytes.size(), name.c_str(),
                                 &options, &made));
    return module(made);
  }

  /* `inputs`: in the order of the parameters; none: what the model's file says.
   */
  engine compile(span<const bsm_input_spec> inputs = {},
                 bsm_compile_options options = compile_options(),
                 const progress &told = nullptr) {
    struct teller {
      const progress *told;
      detail::guard guard;
      static bool tell(void *user, const char *phase, std::size_t done,
                       std::size_t total) {
        teller *t = static_cast<teller *>(user);
        bool go_on = false;
        t->guard([&] { go_on = (*t->told)(phase, done, total); });
        return go_on;
      }
    } to{&told, {}};
    if (!inputs.empty()) {
      options.inputs = inputs.data();
      options.input_count = inputs.size();
    }
    if (told) {
      options.progress = teller::tell;
      options.progress_user = &to;
    }
    bsm_engine *made = nullptr;
    to.guard.check(bsm_compile(get(), &options, &made));
    return engine(made);
  }
  engine compile(std::initializer_list<bsm_input_spec> inputs,
                 const bsm_compile_options &options = compile_options(),
                 const progress &told = nullptr) {
    return compile(span<const bsm_input_spec>(inputs.begin(), inputs.size()),
                   options, told);
  }
  bsm_module *get() const noexcept { return module_.get(); }

 private:
  explicit module(bsm_module *made) noexcept : module_(made) {}

  detail::handle<bsm_module, bsm_module_destroy> module_;
};

}  // namespace bessemer

#endif /* BESSEMER_BESSEMER_HPP_ */
