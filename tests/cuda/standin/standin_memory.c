/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's memory. The device's is one range of addresses that nobody
 * can use but kernels while they run: a file that is mapped twice, there and,
 * for copies, where only this file knows. A block ends at the end of a page as
 * far as its alignment lets it, and a page of nothing follows; what lies
 * between has a pattern. Addresses are not used again before the range is
 * through. New memory is NaN. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/standin/standin.h"

#define PAGE ((size_t)4096)
#define ALIGNMENT ((size_t)256)
#define PATTERN 0xcb
/* Nothing is before the first block and behind the last one, too. */
#define EDGE ((size_t)1 << 30)
#define MIN_GAP ((size_t)1 << 20)
/* Of larger blocks the two ends, so that memory that no test touches is none.
 */
#define MAX_FILLED ((size_t)64 << 20)
#ifdef __SANITIZE_THREAD__
#define RANGE ((size_t)16 << 30)
#else
#define RANGE ((size_t)256 << 30)
#endif

typedef struct block {
  uint64_t address;
  size_t size;
  uint64_t pages; /* the device's: where its pages begin, and their bytes */
  size_t page_bytes;
  unsigned char *data; /* NULL: a free entry */
  bool host, is_freeing;
  int device; /* whose context was current */
} block;

static block blocks[MAX_OBJECTS];
static int used_entries; /* those behind are free */
static unsigned char *device_range, *shadow_range;
static int range_file = -1;
static size_t next_offset;
static int opened;

static bool reserve(void) {
  if (device_range) return true;
  const int f = memfd_create("bessemer-device", MFD_CLOEXEC);
  if (f < 0) return false;
  void *device = MAP_FAILED, *shadow = MAP_FAILED;
  if (ftruncate(f, (off_t)RANGE) == 0) {
    device = mmap(NULL, RANGE, PROT_NONE, MAP_SHARED | MAP_NORESERVE, f, 0);
    shadow = mmap(NULL, RANGE, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE, f, 0);
  }
  if (device == MAP_FAILED || shadow == MAP_FAILED) {
    if (device != MAP_FAILED) munmap(device, RANGE);
    if (shadow != MAP_FAILED) munmap(shadow, RANGE);
    close(f);
    return false;
  }
  device_range = device;
  shadow_range = shadow;
  range_file = f;
  next_offset = EDGE;
  return true;
}

static unsigned char *shadow_of(uint64_t address) {
  return shadow_range + (address - (uint64_t)(uintptr_t)device_range);
}

/* ---- blocks ---- */

static block *find(uint64_t address, size_t size) {
  for (int i = 0; i < used_entries; i++) {
    block *b = &blocks[i];
    if (b->data && address >= b->address && size <= b->size &&
        address - b->address <= b->size - size) {
      return b;
    }
  }
  return NULL;
}

static block *free_entry(void) {
  for (int i = 0; i < MAX_OBJECTS; i++) {
    if (blocks[i].data) continue;
    if (i >= used_entries) used_entries = i + 1;
    return &blocks[i];
  }
  return NULL;
}

/* What a block of so many bytes of pages takes of the range. */
static size_t span_of(size_t page_bytes) {
  return 2 * page_bytes + MIN_GAP;
}

static bool find_place(size_t bytes, size_t *offset) {
  bool wrapped = false;
  const size_t span = span_of(bytes);
  size_t at = next_offset;
  for (int i = 0; i < used_entries; i++) {
    if (at + span > RANGE - EDGE) {
      if (wrapped) return false;
      wrapped = true;
      at = EDGE;
      i = -1;
      continue;
    }
    const block *b = &blocks[i];
    if (!b->data || b->host) continue;
    const size_t begin = (size_t)(b->pages - (uint64_t)(uintptr_t)device_range);
    const size_t end = begin + span_of(b->page_bytes);
    if (begin < at + span && at < end) {
      at = end;
      i = -1; /* all of them are looked at again */
    }
  }
  if (at + span > RANGE - EDGE) return false;
  *offset = at;
  next_offset = at + span;
  return true;
}

