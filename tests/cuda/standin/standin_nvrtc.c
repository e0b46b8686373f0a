/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NVRTC: a library with the functions that nvrtc.c loads, which
 * compiles kernels for the host by the host's C++ compiler. What it makes only
 * the stand-in of the driver takes. With BSM_STANDIN_RECORD=FOLDER in the
 * environment it compiles nothing, and writes down there what it was asked for.
 *
 * Results are kept in a folder (BSM_EMULATION_CACHE, or the build's) under the
 * hash of all that they are made of. They come there by renaming, so that tests
 * may run side by side. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda/emulation/emulation_abi.h"
#include "cuda/standin/host_compiler.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_HEADERS 256
#define MAX_OPTIONS 256

/* nvrtcResult */
enum {
  SUCCESS = 0,
  NO_MEMORY = 1,
  INVALID_INPUT = 3,
  INVALID_PROGRAM = 4,
  INVALID_OPTION = 5,
  COMPILATION = 6
};

typedef struct program {
  char *source, *name;
  int header_count;
  char **headers, **header_names;
  char *log;
  emulation_image *image; /* with what follows it */
  size_t image_bytes;
  bool is_virtual;
} program;

/* ---- programs ---- */

static void free_texts(char **texts, int count) {
  for (int i = 0; texts && i < count; i++) free(texts[i]);
  free(texts);
}

static void free_program(program *p) {
  if (!p) return;
  free(p->source);
  free(p->name);
  free_texts(p->headers, p->header_count);
  free_texts(p->header_names, p->header_count);
  free(p->log);
  free(p->image);
  free(p);
}

static char **copy_texts(const char *const *texts, int count) {
  char **copy = calloc((size_t)count + 1, sizeof(*copy));
  for (int i = 0; copy && i < count; i++) {
    copy[i] = strdup(texts[i]);
    if (!copy[i]) {
      free_texts(copy, count);
      return NULL;
    }
  }
  return copy;
}

EXPORT int nvrtcCreateProgram(program **out, const char *source,
                              const char *name, int headers,
                              const char *const *texts,
                              const char *const *names);
int nvrtcCreateProgram(program **out, const char *source, const char *name,
                       int headers, const char *const *texts,
                       const char *const *names) {
  if (!out || !source || headers < 0 || headers > MAX_HEADERS) {
    return INVALID_INPUT;
  }
  *out = NULL;
  program *p = calloc(1, sizeof(*p));
  if (!p) return NO_MEMORY;
  p->header_count = headers;
  p->source = strdup(source);
  p->name = strdup(name ? name : "default_program");
  p->headers = copy_texts(texts, headers);
  p->header_names = copy_texts(names, headers);
  if (!p->source || !p->name || !p->headers || !p->header_names) {
    free_program(p);
    return NO_MEMORY;
  }
  *out = p;
  return SUCCESS;
}

EXPORT int nvrtcDestroyProgram(program **p);
int nvrtcDestroyProgram(program **p) {
  if (!p || !*p) return INVALID_PROGRAM;
  free_program(*p);
  *p = NULL;
  return SUCCESS;
}

/* ---- options ---- */

typedef struct settings {
  int sm;
  char architecture;
  char *defines; /* lines of the preprocessor */
  size_t size;
} settings;

static int refuse(program *p, const char *option) {
  free(p->log);
  if (asprintf(&p->log, "stand-in of NVRTC: it does not take the option %s",
               option) < 0) {
    p->log = NULL;
  }
  return INVALID_OPTION;
}

/* "NAME=VALUE" as a line: macros are defined behind the host's own headers,
 * which would not stand a macro of the name T. */
static bool add_define(settings *s, const char *text) {
  const char *equal = strchr(text, '=');
  const int name = equal ? (int)(equal - text) : (int)strlen(text);
  const size_t room = strlen(text) + 16;
  char *grown = realloc(s->defines, s->size + room);
  if (!grown) return false;
  s->defines = grown;
  s->size += (size_t)snprintf(grown + s->size, room, "#define %.*s %s\n", name,
                              text, equal ? equal + 1 : "1");
  return true;
}

static bool set_architecture(settings *s, const char *name) {
  char *end = NULL;
  const bool is_virtual = strncmp(name, "compute_", 8) == 0;
  if (!is_virtual && strncmp(name, "sm_", 3) != 0) return false;
  s->sm = (int)strtol(name + (is_virtual ? 8 : 3), &end, 10);
  s->architecture = is_virtual ? 'v' : *end;
  return s->sm >= 50 && s->sm < 1000 && strlen(end) <= 1;
}

static const char *after(const char *text, const char *start) {
  const size_t n = strlen(start);
  return strncmp(text, start, n) == 0 ? text + n : NULL;
}

/* What has no meaning on the host. Options that change results are not among
 * them. */
static bool is_dropped(const char *option) {
  static const char *const dropped[] = {"--std=",
                                        "-std=",
                                        "--no-source-include",
                                        "--maxrregcount=",
                                        "-maxrregcount=",
                                        "-default-device",
                                        "--device-as-default-execution-space",
                                        "-lineinfo",
                                        "--generate-line-info",
                                        "--fmad=",
                                        "-fmad=",
                                        "--ptxas-options=",
                                        "--extra-device-vectorization",
                                        "--restrict",
                                        "-restrict",
                                        "--diag-suppress=",
                                        "--disable-warnings",
                                        "-w",
                                        "--split-compile=",
                                        "--minimal"};
  for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
    if (after(option, dropped[i])) return true;
  }
  return false;
}

