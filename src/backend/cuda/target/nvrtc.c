/* SPDX-License-Identifier: Apache-2.0 */
/* NVRTC: finding it, and compiling with it. */
#include "backend/cuda/target/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64
#define MAX_LOG ((size_t)1 << 20)

typedef struct program_s *program;
typedef int result; /* nvrtcResult; 0: success */

/* FUNCTION(member, "symbol", parameters) */
#define NVRTC_FUNCTIONS(FUNCTION)                                             \
  FUNCTION(version, "nvrtcVersion", (int *major, int *minor))                 \
  FUNCTION(arch_count, "nvrtcGetNumSupportedArchs", (int *count))             \
  FUNCTION(archs, "nvrtcGetSupportedArchs", (int *archs))                     \
  FUNCTION(create, "nvrtcCreateProgram",                                      \
           (program * out, const char *source, const char *name, int headers, \
            const char *const *texts, const char *const *names))              \
  FUNCTION(destroy, "nvrtcDestroyProgram", (program * p))                     \
  FUNCTION(compile, "nvrtcCompileProgram",                                    \
           (program p, int count, const char *const *options))                \
  FUNCTION(log_size, "nvrtcGetProgramLogSize", (program p, size_t * size))    \
  FUNCTION(log, "nvrtcGetProgramLog", (program p, char *log))                 \
  FUNCTION(cubin_size, "nvrtcGetCUBINSize", (program p, size_t * size))       \
  FUNCTION(cubin, "nvrtcGetCUBIN", (program p, char *code))                   \
  FUNCTION(ptx_size, "nvrtcGetPTXSize", (program p, size_t * size))           \
  FUNCTION(ptx, "nvrtcGetPTX", (program p, char *code))

struct bsm_nvrtc {
  void *library;
  int major, minor;
  int *known; /* compute capabilities */
  int known_count;
#define DECLARE(member, symbol, parameters) result(*member) parameters;
  NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE
};

/* ---- finding the library ---- */

/* Newest first. The wheel of CUDA 13 keeps all libraries in one folder, those
 * of 12 have one for each package. */
static const char *const sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
static const char *const toolkit_folders[] = {
    "/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64"};
static const char *const wheel_folders[] = {"nvidia/cu13/lib",
                                            "nvidia/cuda_nvrtc/lib"};