static void fill_new(unsigned char *data, size_t size) {
  if (size <= MAX_FILLED) {
    memset(data, 0xff, size);
  } else {
    memset(data, 0xff, MAX_FILLED / 2);
    memset(data + size - MAX_FILLED / 2, 0xff, MAX_FILLED / 2);
  }
}

static int place_on_device(block *b, size_t size) {
  size_t offset;
  if (!reserve() || size > RANGE / 4) return BSM_CU_OUT_OF_MEMORY;
  const size_t aligned = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const size_t bytes = (size + PAGE - 1) / PAGE * PAGE;
  if (!find_place(bytes, &offset)) return BSM_CU_OUT_OF_MEMORY;
  *b = (block){.size = size, .page_bytes = bytes};
  b->pages = (uint64_t)(uintptr_t)device_range + offset;
  b->address = b->pages + (bytes - aligned);
  b->data = shadow_of(b->address);
  memset(shadow_of(b->pages), PATTERN, bytes - aligned);
  memset(b->data + size, PATTERN, aligned - size);
  fill_new(b->data, size);
  if (opened) {
    (void)mprotect((void *)(uintptr_t)b->pages, bytes, PROT_READ | PROT_WRITE);
  }
  return BSM_CU_SUCCESS;
}

static int new_block(size_t size, bool host, block **out) {
  if (size == 0) return misuse("nothing is allocated");
  if (!host && standin.report.device_bytes + size > standin.memory_limit) {
    return BSM_CU_OUT_OF_MEMORY;
  }
  block *b = free_entry();
  if (!b) return BSM_CU_OUT_OF_MEMORY;
  if (host) {
    void *data = NULL;
    if (posix_memalign(&data, PAGE, size)) return BSM_CU_OUT_OF_MEMORY;
    fill_new(data, size);
    *b = (block){.address = (uint64_t)(uintptr_t)data,
                 .size = size,
                 .data = data,
                 .host = true};
  } else {
    const int result = place_on_device(b, size);
    if (result) return result;
  }
  b->device = here() ? here()->device : 0;
  ++*(host ? &standin.report.host_blocks : &standin.report.device_blocks);
  if (!host) standin.report.device_bytes += size;
  *out = b;
  return BSM_CU_SUCCESS;
}

static void release(block *b) {
  if (b->host) {
    free(b->data);
  } else {
    void *pages = (void *)(uintptr_t)b->pages;
    (void)mprotect(pages, b->page_bytes, PROT_NONE);
    (void)fallocate(range_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)((unsigned char *)pages - device_range),
                    (off_t)b->page_bytes);
  }
  *b = (block){0};
}

static int free_block(uint64_t address, bool host) {
  block *b = find(address, 1);
  if (!b || b->address != address || b->host != host) {
    return misuse("what is freed was not allocated");
  }
  --*(host ? &standin.report.host_blocks : &standin.report.device_blocks);
  if (!host) standin.report.device_bytes -= b->size;
  release(b);
  return BSM_CU_SUCCESS;
}

int free_device_block(uint64_t address) {
  return free_block(address, false);
}

unsigned char *bytes_of(uint64_t address, size_t size) {
  block *b = find(address, size);
  if (!b || b->host) {
    misuse("%zu bytes beyond a block of the device", size);
    return NULL;
  }
  return b->data + (address - b->address);
}

bool is_pinned(const void *memory, size_t size) {
  const block *b = find((uint64_t)(uintptr_t)memory, size);
  return b && b->host;
}

void memory_reset(void) {
  for (int i = 0; i < used_entries; i++) {
    if (blocks[i].data) release(&blocks[i]);
  }
  used_entries = 0;
}

void memory_free(void) {
  memory_reset();
  if (!device_range) return;
  munmap(device_range, RANGE);
  munmap(shadow_range, RANGE);
  close(range_file);
  device_range = shadow_range = NULL;
}

/* ---- for kernels ---- */

static void protect(int protection) {
  for (int i = 0; i < used_entries; i++) {
    const block *b = &blocks[i];
    if (!b->data || b->host) continue;
    (void)mprotect((void *)(uintptr_t)b->pages, b->page_bytes, protection);
  }
}

void memory_open(void) {
  if (opened++ == 0) protect(PROT_READ | PROT_WRITE);
}