static int read_options(program *p, int count, const char *const *options,
                        settings *s) {
  for (int i = 0; i < count; i++) {
    const char *o = options[i], *value;
    if ((value = after(o, "--gpu-architecture=")) ||
        (value = after(o, "-arch="))) {
      if (!set_architecture(s, value)) return refuse(p, o);
    } else if ((value = after(o, "--define-macro=")) ||
               (value = after(o, "-D"))) {
      if (!*value && i + 1 < count) value = options[++i];
      if (!add_define(s, value)) return NO_MEMORY;
    } else if (!is_dropped(o)) {
      return refuse(p, o);
    }
  }
  return SUCCESS;
}

/* ---- compiling ---- */

static char *main_text(const program *p, const settings *s) {
  char *text = NULL;
  if (asprintf(&text,
               "#define BSM_EMULATED 1\n"
               "#define __CUDA_ARCH__ %d0\n"
               "%s"
               "#include \"cuda_on_host.h\"\n"
               "%s"
               "namespace {\n"
               "#include \"%s\"\n"
               "}\n",
               s->sm,
               s->sm == 90 && s->architecture == 'a'
                   ? "#define __CUDA_ARCH_FEAT_SM90_ALL 1\n"
                   : "",
               s->defines ? s->defines : "", p->name) < 0) {
    return NULL;
  }
  return text;
}

static int take_library(program *p, const settings *s, const char *path) {
  size_t size = 0;
  char *library = host_read_file(path, &size);
  emulation_image *image = library ? calloc(1, sizeof(*image) + size) : NULL;
  if (!image) {
    free(library);
    return NO_MEMORY;
  }
  *image = (emulation_image){EMULATION_MAGIC, EMULATION_ABI, (uint32_t)s->sm,
                             s->architecture, {0},           size};
  memcpy(image + 1, library, size);
  free(library);
  free(p->image);
  p->image = image;
  p->image_bytes = sizeof(*image) + size;
  p->is_virtual = s->architecture == 'v';
  return SUCCESS;
}

static int compile(program *p, const settings *s) {
  char *text = main_text(p, s), *path = NULL;
  if (!text) return NO_MEMORY;
  const host_source source = {
      text, p->name, p->source, p->header_count, p->header_names, p->headers};
  free(p->log);
  p->log = NULL;
  const bool compiled = host_compile(&source, &path, &p->log);
  const int result = compiled ? take_library(p, s, path) : COMPILATION;
  free(path);
  free(text);
  return result;
}

/* ---- writing down ---- */

/* What is compiled, as a text: the name of the source and the options in lines,
 * an empty line, and the code that was generated for it, if any. */
