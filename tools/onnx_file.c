/* SPDX-License-Identifier: Apache-2.0 */
/* Writing ONNX by nanopb. A message is written into a buffer, and then into the
 * one around it; weights are never copied: the file is pieces, of buffers and
 * of weights in turn. Numbers are the fields of onnx.proto. */
#include "tools/onnx_file.h"

#include "base/strings.h"

#ifndef BSM_HAVE_NANOPB

bsm_status bsm_onnx_write(bsm_arena *arena, const char *path,
                          const bsm_onnx_graph *graph) {
  (void)arena;
  (void)path;
  (void)graph;
  return BSM_FAIL(
      BSM_UNSUPPORTED,
      "this build cannot write ONNX: build it with nanopb (Debian's "
      "libnanopb-dev)");
}

#else

#include <pb_encode.h>
#include <string.h>

#include "tools/terminal.h"

#define MAX_FILE (UINT64_C(2) << 30)
#define IR_VERSION 8 /* of opset 18 */

typedef BSM_VEC(bsm_file_piece) piece_vec;

/* A message under construction. */
typedef struct message {
  bsm_arena *arena;
  BSM_VEC(pb_byte_t) bytes;
  bool failed;
} message;

static bool append(pb_ostream_t *stream, const pb_byte_t *data, size_t size) {
  message *m = stream->state;
  for (size_t i = 0; i < size; i++) {
    if (!bsm_vec_push(m->arena, &m->bytes, data[i])) return false;
  }
  return true;
}

static pb_ostream_t stream_of(message *m) {
  return (pb_ostream_t){.callback = append, .state = m, .max_size = SIZE_MAX};
}

static void put_int(message *m, uint32_t field, int64_t value) {
  pb_ostream_t s = stream_of(m);
  m->failed = m->failed || !pb_encode_tag(&s, PB_WT_VARINT, field) ||
              !pb_encode_varint(&s, (uint64_t)value);
}

static void put_float(message *m, uint32_t field, float value) {
  pb_ostream_t s = stream_of(m);
  m->failed = m->failed || !pb_encode_tag(&s, PB_WT_32BIT, field) ||
              !pb_encode_fixed32(&s, &value);
}

static void put_bytes(message *m, uint32_t field, const void *data,
                      size_t size) {
  pb_ostream_t s = stream_of(m);
  m->failed = m->failed || !pb_encode_tag(&s, PB_WT_STRING, field) ||
              !pb_encode_string(&s, data, size);
}

static void put_text(message *m, uint32_t field, const char *text) {
  put_bytes(m, field, text, strlen(text));
}

static void put_message(message *m, uint32_t field, const message *inner) {
  m->failed = m->failed || inner->failed;
  put_bytes(m, field, inner->bytes.items, inner->bytes.len);
}

/* Tag and length of a field whose bytes follow elsewhere. */
static void put_head(message *m, uint32_t field, uint64_t size) {
  pb_ostream_t s = stream_of(m);
  m->failed = m->failed || !pb_encode_tag(&s, PB_WT_STRING, field) ||
              !pb_encode_varint(&s, size);
}

/* ---- the messages of ONNX ---- */

static void put_value(message *m, uint32_t field, const bsm_onnx_value *v) {
  message info = {m->arena}, type = {m->arena}, tensor = {m->arena};
  message shape = {m->arena};
  for (int32_t i = 0; i < v->dims.rank; i++) {
    message dim = {m->arena};
    put_int(&dim, 1, v->dims.d[i]);
    put_message(&shape, 1, &dim);
  }
  put_int(&tensor, 1, bsm_onnx_dtype(v->dtype));
  put_message(&tensor, 2, &shape);
  put_message(&type, 1, &tensor);
  put_text(&info, 1, v->name);
  put_message(&info, 2, &type);
  put_message(m, field, &info);
}

static void put_attribute(message *m, const bsm_onnx_attribute *a) {
  message own = {m->arena};
  put_text(&own, 1, a->name);
  switch (a->kind) {
    case BSM_ONNX_FLOAT:
      put_float(&own, 2, a->f);
      break;
    case BSM_ONNX_INT:
      put_int(&own, 3, a->i);
      break;
    case BSM_ONNX_STRING:
      put_text(&own, 4, a->s);
      break;
    case BSM_ONNX_INTS:
      for (size_t i = 0; i < a->count; i++) put_int(&own, 8, a->ints[i]);
      break;
    case BSM_ONNX_STRINGS:
      for (size_t i = 0; i < a->count; i++) put_text(&own, 9, a->strings[i]);
      break;
  }
  put_int(&own, 20, a->kind);
  put_message(m, 5, &own);
}

