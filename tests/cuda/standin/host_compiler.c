/* SPDX-License-Identifier: Apache-2.0 */
/* Running the host's C++ compiler in a folder of its own, and keeping what it
 * makes. */
#define _GNU_SOURCE
#include "cuda/standin/host_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FILE ((long)64 << 20)
#define MAX_ARGUMENTS 48

extern char **environ;

/* No fused products: a kernel's author decides. Large frames touch every page,
 * so that they meet the end of a stack. Checks call functions that
 * stand in checks_on_host.h, so no library of the sanitizers is linked. */
static const char *const compile_flags[] = {
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-w",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fstack-clash-protection",
    "-fsanitize=alignment,bounds,signed-integer-overflow,"
    "integer-divide-by-zero,shift-exponent",
    "-fno-sanitize-recover=all",
    "-I" BSM_EMULATION_FOLDER};
/* No libraries but these: what a program of C++ has besides takes the linker
 * several times as long as a kernel does. */
static const char *const link_flags[] = {
    "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-lm", "-lc", "-lgcc"};
static const char *const own_headers[] = {
    "cuda_on_host.h",   "emulation_abi.h", "types_on_host.h",
    "math_on_host.h",   "warp_on_host.h",  "ptx_on_host.h",
    "hopper_on_host.h", "checks_on_host.h"};
#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static char *format(const char *text, ...)
    __attribute__((format(printf, 1, 2)));
static char *format(const char *text, ...) {
  char *out = NULL;
  va_list args;
  va_start(args, text);
  if (vasprintf(&out, text, args) < 0) out = NULL;
  va_end(args);
  return out;
}

/* ---- files ---- */

char *host_read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  long n = -1;
  if (!f) return NULL;
  if (fseek(f, 0, SEEK_END) == 0) n = ftell(f);
  if (n >= 0 && n <= MAX_FILE && fseek(f, 0, SEEK_SET) == 0) {
    text = malloc((size_t)n + 1);
  }
  if (text && fread(text, 1, (size_t)n, f) != (size_t)n) {
    free(text);
    text = NULL;
  }
  fclose(f);
  if (!text) return NULL;
  text[n] = 0;
  *size = (size_t)n;
  return text;
}

static bool make_folders(const char *path) {
  char *copy = strdup(path);
  bool ok = copy;
  for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && ok;
       slash = strchr(slash + 1, '/')) {
    *slash = 0;
    ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
    *slash = '/';
  }
  free(copy);
  return ok;
}

static bool write_file(const char *folder, const char *name, const char *text) {
  if (name[0] == '/' || strstr(name, "..")) return false;
  char *path = format("%s/%s", folder, name);
  FILE *f = path && make_folders(path) ? fopen(path, "wb") : NULL;
  bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
  if (f && fclose(f)) ok = false;
  free(path);
  return ok;
}

static int remove_one(const char *path, const struct stat *info, int kind,
                      struct FTW *at) {
  (void)info;
  (void)kind;
  (void)at;
  return remove(path);
}

