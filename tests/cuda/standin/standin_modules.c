/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's modules and launches. What the stand-in of NVRTC compiled is a
 * library of the host, which is opened and run. Other images are taken too, and
 * launches of what they hold are only noted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/standin/block.h"
#include "cuda/standin/standin.h"

#define MAX_IMAGE ((size_t)256 << 20)
#define MAX_PARAMETER 4096
#define DEFAULT_SHARED ((unsigned)48 << 10)

/* ---- images ---- */

static bool write_all(int file, const void *bytes, size_t size) {
  const char *p = bytes;
  while (size) {
    const ssize_t n = write(file, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    size -= (size_t)n;
  }
  return true;
}

static int digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

/* The image behind the line of its own of "PTX", to be freed; NULL: it is no
 * such text. */
static unsigned char *read_ptx(const char *text) {
  const size_t line = strlen(EMULATION_PTX);
  if (strncmp(text, EMULATION_PTX, line) != 0) return NULL;
  text += line;
  const size_t size = strlen(text) / 2;
  unsigned char *image = size < MAX_IMAGE ? malloc(size + 1) : NULL;
  for (size_t i = 0; image && i < size; i++) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      free(image);
      return NULL;
    }
    image[i] = (unsigned char)(high << 4 | low);
  }
  if (image && size < sizeof(emulation_image)) {
    free(image);
    return NULL;
  }
  return image;
}

/* Code of a GPU runs on those of the same generation that are no older; of
 * one with an 'a' on none other; PTX on all that are no older. */
static bool runs_here(const emulation_image *image, bool is_ptx) {
  const int sm = (int)image->sm;
  if (image->architecture == 'a') return sm == standin.sm;
  if (is_ptx) return sm <= standin.sm;
  return sm / 10 == standin.sm / 10 && sm <= standin.sm;
}

static int open_library(object *m, const unsigned char *bytes, size_t size) {
  char path[64];
  emulation_symbol *symbol = NULL;
  m->file = memfd_create("kernel", MFD_CLOEXEC);
  if (m->file < 0) return BSM_CU_OPERATING_SYSTEM;
  snprintf(path, sizeof(path), "/proc/self/fd/%d", m->file);
  if (write_all(m->file, bytes, size)) {
    /* The file stays open: its name would be another's. */
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  void *address = m->library ? dlsym(m->library, EMULATION_SYMBOL) : NULL;
  memcpy(&symbol, &address, sizeof(symbol));
  if (!symbol) {
    const char *why = dlerror();
    fprintf(stderr, "stand-in: a kernel cannot be opened: %s\n",
            why ? why : "no reason");
    return BSM_CU_INVALID_IMAGE;
  }
  m->emulated = symbol();
  if (m->emulated->abi != EMULATION_ABI) return BSM_CU_INVALID_IMAGE;
  m->emulated->calls = &grid_calls;
  return BSM_CU_SUCCESS;
}

static int load_image(object *m, const void *bytes, bool is_ptx) {
  emulation_image image;
  memcpy(&image, bytes, sizeof(image));
  if (memcmp(image.magic, EMULATION_MAGIC, sizeof(EMULATION_MAGIC)) != 0) {
    return BSM_CU_INVALID_IMAGE;
  }
  if (image.abi != EMULATION_ABI || image.bytes > MAX_IMAGE) {
    return BSM_CU_INVALID_IMAGE;
  }
  if (!runs_here(&image, is_ptx)) {
    return is_ptx ? BSM_CU_INVALID_PTX : BSM_CU_NO_BINARY_FOR_GPU;
  }
  return open_library(m, (const unsigned char *)bytes + sizeof(image),
                      (size_t)image.bytes);
}

void close_module(object *m) {
  if (m->library) dlclose(m->library);
  if (m->file > 0) close(m->file);
  m->library = NULL;
  m->emulated = NULL;
  m->file = 0;
}

static int load(object *m, const void *image) {
  const char *text = image;
  if (strcmp(text, EMULATION_MAGIC) == 0) return load_image(m, image, false);
  if (strncmp(text, "\177ELF", 4) == 0) return BSM_CU_SUCCESS;
  if (strncmp(text, "//", 2) != 0) return BSM_CU_INVALID_IMAGE;
  if (strncmp(image, EMULATION_PTX, strlen(EMULATION_PTX)) != 0) {
    return BSM_CU_SUCCESS;
  }
  unsigned char *bytes = read_ptx(image);
  const int result = bytes ? load_image(m, bytes, true) : BSM_CU_INVALID_PTX;
  free(bytes);
  return result;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image,
                              unsigned option_count, int *options,
                              void **values);
int cuModuleLoadDataEx(void **module, const void *image, unsigned option_count,
                       int *options, void **values) {
  (void)option_count;
  (void)options;
  (void)values;
  BEGIN_HERE();
  object *m = make(MODULE, here());
  NEED(m);
  result_ = load(m, image);
  if (result_) {
    (void)destroy(m, MODULE);
    goto end;
  }
  *module = m;
  END();
}

/* What a stream still has to do with the module. */
static bool is_awaited(const object *module) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind != STREAM) continue;
    for (const operation *o = objects[i].queue.first; o; o = o->next) {
      if (o->kind == LAUNCH && o->object->owner == module) return true;
    }
  }
  return false;
}