static const char *const python_folders[] = {
    "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages", "/usr/lib/python3*/dist-packages",
    "/usr/lib/python3/dist-packages"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* It stays in the process: loading it takes longer than a small kernel, and
 * plans come one after the other. */
static void *open_file(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static void try_file(void **library, const char *path) {
  if (!*library && path) *library = open_file(path);
}

static void try_folder(void **library, bsm_arena *scratch, const char *folder,
                       const char *sub) {
  for (size_t i = 0; i < COUNT(sonames) && !*library; i++) {
    try_file(library, bsm_arena_printf(scratch, "%s%s%s/%s", folder,
                                       sub[0] ? "/" : "", sub, sonames[i]));
  }
}

/* Folders of Python packages that match a pattern. */
static void try_python(void **library, bsm_arena *scratch,
                       const char *pattern) {
  glob_t found;
  if (*library || !pattern) return;
  if (glob(pattern, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !*library; i++) {
      for (size_t k = 0; k < COUNT(wheel_folders); k++) {
        try_folder(library, scratch, found.gl_pathv[i], wheel_folders[k]);
      }
    }
  }
  globfree(&found);
}

static void search(void **library, bsm_arena *scratch) {
  static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
  for (size_t i = 0; i < COUNT(sonames); i++) try_file(library, sonames[i]);
  for (size_t i = 0; i < COUNT(variables); i++) {
    const char *home = getenv(variables[i]);
    if (home) try_folder(library, scratch, home, "lib64");
    if (home) try_folder(library, scratch, home, "lib");
  }
  for (size_t i = 0; i < COUNT(toolkit_folders); i++) {
    try_folder(library, scratch, toolkit_folders[i], "");
  }
  static const char *const homes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
  for (size_t i = 0; i < COUNT(homes); i++) {
    const char *home = getenv(homes[i]);
    if (!home) continue;
    try_python(
        library, scratch,
        bsm_arena_printf(scratch, "%s/lib/python3*/site-packages", home));
  }
  const char *user = getenv("HOME");
  if (user) {
    try_python(library, scratch,
               bsm_arena_printf(scratch, "%s/.local/lib/python3*/site-packages",
                                user));
  }
  for (size_t i = 0; i < COUNT(python_folders); i++) {
    try_python(library, scratch, python_folders[i]);
  }
}

static bsm_status open_library(bsm_nvrtc *n, const char *path) {
  bsm_arena scratch;
  if (path) {
    n->library = open_file(path);
    if (n->library) return BSM_OK;
    const char *why = dlerror();
    return BSM_FAIL(BSM_NOT_FOUND, "NVRTC cannot be opened: %s",
                    why ? why : path);
  }
  bsm_arena_init(&scratch, NULL);
  search(&n->library, &scratch);
  bsm_arena_destroy(&scratch);
  if (n->library) return BSM_OK;
  return BSM_FAIL(BSM_NOT_FOUND,
                  "NVRTC, the compiler of kernels, was not found (%s or %s in "
                  "the library path, CUDA_HOME, /usr/local/cuda and Python's "
                  "packages): install the CUDA toolkit, or: pip install "
                  "nvidia-cuda-nvrtc; it is needed to build engines for cuda, "
                  "not to run them",
                  sonames[0], sonames[1]);
}

/* ---- opening ---- */

static bsm_status load_functions(bsm_nvrtc *n) {
  const char *missing = NULL;
#define LOAD(member, symbol, parameters)           \
  do {                                             \
    void *address = dlsym(n->library, symbol);     \
    memcpy(&n->member, &address, sizeof(address)); \
    if (!address && !missing) missing = symbol;    \
  } while (0);
  NVRTC_FUNCTIONS(LOAD)
#undef LOAD
  if (missing || n->version(&n->major, &n->minor)) {
    return BSM_FAIL(BSM_VERSION,
                    "the NVRTC that was found lacks %s: version 12.0 or newer "
                    "is needed",
                    missing ? missing : "a version");
  }
  return BSM_OK;
}

static bsm_status read_architectures(bsm_nvrtc *n, bsm_arena *arena) {
  if (n->arch_count(&n->known_count) || n->known_count < 1 ||
      n->known_count > 1000) {
    return BSM_FAIL(BSM_VERSION, "NVRTC does not say what it compiles for");
  }
  n->known = BSM_NEW_ARRAY(arena, int, (size_t)n->known_count);
  BSM_TRY_ALLOC(n->known);
  return n->archs(n->known)
             ? BSM_FAIL(BSM_VERSION, "NVRTC does not say what it compiles for")
             : BSM_OK;
}

bsm_status bsm_nvrtc_open(const char *path, bsm_arena *arena, bsm_nvrtc **out) {
  *out = NULL;
  bsm_nvrtc *n = BSM_NEW(arena, bsm_nvrtc);
  BSM_TRY_ALLOC(n);
  BSM_TRY(open_library(n, path));
  bsm_status status = load_functions(n);
  if (!status) status = read_architectures(n, arena);
  if (status) {
    bsm_nvrtc_close(n);
    return status;
  }
  *out = n;
  return BSM_OK;
}

void bsm_nvrtc_close(bsm_nvrtc *nvrtc) {
  if (!nvrtc || !nvrtc->library) return;
  dlclose(nvrtc->library);
  nvrtc->library = NULL;
}

int bsm_nvrtc_version(const bsm_nvrtc *nvrtc) {
  return 1000 * nvrtc->major + 10 * nvrtc->minor;
}

bool bsm_nvrtc_supports(const bsm_nvrtc *nvrtc, int sm) {
  for (int i = 0; i < nvrtc->known_count; i++) {
    if (nvrtc->known[i] == sm) return true;
  }
  return false;
}

/* ---- compiling ---- */

static bsm_status failed(const bsm_nvrtc *n, program p,
                         const bsm_nvrtc_source *source,
                         const char *architecture) {
  size_t size = 0;
  char *log = NULL;
  if (!n->log_size(p, &size) && size > 1 && size < MAX_LOG) {
    log = malloc(size);
    if (log && n->log(p, log)) log[0] = 0;
  }
  bsm_status status = BSM_FAIL(
      BSM_INTERNAL, "NVRTC %d.%d does not compile %s for %s:\n%s", n->major,
      n->minor, source->name, architecture, log ? log : "(it gave no log)");
  free(log);
  return status;
}

static bsm_status run_compiler(const bsm_nvrtc *n, program p,
                               const bsm_nvrtc_source *source,
                               const char *architecture, bsm_arena *scratch) {
  const char *options[MAX_OPTIONS];
  int count = 0;
  options[count++] =
      bsm_arena_printf(scratch, "--gpu-architecture=%s", architecture);
  options[count++] = "--std=c++17";
  options[count++] = "--no-source-include";
  BSM_TRY_ALLOC(options[0]);
  if (source->option_count > MAX_OPTIONS - count) {
    return BSM_FAIL(BSM_INTERNAL, "%d options for %s", source->option_count,
                    source->name);
  }
  for (int i = 0; i < source->option_count; i++) {
    options[count++] = source->options[i];
  }
  return n->compile(p, count, options) ? failed(n, p, source, architecture)
                                       : BSM_OK;
}

static bsm_status take_code(const bsm_nvrtc *n, program p, bool is_ptx,
                            bsm_arena *arena, bsm_str *code) {
  size_t size = 0;
  if ((is_ptx ? n->ptx_size : n->cubin_size)(p, &size) || size == 0) {
    return BSM_FAIL(BSM_INTERNAL, "NVRTC gave no code");
  }
  char *bytes = bsm_arena_alloc(arena, size, 64);
  BSM_TRY_ALLOC(bytes);
  if ((is_ptx ? n->ptx : n->cubin)(p, bytes)) {
    return BSM_FAIL(BSM_INTERNAL, "NVRTC gave no code");
  }
  *code = (bsm_str){bytes, size};
  return BSM_OK;
}

bsm_status bsm_nvrtc_compile(const bsm_nvrtc *nvrtc,
                             const bsm_nvrtc_source *source,
                             const char *architecture, bsm_arena *arena,
                             bsm_str *code, bsm_str *ptx) {
  program p = NULL;
  if (nvrtc->create(&p, source->text, source->name, source->header_count,
                    source->headers, source->header_names)) {
    return BSM_FAIL(BSM_OUT_OF_MEMORY, "NVRTC does not take %s", source->name);
  }
  bsm_arena scratch;
  bsm_arena_init(&scratch, arena->allocator);
  bsm_status status = run_compiler(nvrtc, p, source, architecture, &scratch);
  bsm_arena_destroy(&scratch);
  if (!status && code) status = take_code(nvrtc, p, false, arena, code);
  if (!status && ptx) status = take_code(nvrtc, p, true, arena, ptx);
  (void)nvrtc->destroy(&p);
  return status;
}