void memory_close(void) {
  if (--opened == 0) protect(PROT_NONE);
}

/* Less than a page. */
static bool has_pattern(const unsigned char *from, const unsigned char *to) {
  static unsigned char page[PAGE];
  if (!page[0]) memset(page, PATTERN, PAGE);
  return memcmp(from, page, (size_t)(to - from)) == 0;
}

bool memory_is_spoiled(char *text, size_t room) {
  for (int i = 0; i < used_entries; i++) {
    const block *b = &blocks[i];
    if (!b->data || b->host) continue;
    const unsigned char *pages = shadow_of(b->pages);
    const bool before = !has_pattern(pages, b->data);
    if (before || !has_pattern(b->data + b->size, pages + b->page_bytes)) {
      snprintf(text, room, "has written %s a block of %zu bytes (%#" PRIx64 ")",
               before ? "before" : "behind", b->size, b->address);
      return true;
    }
  }
  return false;
}

void memory_describe(uint64_t address, char *text, size_t room) {
  const uint64_t range = (uint64_t)(uintptr_t)device_range;
  const block *nearest = NULL;
  if (!device_range || address < range || address >= range + RANGE) {
    snprintf(text, room, "address %#" PRIx64 " is none of the device's",
             address);
    return;
  }
  for (int i = 0; i < used_entries; i++) {
    const block *b = &blocks[i];
    if (!b->data || b->host || b->address > address) continue;
    if (!nearest || b->address > nearest->address) nearest = b;
  }
  if (!nearest) {
    snprintf(text, room, "address %#" PRIx64 " is before all blocks", address);
    return;
  }
  snprintf(text, room,
           "address %#" PRIx64 " is %" PRIu64
           " bytes behind the start of a block of %zu (%#" PRIx64 ")",
           address, address - nearest->address, nearest->size,
           nearest->address);
}

/* ---- the calls ---- */

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  block *b;
  BEGIN_HERE();
  NEED(!is_capturing_here());
  result_ = new_block(bytes, false, &b);
  if (!result_) *address = b->address;
  END();
}

EXPORT int cuMemFree_v2(uint64_t address);
int cuMemFree_v2(uint64_t address) {
  BEGIN_RELEASE();
  NEED(!is_capturing_here());
  drain_all();
  result_ = free_block(address, false);
  END_RELEASE();
}

EXPORT int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuMemGetInfo_v2(size_t *available, size_t *total) {
  BEGIN_HERE();
  *available = standin.memory_limit - standin.report.device_bytes;
  *total = standin.memory_limit;
  END();
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  block *b;
  (void)flags;
  BEGIN_HERE();
  NEED(!is_capturing_here());
  result_ = new_block(bytes, true, &b);
  if (!result_) *memory = b->data;
  END();
}

EXPORT int cuMemFreeHost(void *memory);
int cuMemFreeHost(void *memory) {
  BEGIN_RELEASE();
  NEED(!is_capturing_here());
  drain_all();
  result_ = free_block((uint64_t)(uintptr_t)memory, true);
  END_RELEASE();
}

EXPORT int cuPointerGetAttribute(void *value, int attribute, uint64_t address);
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  BEGIN();
  block *b = find(address, 1);
  if (!b) { /* it is no misuse to ask */
    result_ = BSM_CU_INVALID_VALUE;
    goto end;
  }
  *(int *)value = attribute == BSM_CU_POINTER_DEVICE_ORDINAL ? b->device
                  : attribute != BSM_CU_POINTER_MEMORY_TYPE  ? 0
                  : b->host ? BSM_CU_MEMORY_TYPE_HOST
                            : BSM_CU_MEMORY_TYPE_DEVICE;
  END();
}

EXPORT int cuMemPoolCreate(void **pool, const bsm_cu_pool_props *props);
int cuMemPoolCreate(void **pool, const bsm_cu_pool_props *props) {
  BEGIN();
  NEED(props->allocation_type == 1 && props->location.type == 1);
  *pool = make(POOL, NULL);
  END();
}