EXPORT int cuModuleUnload(void *module);
int cuModuleUnload(void *module) {
  BEGIN_RELEASE();
  if (is(module, MODULE) && is_awaited(module)) {
    (void)misuse("a module is unloaded before its kernels have run");
    drain_all();
  }
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (objects[i].kind == FUNCTION && objects[i].owner == module) {
      objects[i].kind = NONE;
    }
  }
  result_ = destroy(module, MODULE);
  END_RELEASE();
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
  BEGIN_HERE();
  NEED(is(module, MODULE));
  const emulated_module *code = ((object *)module)->emulated;
  const emulated_entry *entry = code ? code->entries : NULL;
  while (entry && strcmp(entry->name, name) != 0) entry = entry->next;
  if (code && !entry) {
    result_ = BSM_CU_NOT_FOUND;
    goto end;
  }
  object *o = make(FUNCTION, module);
  NEED(o);
  o->entry = entry;
  o->max_dynamic_shared = DEFAULT_SHARED;
  snprintf(o->name, sizeof(o->name), "%s", name);
  *function = o;
  END();
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value);
int cuFuncSetAttribute(void *function, int attribute, int value) {
  BEGIN_HERE();
  NEED(is(function, FUNCTION));
  NEED(attribute == BSM_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE);
  NEED(value >= 0 && value <= MAX_SHARED_BYTES);
  ((object *)function)->max_dynamic_shared = (unsigned)value;
  END();
}

/* ---- launches ---- */

int run_launch(const operation *o, char *text, size_t room) {
  const object *f = o->object;
  if (!is(f, FUNCTION) || f->serial != o->serial) {
    (void)misuse("a kernel of an unloaded module runs");
    snprintf(text, room, "a kernel of an unloaded module");
    return BSM_CU_LAUNCH_FAILED;
  }
  if (!f->entry) return BSM_CU_SUCCESS;
  /* Parameters of kernels are aligned as their types ask for. */
  _Alignas(128) unsigned char parameter[MAX_PARAMETER];
  memcpy(parameter, o->payload, o->payload_bytes);
  grid_launch l = {.module = f->owner->emulated,
                   .entry = f->entry,
                   .shared_bytes = o->shared_bytes,
                   .parameter = parameter,
                   .seed = standin.order};
  memcpy(l.grid, o->grid, sizeof(l.grid));
  memcpy(l.block, o->block, sizeof(l.block));
  memory_open();
  int result = grid_run(&l, text, room);
  memory_close();
  char where[256];
  if (!result && memory_is_spoiled(where, sizeof(where))) {
    snprintf(text, room, "kernel %s %s", f->name, where);
    result = BSM_CU_ILLEGAL_ADDRESS;
  }
  return result;
}

static void note(const bsm_cu_launch_config *config, const object *function) {
  if (standin.launch_count < MAX_LAUNCHES) {
    standin_launch *l = &standin.launches[standin.launch_count];
    memcpy(l->function, function->name, sizeof(l->function));
    memcpy(l->grid, config->grid, sizeof(l->grid));
    memcpy(l->block, config->block, sizeof(l->block));
    l->shared_bytes = config->shared_bytes;
  }
  standin.launch_count++;
}

/* The one parameter: from an array of pointers, or from a buffer that is
 * described by {1, buffer, 2, &size, 0}. */
static const void *parameter_of(const object *f, void **parameters,
                                void **extra) {
  if (!f->entry) return NULL;
  if (parameters) return parameters[0];
  if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return NULL;
  return *(size_t *)extra[3] >= f->entry->parameter_bytes ? extra[1] : NULL;
}

EXPORT int cuLaunchKernelEx(const bsm_cu_launch_config *config, void *function,
                            void **parameters, void **extra);
int cuLaunchKernelEx(const bsm_cu_launch_config *config, void *function,
                     void **parameters, void **extra) {
  BEGIN_HERE();
  NEED(is(function, FUNCTION) && is(config->stream, STREAM));
  NEED(!parameters != !extra);
  const object *f = function;
  unsigned threads = 1;
  for (int i = 0; i < 3; i++) {
    NEED(config->grid[i] && config->block[i]);
    NEED(config->block[i] <= MAX_BLOCK_THREADS);
    threads *= config->block[i];
  }
  NEED(threads <= MAX_BLOCK_THREADS);
  NEED(config->block[2] <= 64);
  NEED(config->grid[0] <= 0x7fffffff);
  NEED(config->grid[1] <= 65535 && config->grid[2] <= 65535);
  NEED(config->shared_bytes <= f->max_dynamic_shared);
  const void *parameter = parameter_of(f, parameters, extra);
  NEED(parameter || !f->entry);
  if (f->entry && threads > f->entry->max_threads) {
    result_ = BSM_CU_LAUNCH_OUT_OF_RESOURCES;
    goto end;
  }
  operation *o = new_operation(LAUNCH, parameter,
                               f->entry ? f->entry->parameter_bytes : 0);
  NEED(o);
  o->object = function;
  o->serial = f->serial;
  memcpy(o->grid, config->grid, sizeof(o->grid));
  memcpy(o->block, config->block, sizeof(o->block));
  o->shared_bytes = config->shared_bytes;
  note(config, f);
  result_ = submit((object *)config->stream, o);
  END();
}
