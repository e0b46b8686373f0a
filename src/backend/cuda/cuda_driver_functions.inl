/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the driver that we call:
 * FUNCTION(member, "symbol", parameters). The symbol is the newest version that
 * a driver of CUDA 12.0 has. */
FUNCTION(init, "cuInit", (unsigned flags))
FUNCTION(driver_get_version, "cuDriverGetVersion", (int *version))
FUNCTION(get_error_name, "cuGetErrorName",
         (bsm_cu_result error, const char **text))
FUNCTION(get_error_string, "cuGetErrorString",
         (bsm_cu_result error, const char **text))

FUNCTION(device_get_count, "cuDeviceGetCount", (int *count))
FUNCTION(device_get, "cuDeviceGet", (bsm_cu_device * device, int ordinal))
FUNCTION(device_get_name, "cuDeviceGetName",
         (char *name, int size, bsm_cu_device device))
FUNCTION(device_get_attribute, "cuDeviceGetAttribute",
         (int *value, int attribute, bsm_cu_device device))
FUNCTION(device_total_memory, "cuDeviceTotalMem_v2",
         (size_t *bytes, bsm_cu_device device))
FUNCTION(primary_context_retain, "cuDevicePrimaryCtxRetain",
         (bsm_cu_context * context, bsm_cu_device device))
FUNCTION(primary_context_release, "cuDevicePrimaryCtxRelease_v2",
         (bsm_cu_device device))
FUNCTION(context_push, "cuCtxPushCurrent_v2", (bsm_cu_context context))
FUNCTION(context_pop, "cuCtxPopCurrent_v2", (bsm_cu_context * context))

FUNCTION(memory_allocate, "cuMemAlloc_v2",
         (bsm_cu_address * address, size_t bytes))
FUNCTION(memory_free, "cuMemFree_v2", (bsm_cu_address address))
FUNCTION(memory_info, "cuMemGetInfo_v2", (size_t * available, size_t *total))
FUNCTION(host_allocate, "cuMemHostAlloc",
         (void **memory, size_t bytes, unsigned flags))
FUNCTION(host_free, "cuMemFreeHost", (void *memory))
FUNCTION(upload_async, "cuMemcpyHtoDAsync_v2",
         (bsm_cu_address to, const void *from, size_t bytes,
          bsm_cu_stream stream))
FUNCTION(download_async, "cuMemcpyDtoHAsync_v2",
         (void *to, bsm_cu_address from, size_t bytes, bsm_cu_stream stream))
FUNCTION(copy_async, "cuMemcpyDtoDAsync_v2",
         (bsm_cu_address to, bsm_cu_address from, size_t bytes,
          bsm_cu_stream stream))
FUNCTION(copy_2d_async, "cuMemcpy2DAsync_v2",
         (const bsm_cu_copy_2d *copy, bsm_cu_stream stream))
FUNCTION(fill_async, "cuMemsetD8Async",
         (bsm_cu_address to, unsigned char value, size_t bytes,
          bsm_cu_stream stream))
FUNCTION(pointer_attribute, "cuPointerGetAttribute",
         (void *value, int attribute, bsm_cu_address address))
FUNCTION(pool_create, "cuMemPoolCreate",
         (bsm_cu_pool * pool, const bsm_cu_pool_props *props))
FUNCTION(pool_destroy, "cuMemPoolDestroy", (bsm_cu_pool pool))
FUNCTION(pool_set_attribute, "cuMemPoolSetAttribute",
         (bsm_cu_pool pool, int attribute, void *value))
FUNCTION(pool_allocate_async, "cuMemAllocFromPoolAsync",
         (bsm_cu_address * address, size_t bytes, bsm_cu_pool pool,
          bsm_cu_stream stream))
FUNCTION(pool_free_async, "cuMemFreeAsync",
         (bsm_cu_address address, bsm_cu_stream stream))

FUNCTION(stream_create, "cuStreamCreate",
         (bsm_cu_stream * stream, unsigned flags))
FUNCTION(stream_destroy, "cuStreamDestroy_v2", (bsm_cu_stream stream))
FUNCTION(stream_synchronize, "cuStreamSynchronize", (bsm_cu_stream stream))
FUNCTION(stream_get_context, "cuStreamGetCtx",
         (bsm_cu_stream stream, bsm_cu_context *context))
FUNCTION(stream_wait_event, "cuStreamWaitEvent",
         (bsm_cu_stream stream, bsm_cu_event event, unsigned flags))
FUNCTION(stream_begin_capture, "cuStreamBeginCapture_v2",
         (bsm_cu_stream stream, int mode))
FUNCTION(stream_end_capture, "cuStreamEndCapture",
         (bsm_cu_stream stream, bsm_cu_graph *graph))
FUNCTION(stream_get_capture_info, "cuStreamGetCaptureInfo_v2",
         (bsm_cu_stream stream, int *status, uint64_t *id, bsm_cu_graph *graph,
          bsm_cu_node *const **nodes, size_t *count))
FUNCTION(stream_update_capture, "cuStreamUpdateCaptureDependencies",
         (bsm_cu_stream stream, bsm_cu_node **nodes, size_t count,
          unsigned flags))
FUNCTION(event_create, "cuEventCreate", (bsm_cu_event * event, unsigned flags))
FUNCTION(event_destroy, "cuEventDestroy_v2", (bsm_cu_event event))
FUNCTION(event_record, "cuEventRecord",
         (bsm_cu_event event, bsm_cu_stream stream))
FUNCTION(event_synchronize, "cuEventSynchronize", (bsm_cu_event event))
FUNCTION(event_query, "cuEventQuery", (bsm_cu_event event))
FUNCTION(event_elapsed, "cuEventElapsedTime",
         (float *milliseconds, bsm_cu_event from, bsm_cu_event to))

FUNCTION(module_load, "cuModuleLoadDataEx",
         (bsm_cu_module * module, const void *image, unsigned option_count,
          int *options, void **values))
FUNCTION(module_unload, "cuModuleUnload", (bsm_cu_module module))
FUNCTION(module_get_function, "cuModuleGetFunction",
         (bsm_cu_function * function, bsm_cu_module module, const char *name))
FUNCTION(function_set_attribute, "cuFuncSetAttribute",
         (bsm_cu_function function, int attribute, int value))
FUNCTION(launch, "cuLaunchKernelEx",
         (const bsm_cu_launch_config *config, bsm_cu_function function,
          void **parameters, void **extra))

FUNCTION(graph_instantiate, "cuGraphInstantiateWithFlags",
         (bsm_cu_graph_exec * executable, bsm_cu_graph graph,
          unsigned long long flags))
FUNCTION(graph_launch, "cuGraphLaunch",
         (bsm_cu_graph_exec executable, bsm_cu_stream stream))
FUNCTION(graph_destroy, "cuGraphDestroy", (bsm_cu_graph graph))
FUNCTION(graph_exec_destroy, "cuGraphExecDestroy",
         (bsm_cu_graph_exec executable))

FUNCTION(map_tiles, "cuTensorMapEncodeTiled",
         (bsm_cu_tensor_map * map, int type, uint32_t rank, void *address,
          const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
          const uint32_t *step, int interleave, int swizzle, int promotion,
          int fill))
FUNCTION(map_pixels, "cuTensorMapEncodeIm2col",
         (bsm_cu_tensor_map * map, int type, uint32_t rank, void *address,
          const uint64_t *dims, const uint64_t *strides, const int *lower,
          const int *upper, uint32_t channels, uint32_t pixels,
          const uint32_t *step, int interleave, int swizzle, int promotion,
          int fill))
