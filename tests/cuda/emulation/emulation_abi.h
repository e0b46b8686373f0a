/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-in of the driver and a kernel that was compiled for the host
 * know of each other; C and C++ include it. */
#ifndef TESTS_CUDA_EMULATION_EMULATION_ABI_H_
#define TESTS_CUDA_EMULATION_EMULATION_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATION_ABI 4

/* "Machine code": this header, then `bytes` of a shared library. "PTX": a line
 * of its own, then the same in hexadecimal digits and a NUL. */
#define EMULATION_MAGIC "\177BSMEMU"
#define EMULATION_PTX "// Bessemer: a kernel for the host\n"
typedef struct emulation_image {
  char magic[8];
  uint32_t abi;
  uint32_t sm;       /* compute capability: 90 */
  char architecture; /* 'a': for that one alone; 'v': virtual; or 0 */
  char padding[7];
  uint64_t bytes;
} emulation_image;

typedef struct emulated_index {
  unsigned x, y, z;
} emulated_index;

/* An asynchronous copy that has been asked for. */
typedef struct emulated_copy {
  void *to;
  const void *from;
  unsigned bytes; /* to write: those beyond `valid` are zeros */
  unsigned valid;
  unsigned group; /* of the thread's copies_commit */
} emulated_copy;

#define EMULATED_COPIES 64

/* What the driver's 128 bytes for copies of tiles are here: tensors of elements
 * of 16 bits, of which rows of a tile are swizzled. */
#define EMULATED_MAP_MAGIC 0x50414d54u
typedef struct emulated_map {
  uint32_t magic;
  uint8_t rank, row_bytes, is_image, padding;
  uint64_t address;
  uint32_t dims[5], strides[4]; /* strides: of 16 bytes */
  uint16_t box[5];              /* of images: maps, pixels */
  uint8_t step[5];
  int8_t unused;
  int32_t lower[3], upper[3]; /* of images */
} emulated_map;

/* What a thread of the device is, for its own code. */
typedef struct emulated_thread {
  emulated_index index, block;
  char *dynamic_shared; /* of its block */
  unsigned rank;        /* of its block, in the cluster */
  unsigned linear;      /* in the block */
  unsigned lane;        /* in the warp */
  unsigned copies;      /* in flight, the oldest first */
  unsigned group;       /* the next one */
  emulated_copy *copy;  /* EMULATED_COPIES of them */
} emulated_thread;

/* What lanes of a warp do together, once all have come: lane i's argument is
 * lanes[i] where bit i of `present` is set. */
typedef void emulated_meeting(void *const *lanes, unsigned present);

typedef struct emulation_calls {
  /* Waits for `threads` threads (0: the block) at barrier `id`, or only counts
   * itself there. Gives the number of those that brought `vote`. */
  int (*barrier)(int id, int threads, int vote, int waits);
  /* Waits for the lanes of `mask`; the last one that comes calls `act`. */
  void (*meet)(unsigned mask, emulated_meeting *act, void *argument);
  /* Waits for all threads of the cluster. */
  void (*cluster)(void);
  /* Lets other threads run. */
  void (*yield)(void);
  /* Ends the kernel with a CUresult; does not return. */
  void (*fail)(int result, const char *text);
} emulation_calls;

typedef struct emulated_entry {
  const char *name;
  void (*run)(const void *parameter);
  size_t parameter_bytes;
  unsigned max_threads;
  unsigned cluster; /* blocks beside each other that run together */
  struct emulated_entry *next;
} emulated_entry;

typedef struct emulated_module {
  unsigned abi;
  emulated_entry *entries;
  char *shared,
      *shared_end; /* variables of the module, garbage before a block */
  /* Set by who loads the module: */
  const emulation_calls *calls;
  /* Set by who runs a kernel: */
  emulated_thread *thread;
  emulated_index block, block_size, grid_size; /* the first: of the thread */
  size_t cluster_pitch; /* between the dynamic memories of two blocks */
  char *dynamic_shared;
  unsigned dynamic_bytes;
  uint64_t serial; /* of the block, or cluster: no other has it */
} emulated_module;

/* The one symbol that a compiled kernel exports. */
#define EMULATION_SYMBOL "bsm_emulated_module"
typedef emulated_module *emulation_symbol(void);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_CUDA_EMULATION_EMULATION_ABI_H_ */
