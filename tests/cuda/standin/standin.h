/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the stand-in of NVIDIA's driver: its books, and what the files of
 * this folder have of each other. Everything is under one lock, which every
 * call holds. */
#ifndef TESTS_CUDA_STANDIN_STANDIN_H_
#define TESTS_CUDA_STANDIN_STANDIN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/cuda/cuda_types.h"
#include "cuda/emulation/emulation_abi.h"
#include "cuda/standin_cuda.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_OBJECTS 4096
#define MAX_LAUNCHES 64

/* ---- handles: entries of a table, so that dead ones are seen ---- */

typedef enum kind {
  NONE = 0,
  CONTEXT,
  STREAM,
  EVENT,
  MODULE,
  FUNCTION,
  POOL,
  GRAPH,
  EXECUTABLE,
  KINDS
} kind;

typedef struct operation operation;
typedef struct queue {
  operation *first, *last;
} queue;

typedef struct object {
  kind kind;
  uint64_t serial; /* of all that were ever made: entries are used again */
  struct object *owner;
  int device, retained;    /* contexts */
  int error;               /* contexts: what every further call gives */
  queue queue;             /* streams: what waits; graphs and executables */
  struct wiring *wiring;   /* graphs and executables: what waits for what */
  struct object *graph;    /* streams and events that belong to a capture */
  bool is_origin;          /* streams: the capture began here */
  bool has_unjoined;       /* streams: work of a capture nobody waits for */
  uint64_t recorded, done; /* events: how often */
  uint64_t moment;         /* events: counted, when it was last recorded */
  struct object *stream;   /* events: where they were recorded last */
  void *library;           /* modules: of the host */
  int file;
  emulated_module *emulated;
  const emulated_entry *entry; /* functions; NULL: launches are only noted */
  unsigned max_dynamic_shared;
  char name[64];
} object;

typedef struct standin_state {
  standin_report report;
  standin_launch launches[MAX_LAUNCHES];
  int launch_count, device_count, driver_version, sm;
  size_t memory_limit;
  uint64_t fail_at, delay, order, random;
  int fail_result;
  bool fail_loses; /* the contexts, too */
  bool initialized;
} standin_state;

extern standin_state standin;
extern object objects[MAX_OBJECTS];

int misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* NULL: the table is full. */
object *make(kind k, object *owner);
bool is(const void *handle, kind k);
int destroy(void *handle, kind k);
/* The context that is current in this thread. */
object *here(void);
/* Something failed on the device: the context is lost. */
void lose(object *context, int result, const char *text);

/* Every call begins with one of these. What releases something does it though
 * the context is lost, and says that it is. */
#define BEGIN()                  \
  standin_lock();                \
  int result_ = standin_begin(); \
  if (result_) goto end
#define BEGIN_RELEASE()                                 \
  BEGIN();                                              \
  if (!here()) {                                        \
    result_ = misuse("%s without a context", __func__); \
    goto end;                                           \
  }
#define BEGIN_HERE()         \
  BEGIN_RELEASE();           \
  if (here()->error) {       \
    result_ = here()->error; \
    goto end;                \
  }
#define NEED(condition)                                \
  if (!(condition)) {                                  \
    result_ = misuse("%s: not " #condition, __func__); \
    goto end;                                          \
  }
#define END()       \
  goto end;         \
  end:              \
  standin_unlock(); \
  return result_
#define END_RELEASE()                                               \
  if (!result_ && here() && here()->error) result_ = here()->error; \
  END()
void standin_lock(void);
void standin_unlock(void);
/* Counts the call; what it gives instead of doing anything, or 0. */
int standin_begin(void);

/* ---- memory ---- */

/* The bytes behind an address of the device, NULL (a misuse) beyond a block;
 * another address than kernels use, so that the device's stays closed. */
unsigned char *bytes_of(uint64_t address, size_t size);
bool is_pinned(const void *memory, size_t size);
int free_device_block(uint64_t address);
/* Kernels may use the device's memory between these two. */
void memory_open(void);
void memory_close(void);
/* Whether a kernel has written between blocks: says where. */
bool memory_is_spoiled(char *text, size_t room);
/* What an address that a kernel used is. */
void memory_describe(uint64_t address, char *text, size_t room);
void memory_reset(void);
void memory_free(void);

/* ---- work of streams ---- */

typedef enum operation_kind {
  UPLOAD,
  DOWNLOAD,
  COPY,
  FILL,
  LAUNCH,
  FREE,
  RECORD,
  WAIT
} operation_kind;

struct operation {
  operation *next;
  operation_kind kind;
  uint64_t to, from;
  size_t bytes;
  const void *host_from; /* UPLOAD; NULL: the payload */
  void *host_to;         /* DOWNLOAD */
  unsigned char value;   /* FILL */
  object *object;        /* LAUNCH: the function; RECORD, WAIT: the event */
  uint64_t serial;       /* of the object */
  uint64_t count;        /* RECORD, WAIT: how often it has been recorded */
  object *stream;        /* WAIT: where that was */
  unsigned grid[3], block[3], shared_bytes;
  size_t payload_bytes;
  unsigned char payload[]; /* LAUNCH: the parameter */
};

/* NULL: no memory. */
operation *new_operation(operation_kind k, const void *payload, size_t bytes);
void append(queue *q, operation *o);
void empty(queue *q);
bool copy_queue(const queue *from, queue *to);
/* Into the capture, into the stream, or done at once; takes `o`. */
int submit(object *stream, operation *o);
/* The same into a capture. */
int append_node(object *graph, operation *o);
void free_wiring(object *graph);
/* Whether this thread captures a stream: then it may not allocate. */
bool is_capturing_here(void);
void forget_captures(void);
/* Does what waits in a stream; in all streams. */
void drain(object *stream);
void drain_all(void);
/* Work of a stream, done: a CUresult that loses the context. */
int run_launch(const operation *o, char *text, size_t room);

/* ---- modules and kernels ---- */

void close_module(object *module);
void grid_free(void);

#endif /* TESTS_CUDA_STANDIN_STANDIN_H_ */