EXPORT int cuMemPoolDestroy(void *pool);
int cuMemPoolDestroy(void *pool) {
  BEGIN();
  result_ = destroy(pool, POOL);
  END();
}

EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value);
int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  BEGIN();
  NEED(is(pool, POOL) && attribute == BSM_CU_POOL_RELEASE_THRESHOLD && value);
  END();
}

EXPORT int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool,
                                   void *stream);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, void *pool,
                            void *stream) {
  block *b;
  BEGIN_HERE();
  NEED(is(pool, POOL) && is(stream, STREAM));
  NEED(!((object *)stream)->graph); /* memory of graphs is not modelled */
  result_ = new_block(bytes, false, &b);
  if (result_ == BSM_CU_OUT_OF_MEMORY) {
    drain_all(); /* what is to be freed may make room */
    result_ = new_block(bytes, false, &b);
  }
  if (!result_) *address = b->address;
  END();
}

EXPORT int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream) {
  BEGIN_RELEASE();
  NEED(is(stream, STREAM));
  NEED(!((object *)stream)->graph);
  block *b = find(address, 1);
  if (!b || b->address != address || b->host || b->is_freeing) {
    result_ = misuse("what is freed was not allocated");
    goto end;
  }
  operation *o = new_operation(FREE, NULL, 0);
  NEED(o);
  o->to = address;
  b->is_freeing = true;
  result_ = submit(stream, o);
  END_RELEASE();
}

/* ---- copies ---- */

/* From memory that is not pinned the driver copies before it returns. */
EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                                void *stream);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                         void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(bytes_of(to, bytes));
  const bool late = is_pinned(from, bytes);
  NEED(late || !((object *)stream)->graph); /* it is read when a graph runs */
  operation *o = late ? new_operation(UPLOAD, NULL, 0)
                      : new_operation(UPLOAD, from, bytes);
  NEED(o);
  o->to = to;
  o->bytes = bytes;
  o->host_from = late ? from : NULL;
  result_ = submit(stream, o);
  END();
}

/* Into memory that is not pinned the driver waits until it is done. */
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes,
                                void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(bytes_of(from, bytes));
  NEED(is_pinned(to, bytes) || !((object *)stream)->graph);
  operation *o = new_operation(DOWNLOAD, NULL, 0);
  NEED(o);
  o->from = from;
  o->host_to = to;
  o->bytes = bytes;
  result_ = submit(stream, o);
  if (!((object *)stream)->graph && !is_pinned(to, bytes)) {
    drain(stream);
    if (!result_) result_ = here()->error;
  }
  END();
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                                void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                         void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(bytes_of(to, bytes) && bytes_of(from, bytes));
  operation *o = new_operation(COPY, NULL, 0);
  NEED(o);
  o->to = to;
  o->from = from;
  o->bytes = bytes;
  result_ = submit(stream, o);
  END();
}

/* One copy for each row. */
EXPORT int cuMemcpy2DAsync_v2(const bsm_cu_copy_2d *c, void *stream);
int cuMemcpy2DAsync_v2(const bsm_cu_copy_2d *c, void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(c->from_type == BSM_CU_MEMORY_TYPE_DEVICE);
  NEED(c->to_type == BSM_CU_MEMORY_TYPE_DEVICE);
  NEED(c->from_pitch >= c->width && c->to_pitch >= c->width);
  for (size_t i = 0; i < c->height && !result_; i++) {
    operation *o = new_operation(COPY, NULL, 0);
    NEED(o);
    o->to = c->to + i * c->to_pitch;
    o->from = c->from + i * c->from_pitch;
    o->bytes = c->width;
    if (bytes_of(o->to, c->width) && bytes_of(o->from, c->width)) {
      result_ = submit(stream, o);
    } else {
      free(o);
      result_ = BSM_CU_INVALID_VALUE;
    }
  }
  END();
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                           void *stream);
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                    void *stream) {
  BEGIN_HERE();
  NEED(is(stream, STREAM));
  NEED(bytes_of(to, bytes));
  operation *o = new_operation(FILL, NULL, 0);
  NEED(o);
  o->to = to;
  o->value = value;
  o->bytes = bytes;
  result_ = submit(stream, o);
  END();
}