static void put_node(message *m, const bsm_onnx_node *n) {
  message own = {m->arena};
  for (size_t i = 0; i < n->input_count; i++) put_text(&own, 1, n->inputs[i]);
  for (size_t i = 0; i < n->output_count; i++) put_text(&own, 2, n->outputs[i]);
  put_text(&own, 3, n->name);
  put_text(&own, 4, n->op);
  for (size_t i = 0; i < n->attribute_count; i++) {
    put_attribute(&own, &n->attributes[i]);
  }
  put_message(m, 1, &own);
}

/* A tensor without the bytes of its data, which are its last field. */
static void tensor_head(message *m, const bsm_onnx_value *v) {
  for (int32_t i = 0; i < v->dims.rank; i++) put_int(m, 1, v->dims.d[i]);
  put_int(m, 2, bsm_onnx_dtype(v->dtype));
  put_text(m, 8, v->name);
  put_head(m, 9, v->bytes);
}

/* ---- the file ---- */

typedef struct writer {
  bsm_arena *arena;
  piece_vec pieces;
  uint64_t size; /* of them */
} writer;

static bsm_status add_piece(writer *w, const void *data, size_t size) {
  const bsm_file_piece piece = {data, size};
  w->size += size;
  return !size || bsm_vec_push(w->arena, &w->pieces, piece) ? BSM_OK
                                                            : BSM_FAIL_OOM();
}

static bsm_status add_message(writer *w, const message *m) {
  return m->failed ? BSM_FAIL_OOM()
                   : add_piece(w, m->bytes.items, m->bytes.len);
}

static bsm_status add_graph(writer *w, const bsm_onnx_graph *g) {
  message nodes = {w->arena}, values = {w->arena};
  for (size_t i = 0; i < g->node_count; i++) put_node(&nodes, &g->nodes[i]);
  put_text(&nodes, 2, g->name);
  BSM_TRY(add_message(w, &nodes));
  for (size_t i = 0; i < g->initializer_count; i++) {
    const bsm_onnx_value *v = &g->initializers[i];
    message head = {w->arena}, before = {w->arena};
    tensor_head(&head, v);
    put_head(&before, 5, (uint64_t)head.bytes.len + v->bytes);
    BSM_TRY(add_message(w, &before));
    BSM_TRY(add_message(w, &head));
    BSM_TRY(add_piece(w, v->data, v->bytes));
  }
  for (size_t i = 0; i < g->input_count; i++) {
    put_value(&values, 11, &g->inputs[i]);
  }
  for (size_t i = 0; i < g->output_count; i++) {
    put_value(&values, 12, &g->outputs[i]);
  }
  return add_message(w, &values);
}

bsm_status bsm_onnx_write(bsm_arena *arena, const char *path,
                          const bsm_onnx_graph *graph) {
  writer body = {.arena = arena}, file = {.arena = arena};
  message head = {arena}, opset = {arena};
  BSM_TRY(add_graph(&body, graph));
  put_int(&head, 1, IR_VERSION);
  put_text(&head, 2, "bessemer");
  put_text(&head, 3, bsm_version());
  put_text(&opset, 1, "");
  put_int(&opset, 2, graph->opset);
  put_message(&head, 8, &opset);
  put_head(&head, 7, body.size);
  BSM_TRY(add_message(&file, &head));
  if (file.size + body.size >= MAX_FILE) {
    return BSM_FAIL(BSM_LIMIT,
                    "%s would have %.1f GB, and protobuf allows 2 in a file",
                    path, 1e-9 * (double)(file.size + body.size));
  }
  for (size_t i = 0; i < body.pieces.len; i++) {
    BSM_TRY(
        add_piece(&file, body.pieces.items[i].data, body.pieces.items[i].size));
  }
  return bsm_write_output(path, file.pieces.items, file.pieces.len);
}

#endif
