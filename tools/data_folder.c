/* SPDX-License-Identifier: Apache-2.0 */
/* Batches from files. */
#include "tools/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

static bool is_array_file(const char *name) {
  const bsm_str text = bsm_str_of(name);
  return bsm_str_ends_with(text, BSM_STR(".npz")) ||
         bsm_str_ends_with(text, BSM_STR(".npy"));
}

static int by_name(const void *pa, const void *pb) {
  return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

static bsm_status list_files(bsm_data_folder *f, const char *path, DIR *dir) {
  struct dirent *entry;
  while ((entry = readdir(dir))) {
    if (!is_array_file(entry->d_name)) continue;
    const char *file =
        bsm_arena_printf(&f->names, "%s/%s", path, entry->d_name);
    if (!file || !bsm_vec_push(&f->names, &f->paths, file)) {
      return BSM_FAIL_OOM();
    }
  }
  if (!f->paths.len) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "%s: there is no calibration data: no .npz or .npy file",
                    path);
  }
  qsort(f->paths.items, f->paths.len, sizeof(*f->paths.items), by_name);
  return BSM_OK;
}

bsm_status bsm_data_folder_open(const char *path, bsm_data_folder *out) {
  struct stat info;
  *out = (bsm_data_folder){0};
  bsm_arena_init(&out->names, NULL);
  bsm_arena_init(&out->arena, NULL);
  if (stat(path, &info)) {
    return BSM_FAIL(BSM_IO, "%s: %s", path, strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return bsm_vec_push(&out->names, &out->paths, path) ? BSM_OK
                                                        : BSM_FAIL_OOM();
  }
  DIR *dir = opendir(path);
  if (!dir) return BSM_FAIL(BSM_IO, "%s: %s", path, strerror(errno));
  bsm_status status = list_files(out, path, dir);
  (void)closedir(dir);
  return status;
}

static void close_file(bsm_data_folder *f) {
  bsm_array_set_close(&f->open);
  bsm_arena_destroy(&f->arena);
  f->batch = f->batches = 0;
}

void bsm_data_folder_close(bsm_data_folder *folder) {
  close_file(folder);
  bsm_arena_destroy(&folder->names);
}

/* ---- arrays ---- */

/* By name, or as in_<i>, or in order when there is one for each input. */
static const bsm_npy_array *find(const bsm_array_set *set,
                                 const bsm_binding *input, size_t i,
                                 size_t count) {
  char position[32];
  (void)snprintf(position, sizeof(position), "in_%zu", i);
  const char *names[] = {input->name, position};
  for (int k = 0; k < 2; k++) {
    for (size_t a = 0; a < set->count; a++) {
      if (strcmp(set->items[a].name, names[k]) == 0) return &set->items[a];
    }
  }
  return set->count == count ? &set->items[i] : NULL;
}

static bool dims_end_alike(bsm_dims a, bsm_dims b) {
  return a.rank == b.rank &&
         memcmp(a.d + 1, b.d + 1,
                (size_t)(a.rank > 1 ? a.rank - 1 : 0) * sizeof(*a.d)) == 0;
}

static bsm_status bind(bsm_data_folder *f, const bsm_npy_array *item,
                       const bsm_binding *input, size_t i) {
  const bsm_array *array = &item->array;
  const int64_t rows = input->dims.rank ? input->dims.d[0] : 1;
  if (item->problem) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT, "array '%s': %s", item->name,
                    item->problem);
  }
  if (!array->data || array->dtype != input->dtype ||
      !dims_end_alike(array->dims, input->dims) ||
      (array->dims.rank && array->dims.d[0] < rows)) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "array '%s' is %s %s, but input '%s' takes %s %s, or more "
                    "rows",
                    item->name, bsm_dtype_name(array->dtype),
                    bsm_dims_str(array->dims), input->name,
                    bsm_dtype_name(input->dtype), bsm_dims_str(input->dims));
  }
  f->whole[i] = *array;
  if (!array->dims.rank || array->dims.d[0] == rows || rows == 0) return BSM_OK;
  const size_t batches = (size_t)(array->dims.d[0] / rows);
  f->share[i] = rows;
  if (f->batches > 1 && f->batches != batches) {
    return BSM_FAIL(BSM_INVALID_ARGUMENT,
                    "array '%s' has rows for %zu batches, another for %zu",
                    item->name, batches, f->batches);
  }
  f->batches = batches;
  f->dropped += (uint64_t)(array->dims.d[0] % rows);
  return BSM_OK;
}

static bsm_status open_file(bsm_data_folder *f, const char *path,
                            const bsm_binding *inputs, size_t count) {
  close_file(f);
  BSM_TRY(bsm_array_set_open(&f->arena, &path, 1, NULL, &f->open));
  f->whole = BSM_NEW_ARRAY(&f->arena, bsm_array, count + 1);
  f->share = BSM_NEW_ARRAY(&f->arena, int64_t, count + 1);
  if (!f->whole || !f->share) return BSM_FAIL_OOM();
  f->batches = 1;
  for (size_t i = 0; i < count; i++) {
    const bsm_npy_array *item = find(&f->open, &inputs[i], i, count);
    if (!item) {
      return BSM_FAIL(BSM_INVALID_ARGUMENT, "no array for input '%s'",
                      inputs[i].name);
    }
    BSM_TRY(bind(f, item, &inputs[i], i));
  }
  return BSM_OK;
}

bsm_status bsm_data_folder_next(void *user, size_t batch,
                                const bsm_binding *inputs, size_t count,
                                bsm_array *arrays, bool *end) {
  bsm_data_folder *f = user;
  (void)batch;
  if (f->batch == f->batches) {
    if (f->next == f->paths.len) {
      *end = true;
      return BSM_OK;
    }
    const char *path = f->paths.items[f->next++];
    BSM_TRY_NOTE(open_file(f, path, inputs, count), "in %s", path);
  }
  for (size_t i = 0; i < count; i++) {
    arrays[i] = f->whole[i];
    if (!f->share[i]) continue;
    size_t row = bsm_dtype_size(arrays[i].dtype);
    for (int32_t k = 1; k < arrays[i].dims.rank; k++) {
      row *= (size_t)arrays[i].dims.d[k];
    }
    arrays[i].dims.d[0] = f->share[i];
    arrays[i].data =
        (char *)arrays[i].data + f->batch * (size_t)f->share[i] * row;
  }
  f->batch++;
  return BSM_OK;
}
