/* SPDX-License-Identifier: Apache-2.0 */
/* What plans run on: a device has memory, streams of work, events in them, and
 * runs the steps of a plan that are in its memory space.
 *
 * Everything given to a stream is done in order, and perhaps later: memory that
 * is copied or computed with, on the host too, has to stay as it is until the
 * stream was synchronised (or an event behind the call was waited for). Only
 * what `host_accessible` says may be read and written through device addresses:
 * to all others they are numbers.
 *
 * A step is checked once (hostile engines), prepared once for a stream, and
 * enqueued any number of times. Preparing finds kernels and computes what does
 * not depend on addresses; enqueueing allocates nothing.
 *
 * An implementation is one bsm_device_ops, listed in devices.c, whose structs
 * begin with those below. A device may be used by several threads at a time; a
 * stream and its events by one. */
#ifndef BSM_BACKEND_DEVICE_H_
#define BSM_BACKEND_DEVICE_H_

#include "base/arena.h"
#include "bessemer/allocator.h"
#include "bessemer/log.h"
#include "bessemer/thread_pool.h"
#include "engine/plan.h"

/* Of this interface: a table of another version is refused. */
#define BSM_DEVICE_VERSION 6

typedef struct bsm_device_ops bsm_device_ops;

/* The first member of an implementation's own struct, as the next two. */
typedef struct bsm_device {
  const bsm_device_ops *ops;
} bsm_device;

typedef struct bsm_stream {
  bsm_device *device;
} bsm_stream;

typedef struct bsm_event {
  bsm_device *device;
} bsm_event;

/* A copy of an array whose elements are apart. Strides, in elements, are not
 * negative. */
typedef struct bsm_strided_copy {
  void *to;
  const void *from;
  size_t element; /* bytes */
  bsm_dims dims;
  int64_t to_strides[BSM_MAX_RANK], from_strides[BSM_MAX_RANK];
} bsm_strided_copy;

/* Work of a stream that was noted, to be done again as one piece. */
typedef struct bsm_recording {
  bsm_device *device;
} bsm_recording;

/* The machine code of an engine on a device: what it is the device knows. */
typedef struct bsm_code_image bsm_code_image;

/* The addresses of one execution, in the space of its stream: tensors of other
 * spaces have entries here that a step does not look at. */
typedef struct bsm_run {
  bsm_stream *stream;
  void *const *inputs;        /* by binding */
  void *const *outputs;       /* by binding */
  const void *const *weights; /* by weights of the plan; NULL: the plan's */
  uint8_t *workspace;
  uint8_t *scratch; /* of one step; aligned to BSM_ALIGNMENT */
  uint32_t lane;    /* steps beside each other have others, and other scratch */
} bsm_run;

/* Above all lanes. */
#define BSM_DEVICE_LANES 4

/* A step that is ready to run on one stream. `impl` belongs to who prepared it
 * and lies in the arena given to prepare. */
typedef struct bsm_prepared_step bsm_prepared_step;
struct bsm_prepared_step {
  /* Puts the step behind what is in the stream of `run`, and may run it at
   * once. The addresses are read before this returns; `prepared` is used until
   * the stream was synchronised. The only failures are those of data, such as
   * an index out of range; they come from here, or from synchronize. */
  bsm_status (*enqueue)(const bsm_prepared_step *prepared, const bsm_run *run);
  const bsm_plan *plan;
  const bsm_plan_step *step;
  const void *impl;
  size_t scratch_size; /* bytes of scratch that it needs while it runs */
  uint32_t joined;     /* steps behind this one that it does, too */
  bool counts;         /* uses more than that of its lane */
  bool fills;          /* nothing is gained by other steps beside it */
};

typedef struct bsm_device_options {
  int32_t index;                  /* which of the machine's devices */
  const bsm_allocator *allocator; /* of its own structs; NULL: malloc */
  const bsm_logger *logger;       /* NULL: silent; outlives the device */
} bsm_device_options;

