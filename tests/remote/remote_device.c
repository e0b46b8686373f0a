/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the remote device, and what is counted and made to fail. */
#include "base/allocate.h"
#include "tests/remote/remote_internal.h"

/* ---- counters ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int live, replays, happened[REMOTE_FAULTS], failing[REMOTE_FAULTS];

void remote_count(int by) {
  pthread_mutex_lock(&lock);
  live += by;
  pthread_mutex_unlock(&lock);
}

void remote_count_replay(void) {
  pthread_mutex_lock(&lock);
  replays++;
  pthread_mutex_unlock(&lock);
}

bool remote_shall_fail(remote_fault kind) {
  pthread_mutex_lock(&lock);
  happened[kind]++;
  const bool fails = failing[kind] && --failing[kind] == 0;
  pthread_mutex_unlock(&lock);
  return fails;
}

void remote_inject(remote_faults faults) {
  pthread_mutex_lock(&lock);
  failing[REMOTE_FAULT_ALLOCATION] = faults.allocation;
  failing[REMOTE_FAULT_PREPARE] = faults.prepare;
  failing[REMOTE_FAULT_STEP] = faults.step;
  failing[REMOTE_FAULT_TRANSFER] = faults.transfer;
  failing[REMOTE_FAULT_RECORDING] = faults.recording;
  pthread_mutex_unlock(&lock);
}

static int read_locked(const int *value) {
  pthread_mutex_lock(&lock);
  const int result = *value;
  pthread_mutex_unlock(&lock);
  return result;
}

int remote_live(void) {
  return read_locked(&live);
}

int remote_steps(void) {
  return read_locked(&happened[REMOTE_FAULT_STEP]);
}

int remote_transfers(void) {
  return read_locked(&happened[REMOTE_FAULT_TRANSFER]);
}

int remote_replays(void) {
  return read_locked(&replays);
}

/* ---- the device ---- */

static bsm_status remote_open(const bsm_device_options *options,
                              bsm_device **out) {
  const bsm_device_ops *cpu;
  *out = NULL;
  if (options->index != 0) {
    return BSM_FAIL(BSM_NOT_FOUND, "there is no remote device %d, only 0",
                    (int)options->index);
  }
  BSM_TRY(bsm_device_find(bsm_str_of("cpu"), &cpu));
  remote_device *d =
      bsm_allocate(options->allocator, sizeof(*d), _Alignof(remote_device));
  BSM_TRY_ALLOC(d);
  *d = (remote_device){.base = {&remote_device_ops},
                       .allocator = options->allocator};
  const bsm_device_options inner = {.allocator = options->allocator};
  bsm_status status = cpu->open(&inner, &d->cpu);
  if (!status && pthread_mutex_init(&d->lock, NULL)) {
    cpu->close(d->cpu);
    status = BSM_FAIL_OOM();
  }
  if (status) {
    bsm_deallocate(options->allocator, d);
    return status;
  }
  remote_count(1);
  *out = &d->base;
  return BSM_OK;
}

static void remote_close(bsm_device *device) {
  remote_device *d = (remote_device *)device;
  if (!d) return;
  if (d->pieces) __builtin_trap(); /* memory outlives its device */
  d->cpu->ops->close(d->cpu);
  pthread_mutex_destroy(&d->lock);
  bsm_deallocate(d->allocator, d);
  remote_count(-1);
}

const bsm_device_ops remote_device_ops = {
    .version = BSM_DEVICE_VERSION,
    .name = "remote",
    .array_alignment = 16,
    .open = remote_open,
    .close = remote_close,
    .allocate = remote_allocate,
    .release = remote_release,
    .stream_create = remote_stream_create,
    .stream_destroy = remote_stream_destroy,
    .synchronize = remote_synchronize,
    .upload = remote_upload,
    .download = remote_download,
    .copy = remote_copy,
    .fill_zero = remote_fill_zero,
    .copy_strided = remote_copy_strided,
    .event_create = remote_event_create,
    .event_destroy = remote_event_destroy,
    .event_record = remote_event_record,
    .event_wait = remote_event_wait,
    .event_seconds = remote_event_seconds,
    .record_begin = remote_record_begin,
    .record_end = remote_record_end,
    .replay = remote_replay,
    .recording_destroy = remote_recording_destroy,
    .check = remote_check,
    .prepare = remote_prepare,
    .discard = remote_discard,
    .describe = remote_describe,
};