static char *record_of(const program *p, int count, const char *const *options,
                       size_t *size) {
  char *text = NULL;
  FILE *f = open_memstream(&text, size);
  if (!f) return NULL;
  fprintf(f, "%s\n", p->name);
  for (int i = 0; i < count; i++) fprintf(f, "%s\n", options[i]);
  fprintf(f, "\n");
  for (int i = 0; i < p->header_count; i++) {
    if (strcmp(p->header_names[i], "generated.cuh") == 0) {
      fputs(p->headers[i], f);
    }
  }
  if (fclose(f) == 0) return text;
  free(text);
  return NULL;
}

/* Code that the driver takes and that does nothing. */
static int take_nothing(program *p, const settings *s) {
  static const char text[] = "// nothing was compiled\n";
  free(p->image);
  p->image = calloc(1, sizeof(*p->image) + sizeof(text));
  if (!p->image) return NO_MEMORY;
  memcpy(p->image, text, sizeof(text));
  p->image_bytes = sizeof(text);
  p->is_virtual = s->architecture == 'v';
  return SUCCESS;
}

static int record(program *p, int count, const char *const *options,
                  const settings *s, const char *folder) {
  size_t size = 0;
  char *text = record_of(p, count, options, &size);
  const bool ok = text && host_keep_text(folder, text);
  free(text);
  return ok ? take_nothing(p, s) : NO_MEMORY;
}

EXPORT int nvrtcCompileProgram(program *p, int count,
                               const char *const *options);
int nvrtcCompileProgram(program *p, int count, const char *const *options) {
  settings s = {.sm = 75};
  if (!p) return INVALID_PROGRAM;
  if (count < 0 || count > MAX_OPTIONS) return INVALID_INPUT;
  int result = read_options(p, count, options, &s);
  const char *folder = getenv("BSM_STANDIN_RECORD");
  if (!result) {
    result = folder ? record(p, count, options, &s, folder) : compile(p, &s);
  }
  free(s.defines);
  return result;
}

/* ---- results ---- */

EXPORT int nvrtcGetProgramLogSize(program *p, size_t *size);
int nvrtcGetProgramLogSize(program *p, size_t *size) {
  *size = (p->log ? strlen(p->log) : 0) + 1;
  return SUCCESS;
}

EXPORT int nvrtcGetProgramLog(program *p, char *log);
int nvrtcGetProgramLog(program *p, char *log) {
  strcpy(log, p->log ? p->log : "");
  return SUCCESS;
}

EXPORT int nvrtcGetCUBINSize(program *p, size_t *size);
int nvrtcGetCUBINSize(program *p, size_t *size) {
  *size = p->image && !p->is_virtual ? p->image_bytes : 0;
  return SUCCESS;
}

EXPORT int nvrtcGetCUBIN(program *p, char *code);
int nvrtcGetCUBIN(program *p, char *code) {
  if (!p->image || p->is_virtual) return INVALID_PROGRAM;
  memcpy(code, p->image, p->image_bytes);
  return SUCCESS;
}

EXPORT int nvrtcGetPTXSize(program *p, size_t *size);
int nvrtcGetPTXSize(program *p, size_t *size) {
  *size = p->image ? strlen(EMULATION_PTX) + 2 * p->image_bytes + 1 : 0;
  return SUCCESS;
}

EXPORT int nvrtcGetPTX(program *p, char *code);
int nvrtcGetPTX(program *p, char *code) {
  if (!p->image) return INVALID_PROGRAM;
  strcpy(code, EMULATION_PTX);
  code += strlen(code);
  const unsigned char *bytes = (const unsigned char *)p->image;
  for (size_t i = 0; i < p->image_bytes; i++) {
    *code++ = "0123456789abcdef"[bytes[i] >> 4];
    *code++ = "0123456789abcdef"[bytes[i] & 15];
  }
  *code = 0;
  return SUCCESS;
}

/* ---- what it is ---- */

static const int architectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 120};

EXPORT int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return SUCCESS;
}

EXPORT int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetNumSupportedArchs(int *count) {
  *count = (int)(sizeof(architectures) / sizeof(architectures[0]));
  return SUCCESS;
}

EXPORT int nvrtcGetSupportedArchs(int *archs);
int nvrtcGetSupportedArchs(int *archs) {
  memcpy(archs, architectures, sizeof(architectures));
  return SUCCESS;
}
