/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the CUDA driver's binary interface that we call, so that no CUDA
 * header is needed to build. Names follow cuda.h with a prefix of ours; the
 * numbers are those of the driver API and never change
 * (https://docs.nvidia.com/cuda/cuda-driver-api). */
#ifndef BSM_BACKEND_CUDA_TYPES_H_
#define BSM_BACKEND_CUDA_TYPES_H_

#include <stddef.h>
#include <stdint.h>

typedef int bsm_cu_result;       /* CUresult; 0: success */
typedef int bsm_cu_device;       /* CUdevice */
typedef uint64_t bsm_cu_address; /* CUdeviceptr: an address of the device */
typedef struct bsm_cu_ctx_s *bsm_cu_context;           /* CUcontext */
typedef struct bsm_cu_stream_s *bsm_cu_stream;         /* CUstream */
typedef struct bsm_cu_event_s *bsm_cu_event;           /* CUevent */
typedef struct bsm_cu_module_s *bsm_cu_module;         /* CUmodule */
typedef struct bsm_cu_function_s *bsm_cu_function;     /* CUfunction */
typedef struct bsm_cu_pool_s *bsm_cu_pool;             /* CUmemoryPool */
typedef struct bsm_cu_graph_s *bsm_cu_graph;           /* CUgraph */
typedef struct bsm_cu_node_s bsm_cu_node;              /* of CUgraphNode */
typedef struct bsm_cu_graph_exec_s *bsm_cu_graph_exec; /* CUgraphExec */

/* CUresult: those that are told apart. */
enum {
  BSM_CU_SUCCESS = 0,
  BSM_CU_INVALID_VALUE = 1,
  BSM_CU_OUT_OF_MEMORY = 2,
  BSM_CU_NOT_INITIALIZED = 3,
  BSM_CU_DEINITIALIZED = 4,
  BSM_CU_STUB_LIBRARY = 34,
  BSM_CU_DEVICE_UNAVAILABLE = 46,
  BSM_CU_NO_DEVICE = 100,
  BSM_CU_INVALID_DEVICE = 101,
  BSM_CU_INVALID_IMAGE = 200,
  BSM_CU_NO_BINARY_FOR_GPU = 209,
  BSM_CU_ECC_UNCORRECTABLE = 214,
  BSM_CU_INVALID_PTX = 218,
  BSM_CU_UNSUPPORTED_PTX_VERSION = 222,
  BSM_CU_OPERATING_SYSTEM = 304,
  BSM_CU_NOT_FOUND = 500,
  BSM_CU_NOT_READY = 600,
  BSM_CU_ILLEGAL_ADDRESS = 700,
  BSM_CU_LAUNCH_OUT_OF_RESOURCES = 701,
  BSM_CU_LAUNCH_TIMEOUT = 702,
  BSM_CU_HARDWARE_STACK_ERROR = 714,
  BSM_CU_ILLEGAL_INSTRUCTION = 715,
  BSM_CU_MISALIGNED_ADDRESS = 716,
  BSM_CU_LAUNCH_FAILED = 719,
  BSM_CU_SYSTEM_NOT_READY = 802,
  BSM_CU_SYSTEM_DRIVER_MISMATCH = 803,
  BSM_CU_COMPAT_NOT_SUPPORTED = 804
};

/* CUdevice_attribute */
enum {
  BSM_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  BSM_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  BSM_CU_ATTRIBUTE_L2_CACHE_SIZE = 38,
  BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  BSM_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  BSM_CU_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
  BSM_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  BSM_CU_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
};

/* Flags: CUstream_flags, CUevent_flags, cuMemHostAlloc. */
enum {
  BSM_CU_STREAM_NON_BLOCKING = 1,
  BSM_CU_EVENT_DISABLE_TIMING = 2,
  BSM_CU_HOST_ALLOC_PORTABLE = 1,
  BSM_CU_HOST_ALLOC_DEVICE_MAP = 2
};

/* CUfunction_attribute */
enum { BSM_CU_FUNCTION_MAX_DYNAMIC_SHARED_SIZE = 8 };

/* CUpointer_attribute, and CUmemorytype that it answers with. */
enum {
  BSM_CU_POINTER_MEMORY_TYPE = 2,
  BSM_CU_POINTER_IS_MANAGED = 8,
  BSM_CU_POINTER_DEVICE_ORDINAL = 9,
  BSM_CU_MEMORY_TYPE_HOST = 1,
  BSM_CU_MEMORY_TYPE_DEVICE = 2
};

/* CUmemPool_attribute: bytes that a pool keeps when a stream is synchronised */
enum { BSM_CU_POOL_RELEASE_THRESHOLD = 4 };

/* The size that the driver knows; it exists for 64 bits alone. */
#define BSM_CU_SIZE(type, size)                                 \
  _Static_assert(sizeof(type) == (size) || sizeof(void *) != 8, \
                 "the driver's layout")

/* CUmemPoolProps */
typedef struct bsm_cu_pool_props {
  int allocation_type; /* 1: pinned */
  int handle_types;    /* 0: none */
  struct {
    int type; /* 1: device */
    int id;
  } location;
  void *security_attributes;
  size_t max_size;
  unsigned short usage;
  unsigned char reserved[54];
} bsm_cu_pool_props;
BSM_CU_SIZE(bsm_cu_pool_props, 88);

/* CUDA_MEMCPY2D */
typedef struct bsm_cu_copy_2d {
  size_t from_x, from_y;
  int from_type; /* CUmemorytype */
  const void *from_host;
  bsm_cu_address from;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  int to_type;
  void *to_host;
  bsm_cu_address to;
  void *to_array;
  size_t to_pitch;
  size_t width, height; /* bytes of a row, rows */
} bsm_cu_copy_2d;
BSM_CU_SIZE(bsm_cu_copy_2d, 128);

/* CUstreamCaptureMode: other threads may go on calling the driver. */
enum { BSM_CU_CAPTURE_THREAD_LOCAL = 1 };

/* CUstreamUpdateCaptureDependencies_flags: in place of those there are. */
enum { BSM_CU_CAPTURE_SET_DEPENDENCIES = 1 };

/* CUlaunchAttribute and CUlaunchConfig */
enum {
  BSM_CU_LAUNCH_CLUSTER_DIMENSION = 4,
  BSM_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6
};
typedef struct bsm_cu_launch_attribute {
  int id;
  int padding;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int flag;
  } value;
} bsm_cu_launch_attribute;
_Static_assert(sizeof(bsm_cu_launch_attribute) == 72, "the driver's layout");

typedef struct bsm_cu_launch_config {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  bsm_cu_stream stream;
  bsm_cu_launch_attribute *attributes;
  unsigned attribute_count;
} bsm_cu_launch_config;

/* CUtensorMap, and the enumerations of its functions: of CUtensorMapDataType,
 * CUtensorMapSwizzle and CUtensorMapL2promotion those that are used. */
typedef struct bsm_cu_tensor_map {
  _Alignas(64) uint64_t words[16];
} bsm_cu_tensor_map;
enum {
  BSM_CU_TENSOR_FLOAT16 = 6,
  BSM_CU_TENSOR_SWIZZLE_64 = 2,
  BSM_CU_TENSOR_SWIZZLE_128 = 3,
  BSM_CU_TENSOR_PROMOTION_256 = 3
};

/* CUjit_option */
enum { BSM_CU_JIT_ERROR_LOG = 5, BSM_CU_JIT_ERROR_LOG_BYTES = 6 };

#endif /* BSM_BACKEND_CUDA_TYPES_H_ */
