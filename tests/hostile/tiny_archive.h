/* SPDX-License-Identifier: Apache-2.0 */
/* A tiny TorchScript archive made member by member, so that each can be
 * replaced by a hostile one:
 *
 *   class Tiny(Module):  w : Tensor;  forward(x) = relu(x @ w) + 1
 */
#ifndef BSM_TESTS_HOSTILE_TINY_ARCHIVE_H_
#define BSM_TESTS_HOSTILE_TINY_ARCHIVE_H_

#include "tests/torchscript/zip_builder.h"

/* Bytes of a pickle, put together opcode by opcode. */
typedef struct pickle_text {
  uint8_t bytes[4096];
  size_t len;
} pickle_text;

static inline void pickle_put(pickle_text *p, const char *bytes, size_t n) {
  if (p->len + n > sizeof(p->bytes)) abort();
  memcpy(p->bytes + p->len, bytes, n);
  p->len += n;
}
#define PICKLE_PUT(p, literal) pickle_put(p, literal, sizeof(literal) - 1)

/* LONG1 of eight bytes. */
static inline void pickle_int(pickle_text *p, int64_t v) {
  uint8_t bytes[10] = {0x8a, 8};
  for (int i = 0; i < 8; i++) bytes[2 + i] = (uint8_t)((uint64_t)v >> (8 * i));
  pickle_put(p, (const char *)bytes, sizeof(bytes));
}

static inline void pickle_string(pickle_text *p, const char *text) {
  const size_t n = strlen(text);
  const uint8_t head[5] = {'X', (uint8_t)n, 0, 0, 0};
  pickle_put(p, (const char *)head, sizeof(head));
  pickle_put(p, text, n);
}

/* What the tensor of the model says of itself; the storage has 16 bytes. */
typedef struct tiny_tensor {
  const char *storage_type, *key;
  int64_t storage_count, offset;
  size_t rank;
  int64_t sizes[16], strides[16];
} tiny_tensor;

static const tiny_tensor tiny_good = {.storage_type = "FloatStorage",
                                      .key = "0",
                                      .storage_count = 4,
                                      .rank = 2,
                                      .sizes = {2, 2},
                                      .strides = {2, 1}};

static inline void pickle_tensor(pickle_text *p, const tiny_tensor *t) {
  PICKLE_PUT(p, "ctorch._utils\n_rebuild_tensor_v2\n((");
  pickle_string(p, "storage");
  PICKLE_PUT(p, "ctorch\n");
  pickle_put(p, t->storage_type, strlen(t->storage_type));
  PICKLE_PUT(p, "\n");
  pickle_string(p, t->key);
  pickle_string(p, "cpu");
  pickle_int(p, t->storage_count);
  PICKLE_PUT(p, "tQ");
  pickle_int(p, t->offset);
  PICKLE_PUT(p, "(");
  for (size_t i = 0; i < t->rank; i++) pickle_int(p, t->sizes[i]);
  PICKLE_PUT(p, "t(");
  for (size_t i = 0; i < t->rank; i++) pickle_int(p, t->strides[i]);
  PICKLE_PUT(p,
             "t\x89"
             "ccollections\nOrderedDict\n)RtR");
}

/* The module whose attribute w is the tensor. */
static inline void pickle_module(pickle_text *p, const tiny_tensor *t) {
  p->len = 0;
  PICKLE_PUT(p,
             "\x80\x02"
             "c__torch__\nTiny\n)\x81}(");
  pickle_string(p, "training");
  PICKLE_PUT(p, "\x88");
  pickle_string(p, "w");
  pickle_tensor(p, t);
  PICKLE_PUT(p, "ub.");
}

static const char tiny_code[] =
    "class Tiny(Module):\n"
    "  __parameters__ = [\"w\", ]\n"
    "  __buffers__ = []\n"
    "  training : bool\n"
    "  w : Tensor\n"
    "  def forward(self: __torch__.Tiny,\n"
    "    x: Tensor) -> Tensor:\n"
    "    w = self.w\n"
    "    y = torch.relu(torch.matmul(x, w))\n"
    "    return torch.add(y, 1)\n";

static const float tiny_weights[4] = {1, -2, 3, -4};

enum {
  TINY_PICKLE,
  TINY_CONSTANTS,
  TINY_CODE,
  TINY_STORAGE,
  TINY_VERSION,
  TINY_MEMBERS
};

/* The members of the archive; `p` holds the pickle. */
static inline void tiny_members(zip_member *members, pickle_text *p) {
  pickle_module(p, &tiny_good);
  const zip_member all[TINY_MEMBERS] = {
      {.name = "m/data.pkl", .data = p->bytes, .size = p->len},
      {.name = "m/constants.pkl", .data = "\x80\x02).", .size = 4},
      {.name = "m/code/__torch__.py",
       .data = tiny_code,
       .size = sizeof(tiny_code) - 1},
      {.name = "m/data/0", .data = tiny_weights, .size = 16, .align = 64},
      {.name = "m/version", .data = "3\n", .size = 2},
  };
  memcpy(members, all, sizeof(all));
}

#endif /* BSM_TESTS_HOSTILE_TINY_ARCHIVE_H_ */