typedef struct bsm_stream_options {
  const bsm_allocator *allocator; /* of its own structs; NULL: malloc */
  const bsm_logger *logger;       /* NULL: silent; outlives the stream */
  /* For devices that compute with the host's threads: the pool (NULL: the
   * calling thread alone; outlives the stream) and the instructions to use
   * (base/isa.h; BSM_ISA_DETECT: all that there are). */
  bsm_thread_pool *pool;
  uint32_t isa;
  bool every_thread; /* small steps too wake all threads: for tests */
  bool profile;      /* events will be asked for times */
  /* What steps that are prepared for the stream find their code in; outlives
   * it. NULL: none. */
  bsm_code_image *code;
  /* The caller's stream, as a handle of the device's own API, that all work
   * goes into; outlives this one. NULL: a new one. */
  void *native;
} bsm_stream_options;

struct bsm_device_ops {
  uint32_t version;     /* BSM_DEVICE_VERSION */
  const char *name;     /* as targets name it: "cpu" */
  bool host_accessible; /* its addresses are those of the host's memory */
  /* What steps rely on of the addresses of inputs and outputs; 0: they are
   * multiples of an element. */
  uint32_t array_alignment;

  /* BSM_NOT_FOUND: there is no device of that index. */
  bsm_status (*open)(const bsm_device_options *options, bsm_device **out);
  void (*close)(bsm_device *device); /* after all of its streams and memory */

  /* Memory of any contents. `host`: where a device whose memory is the host's
   * takes it from (NULL: malloc); the others do not look at it. The same for
   * release, where NULL memory is allowed. */
  bsm_status (*allocate)(bsm_device *device, const bsm_allocator *host,
                         size_t bytes, size_t alignment, void **out);
  void (*release)(bsm_device *device, const bsm_allocator *host, void *memory);
  /* Whether memory of a caller that is said to be the device's is; NULL: nobody
   * can tell. BSM_INVALID_ARGUMENT: it is not, and steps would fail with it. */
  bsm_status (*check_address)(bsm_device *device, const void *address);

  /* The code of a plan, which outlives it, for all of its streams. NULL: the
   * device needs none. */
  bsm_status (*code_load)(bsm_device *device, const bsm_plan *plan,
                          bsm_code_image **out);
  void (*code_unload)(bsm_code_image *code); /* NULL is allowed */

  /* BSM_UNSUPPORTED: the device has no streams that a caller could have. */
  bsm_status (*stream_create)(bsm_device *device,
                              const bsm_stream_options *options,
                              bsm_stream **out);
  /* Waits for what is in it; NULL is allowed. */
  void (*stream_destroy)(bsm_stream *stream);
  /* Waits for all that was enqueued and returns its first failure, with the
   * step's name (bsm_note_step). What stood behind the failure was skipped;
   * afterwards the stream can be used again. */
  bsm_status (*synchronize)(bsm_stream *stream);
  /* Returns a failure of data that has come up so far, as synchronize, which
   * then does not return it again; waits for nothing. NULL: the device has none
   * that does not come from enqueue, or tells when somebody waits. */
  bsm_status (*look)(bsm_stream *stream);

  /* Copies between the host's memory and the device's, or within it, and
   * zeroes. `bytes` may be 0, addresses then NULL. */
  bsm_status (*upload)(bsm_stream *stream, void *to, const void *host_from,
                       size_t bytes);
  bsm_status (*download)(bsm_stream *stream, void *host_to, const void *from,
                         size_t bytes);
  bsm_status (*copy)(bsm_stream *stream, void *to, const void *from,
                     size_t bytes);
  bsm_status (*fill_zero)(bsm_stream *stream, void *to, size_t bytes);
  /* Within the device's memory; NULL: the device has no such copies. */
  bsm_status (*copy_strided)(bsm_stream *stream, const bsm_strided_copy *copy);