static void remove_folder(const char *folder) {
  (void)nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the name of a result ---- */

typedef struct hash {
  uint64_t a, b;
} hash;

static void add(hash *h, const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  for (size_t i = 0; i < size; i++) {
    h->a = (h->a ^ p[i]) * UINT64_C(0x100000001b3);
    h->b = (h->b + p[i]) * UINT64_C(0x9e3779b97f4a7c15);
    h->b ^= h->b >> 29;
  }
}

static void add_text(hash *h, const char *text) {
  add(h, text, strlen(text) + 1);
}

static void add_file(hash *h, const char *path) {
  size_t size = 0;
  char *text = host_read_file(path, &size);
  if (text) add(h, text, size);
  add(h, &size, sizeof(size));
  free(text);
}

/* The compiler, what it is told, and the headers that are always there. */
static hash hash_of_headers(void) {
  hash h = {UINT64_C(0xcbf29ce484222325), 1};
  struct stat compiler = {0};
  add_text(&h, BSM_EMULATION_CXX);
  if (stat(BSM_EMULATION_CXX, &compiler) == 0) {
    add(&h, &compiler.st_size, sizeof(compiler.st_size));
    add(&h, &compiler.st_mtime, sizeof(compiler.st_mtime));
  }
  for (int i = 0; i < COUNT(compile_flags); i++) add_text(&h, compile_flags[i]);
  for (int i = 0; i < COUNT(link_flags); i++) add_text(&h, link_flags[i]);
  for (int i = 0; i < COUNT(own_headers); i++) {
    char *path = format("%s/%s", BSM_EMULATION_FOLDER, own_headers[i]);
    if (path) add_file(&h, path);
    free(path);
  }
  return h;
}

static hash hash_of(const host_source *s) {
  hash h = hash_of_headers();
  add_text(&h, s->main_text);
  add_text(&h, s->name);
  add_text(&h, s->text);
  for (int i = 0; i < s->header_count; i++) {
    add_text(&h, s->header_names[i]);
    add_text(&h, s->headers[i]);
  }
  return h;
}

bool host_keep_text(const char *folder, const char *text) {
  hash h = {UINT64_C(0xcbf29ce484222325), 1};
  add_text(&h, text);
  char *name = format("%016" PRIx64 "%016" PRIx64, h.a, h.b);
  /* Of this call alone: other threads and processes may keep the same. */
  static atomic_uint calls;
  char *draft = format("%016" PRIx64 ".%ld-%u.tmp", h.a, (long)getpid(),
                       atomic_fetch_add(&calls, 1));
  char *from = draft ? format("%s/%s", folder, draft) : NULL;
  char *to = name ? format("%s/%s", folder, name) : NULL;
  const bool ok = from && to &&
                  (access(to, R_OK) == 0 ||
                   (write_file(folder, draft, text) && rename(from, to) == 0));
  free(name);
  free(draft);
  free(from);
  free(to);
  return ok;
}

/* ---- the compiler ---- */

static bool run(const char *const *arguments, const char *log) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  if (posix_spawn_file_actions_init(&actions)) return false;
  (void)posix_spawn_file_actions_addopen(&actions, 1, log,
                                         O_WRONLY | O_CREAT | O_APPEND, 0666);
  (void)posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const int error = posix_spawnp(&child, arguments[0], &actions, NULL,
                                 (char *const *)(uintptr_t)arguments, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (error) return false;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Runs the compiler with its flags and what a caller adds; NULL: is left out.
 */
static bool run_compiler(const char *const *first, int first_count,
                         const char *const *flags, int flag_count,
                         const char *log) {
  const char *a[MAX_ARGUMENTS];
  int n = 0;
  a[n++] = BSM_EMULATION_CXX;
  for (int i = 0; i < first_count; i++) {
    if (first[i]) a[n++] = first[i];
  }
  for (int i = 0; i < flag_count; i++) a[n++] = flags[i];
  a[n] = NULL;
  return run(a, log);
}

/* ---- the headers, read once ---- */

/* Makes `<folder>/cuda_on_host.h.gch`. */
static bool precompile(const char *folder) {
  char *header = format("%s/cuda_on_host.h", BSM_EMULATION_FOLDER);
  char *out = format("%s/cuda_on_host.h.gch", folder);
  const char *const arguments[] = {"-x", "c++-header", header, "-o", out};
  const bool ok = header && out &&
                  run_compiler(arguments, COUNT(arguments), compile_flags,
                               COUNT(compile_flags), "/dev/null");
  free(header);
  free(out);
  return ok;
}

/* A folder with the headers in the form that this compiler reads at once, where
 * it is searched before the headers themselves; what it cannot take, as a macro
 * that they ask for is defined, it reads as text. NULL: there is none. */
static char *precompiled_folder(const char *cache) {
  const hash h = hash_of_headers();
  char *folder =
      format("%s/%016" PRIx64 "%016" PRIx64 ".headers", cache, h.a, h.b);
  char *draft = format("%s/tmp.XXXXXX", cache);
  bool there = folder && access(folder, R_OK) == 0;
  if (folder && draft && !there && make_folders(draft) && mkdtemp(draft)) {
    /* Another process may have been the first to rename its own. */
    there = precompile(draft) &&
            (rename(draft, folder) == 0 || access(folder, R_OK) == 0);
    remove_folder(draft);
  }
  free(draft);
  if (there) return folder;
  free(folder);
  return NULL;
}

/* ---- a kernel ---- */

static bool build_library(const char *folder, const char *headers,
                          const char *log) {
  char *include = format("-I%s", folder);
  char *read = headers ? format("-I%s", headers) : NULL;
  char *source = format("%s/main.cc", folder);
  char *object = format("%s/main.o", folder);
  char *out = format("%s/out.so", folder);
  const char *const compiling[] = {"-c", source, "-o", object, include, read};
  const char *const linking[] = {object, "-o", out};
  const bool ok =
      include && source && object && out &&
      run_compiler(compiling, COUNT(compiling), compile_flags,
                   COUNT(compile_flags), log) &&
      run_compiler(linking, COUNT(linking), link_flags, COUNT(link_flags), log);
  free(include);
  free(read);
  free(source);
  free(object);
  free(out);
  return ok;
}

static bool write_sources(const host_source *s, const char *folder) {
  bool ok = write_file(folder, "main.cc", s->main_text) &&
            write_file(folder, s->name, s->text);
  for (int i = 0; i < s->header_count && ok; i++) {
    ok = write_file(folder, s->header_names[i], s->headers[i]);
  }
  return ok;
}

/* Paths of the folder, which nobody knows, are left out of the messages. */
static char *read_log(const char *path, const char *folder) {
  size_t size = 0;
  char *log = host_read_file(path, &size);
  char *own = format("%s/", folder);
  for (char *at = log; log && own && (at = strstr(at, own));) {
    memmove(at, at + strlen(own), strlen(at + strlen(own)) + 1);
  }
  free(own);
  if (log && log[0]) return log;
  free(log);
  return format("the compiler %s cannot be run", BSM_EMULATION_CXX);
}

static bool make_library(const host_source *s, const char *cache,
                         const char *path, char **log) {
  char *folder = format("%s/tmp.XXXXXX", cache);
  char *log_path = NULL, *made = NULL;
  bool ok = folder && make_folders(folder) && mkdtemp(folder);
  if (!ok) {
    *log = format("no folder can be made in %s", cache);
    free(folder);
    return false;
  }
  log_path = format("%s/log", folder);
  made = format("%s/out.so", folder);
  char *headers = precompiled_folder(cache);
  ok = log_path && made && write_sources(s, folder) &&
       build_library(folder, headers, log_path) && rename(made, path) == 0;
  free(headers);
  if (!ok && log_path) *log = read_log(log_path, folder);
  remove_folder(folder);
  free(folder);
  free(log_path);
  free(made);
  return ok;
}

bool host_compile(const host_source *s, char **path, char **log) {
  const char *cache = getenv("BSM_EMULATION_CACHE");
  if (!cache) cache = BSM_EMULATION_CACHE_FOLDER;
  *log = NULL;
  const hash h = hash_of(s);
  *path = format("%s/%016" PRIx64 "%016" PRIx64 ".so", cache, h.a, h.b);
  if (!*path) return false;
  if (access(*path, R_OK) == 0) return true;
  return make_library(s, cache, *path, log);
}
