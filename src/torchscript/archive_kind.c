/* SPDX-License-Identifier: Apache-2.0 */
/* Users try the file they have: a checkpoint, an old archive, an ONNX model, a
 * failed download. Each is told apart here by its first bytes or members.
 * Programs of torch.export have a reader of their own, in src/exported. */
#include "torchscript/archive_kind.h"

#define SAVE_AGAIN                                              \
  "load the model in Python and save it with "                  \
  "torch.export.save(torch.export.export(model, args), path), " \
  "or torch.jit.save(torch.jit.script(model), path)"
#define NEITHER "neither a TorchScript archive nor a program of torch.export"
#define ONLY_THESE "only TorchScript and programs of torch.export are read"

typedef struct magic {
  bsm_str bytes;
  size_t offset;
  const char *what, *advice;
} magic;

static const magic magics[] = {
    {{"PYTORCH1", 8},
     0,
     "TorchScript of the PyTorch 1.0 preview",
     "load it with the torch that wrote it, and save it again with torch 1.4 "
     "or newer"},
    /* A pickled long: the magic number of torch.save before 1.6. */
    {{"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14},
     0,
     "a checkpoint in the legacy format of torch.save",
     SAVE_AGAIN},
    {{"BSMENGIN", 8},
     0,
     "an engine of Bessemer",
     "it is compiled already: run it"},
    {{"\x80\x02", 2}, 0, "a plain pickle file", SAVE_AGAIN},
    {{"\x80\x03", 2}, 0, "a plain pickle file", SAVE_AGAIN},
    {{"\x80\x04", 2}, 0, "a plain pickle file", SAVE_AGAIN},
    {{"\x80\x05", 2}, 0, "a plain pickle file", SAVE_AGAIN},
    {{"\x93NUMPY", 6}, 0, "a NumPy array", "it holds data, not a model"},
    {{"ustar", 5}, 257, "a tar archive", SAVE_AGAIN},
    {{"\x1f\x8b", 2}, 0, "gzip data", "decompress it first"},
    {{"\x89HDF\r\n\x1a\n", 8}, 0, "an HDF5 file", ONLY_THESE},
    {{"TFL3", 4}, 4, "a TensorFlow Lite model", ONLY_THESE},
    {{"PTMF", 4},
     4,
     "a mobile model in FlatBuffer format",
     "save it with torch.jit.save instead"},
    {{"\x08", 1}, 0, "perhaps an ONNX model", ONLY_THESE},
    {{"graph(", 6},
     0,
     "TorchScript IR text",
     "give it a name that ends in .ir"},
    {{"version https://git-lfs", 23},
     0,
     "a Git LFS pointer",
     "fetch the file itself with git lfs pull"},
    {{"<!DOCTYPE", 9},
     0,
     "an HTML page",
     "the download of the model has failed"},
    {{"<html", 5}, 0, "an HTML page", "the download of the model has failed"},
    {{"{\"", 2}, 8, "a safetensors file", "it holds weights, not a model"},
};

bsm_status bsm_archive_check_magic(const void *data, size_t size) {
  const bsm_str file = {data, size};
  if (size == 0) return BSM_FAIL(BSM_CORRUPT, "the file is empty");
  /* An empty archive starts with its end record. */
  if (bsm_str_starts_with(file, BSM_STR("PK\x03\x04")) ||
      bsm_str_starts_with(file, BSM_STR("PK\x05\x06"))) {
    return BSM_OK;
  }
  for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
    const magic *m = &magics[i];
    if (size < m->offset + m->bytes.len ||
        memcmp(file.data + m->offset, m->bytes.data, m->bytes.len) != 0) {
      continue;
    }
    return BSM_FAIL(BSM_UNSUPPORTED, NEITHER " but %s: %s", m->what, m->advice);
  }
  return BSM_FAIL(BSM_CORRUPT,
                  NEITHER ": the file does not start as a zip archive does");
}

static bool has(const bsm_zip *zip, bsm_arena *arena, bsm_str prefix,
                const char *name, bool *oom) {
  const char *full =
      bsm_arena_printf(arena, "%.*s%s", (int)prefix.len, prefix.data, name);
  if (!full) *oom = true;
  return full && bsm_zip_find(zip, bsm_str_of(full));
}

/* Members that tell what the archive is; in order, the first one present. */
static const struct {
  const char *member;
  bool top; /* without the prefix */
  const char *what, *advice;
} kinds[] = {
    {"archive_format", false, "a package of torch.export (.pt2)",
     "it is to be loaded as one"},
    {"serialized_exported_program.json", true,
     "a program of torch.export (.pt2)", "it is to be loaded as one"},
    {"model.json", false, "TorchScript of PyTorch 1.1 or older",
     "load it with torch 1.4 to 1.13 and save it again"},
    {"attributes.pkl", false, "TorchScript of PyTorch 1.2 or older",
     "load it with torch 1.4 to 1.13 and save it again"},
    {".data/extern_modules", false, "a torch.package archive", SAVE_AGAIN},
    {"data.pkl", false, "a checkpoint written by torch.save", SAVE_AGAIN},
    {"bytecode.pkl", false, "a mobile model without its code",
     "save it with torch.jit.save"},
    {"word/document.xml", true, "an office document", "give a model"},
};

bsm_status bsm_archive_check_members(bsm_arena *arena, const bsm_zip *zip,
                                     bsm_str *prefix) {
  *prefix = (bsm_str){"", 0};
  if (zip->count == 0) {
    return BSM_FAIL(BSM_UNSUPPORTED, NEITHER " but an empty zip archive");
  }
  const bsm_str first = zip->entries[0].name;
  const char *slash = memchr(first.data, '/', first.len);
  if (slash) *prefix = (bsm_str){first.data, (size_t)(slash - first.data) + 1};
  bool oom = false;
  const bool constants = has(zip, arena, *prefix, "constants.pkl", &oom);
  const bool complete = constants && has(zip, arena, *prefix, "data.pkl", &oom);
  /* A .pt2 package may hold anything else beside. */
  const bool is_export = has(zip, arena, *prefix, "archive_format", &oom);
  if (oom) return BSM_FAIL_OOM();
  if (complete && !is_export) return BSM_OK;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
    const bsm_str where = kinds[i].top ? (bsm_str){"", 0} : *prefix;
    const bool found = has(zip, arena, where, kinds[i].member, &oom);
    if (oom) return BSM_FAIL_OOM();
    if (!found) continue;
    return BSM_FAIL(BSM_UNSUPPORTED, NEITHER " but %s: %s", kinds[i].what,
                    kinds[i].advice);
  }
  if (bsm_str_ends_with(first, BSM_STR(".npy"))) {
    return BSM_FAIL(BSM_UNSUPPORTED,
                    NEITHER " but a NumPy .npz: it holds data, not a model");
  }
  return BSM_FAIL(BSM_UNSUPPORTED, NEITHER ": the zip archive has no %s",
                  constants ? "data.pkl" : "constants.pkl");
}