  /* A place in a stream, of the stream that it was last recorded in. */
  bsm_status (*event_create)(bsm_stream *stream, bsm_event **out);
  void (*event_destroy)(bsm_event *event); /* NULL is allowed */
  bsm_status (*event_record)(bsm_stream *stream, bsm_event *event);
  /* The host waits until the stream has come there; failures as synchronize,
   * which then does not return them again. */
  bsm_status (*event_wait)(bsm_event *event);
  /* From one to the other, both recorded in a stream with `profile`, and
   * reached. */
  double (*event_seconds)(const bsm_event *from, const bsm_event *to);

  /* Recordings, NULL, all of these, where the device has none. What is given to
   * the stream between begin and end is noted in place of being done: steps,
   * whose addresses are part of it, copies within the device's memory, and
   * fill_zero; nothing else may be, and nothing is waited for. Each replay does
   * it behind what is in the stream. The prepared steps outlive the recording,
   * which is destroyed when it is in no stream. */
  bsm_status (*record_begin)(bsm_stream *stream);
  /* What follows in the recording is the work of `place`, which waits for that
   * of `count` earlier places, and for nothing else. Places of a recording
   * rise. NULL: all work is done in order. */
  bsm_status (*record_place)(bsm_stream *stream, uint32_t place,
                             const uint32_t *behind, uint32_t count);
  /* Ends it whatever comes; *out is NULL after a failure. */
  bsm_status (*record_end)(bsm_stream *stream, bsm_recording **out);
  bsm_status (*replay)(bsm_stream *stream, const bsm_recording *recording);
  void (*recording_destroy)(bsm_recording *recording); /* NULL is allowed */

  /* Checks parameters, shapes and strides of a step against what the kernels
   * rely on: after it, running cannot leave its buffers. Also checks the sizes
   * of the step's weights. On the host, without a device. BSM_UNSUPPORTED,
   * before all else: the device has no such steps, or not in these dtypes. */
  bsm_status (*check)(const bsm_plan *plan, const bsm_plan_step *step);
  /* Makes a checked step ready. `weights`: by weights of the plan, device
   * addresses, whose contents have arrived; NULL for a host accessible device:
   * those of the plan itself. An unknown or unavailable tactic
   * falls back to the best one. Fills *out, `enqueue` too. */
  bsm_status (*prepare)(bsm_stream *stream, const bsm_plan *plan,
                        const bsm_plan_step *step, const void *const *weights,
                        bsm_arena *arena, bsm_prepared_step *out);
  /* Releases what prepare took beyond the arena; NULL: nothing ever. */
  void (*discard)(bsm_prepared_step *prepared);
  /* What the stream lacks of what the plans of a target were built with: the
   * steps that need it run with other kernels, and not as fast. NULL: nothing.
   * `target` is its text, or any. */
  const char *(*lacks)(const bsm_stream *stream, const char *target);
  /* The tactic that a prepared step uses, with its kernel: for profiles. */
  const char *(*describe)(const bsm_prepared_step *prepared);
};

/* ---- what all devices share ---- */

/* The devices that are linked in: devices.c, which a program may replace. */
const bsm_device_ops *const *bsm_device_table(size_t *count);

/* The device of a name. BSM_UNSUPPORTED: this build has none, with those there
 * are; BSM_INTERNAL: it has another version of this interface. */
BSM_NODISCARD bsm_status bsm_device_find(bsm_str name,
                                         const bsm_device_ops **out);

/* Where weights of a plan are. */
static inline const void *bsm_weights_address(const void *const *weights,
                                              const bsm_plan *plan,
                                              uint32_t id) {
  return weights ? weights[id] : plan->weights[id].data;
}

/* The address of a tensor in one execution. */
void *bsm_run_address(const bsm_run *run, const bsm_plan *plan,
                      uint32_t tensor);

/* Adds which step it was to a failure of running it; OK stays OK. */
bsm_status bsm_note_step(bsm_status status, const bsm_prepared_step *prepared);

#endif /* BSM_BACKEND_DEVICE_H_ */
