/* SPDX-License-Identifier: Apache-2.0 */
/* aten::einsum into permute, reshape, bmm and sum.
 *
 * Operands are contracted from left to right, two at a time. A label is a batch
 * label when both have it and it is needed later; it is summed when both have
 * it and it is not needed later; otherwise it belongs to one side. The two
 * operands become matrices [batch, own, summed] and [batch, summed, own].
 *
 * Requires:    a constant equation and known dims.
 * Establishes: no einsum with such operands.
 * Breaks:      leaves reshapes and permutes that do nothing, for peephole. */
#include "lowering/pass.h"

#define MAX_OPERANDS 16
#define MAX_LABELS (52 + BSM_MAX_RANK)
#define FIRST_DOT 52 /* labels of "..." */

/* A tensor with a label on each dim. */
typedef struct term {
  bsm_value *value;
  size_t rank;
  int labels[BSM_MAX_RANK];
  int64_t sizes[BSM_MAX_RANK];
} term;

typedef struct equation {
  term terms[MAX_OPERANDS];
  size_t count;
  int out[BSM_MAX_RANK];
  size_t out_rank;
  int64_t size[MAX_LABELS]; /* of each label: 0 when unused */
} equation;

static int find_label(const term *t, int label) {
  for (size_t i = 0; i < t->rank; i++) {
    if (t->labels[i] == label) {
      return (int)i;
    }
  }
  return -1;
}

static int label_of(char c) {
  return c >= 'A' && c <= 'Z'   ? c - 'A'
         : c >= 'a' && c <= 'z' ? c - 'a' + 26
                                : -1;
}

/* ---- reading the equation ---- */

/* The labels of one operand: `text` is a piece between commas. */
static bool read_term(bsm_str text, int32_t rank, term *t) {
  size_t letters = 0;
  bool dots = false;
  for (size_t i = 0; i < text.len; i++) {
    letters += label_of(text.data[i]) >= 0;
  }
  if (letters > (size_t)rank) {
    return false;
  }
  const size_t hidden = (size_t)rank - letters; /* dims under "..." */
  t->rank = 0;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    if (c == ' ') {
      continue;
    }
    if (c == '.') {
      if (dots || i + 2 >= text.len || text.data[i + 1] != '.' ||
          text.data[i + 2] != '.') {
        return false;
      }
      dots = true;
      i += 2;
      for (size_t k = 0; k < hidden; k++) { /* aligned at the right */
        t->labels[t->rank++] = MAX_LABELS - (int)(hidden - k);
      }
      continue;
    }
    if (label_of(c) < 0 || t->rank >= (size_t)rank) {
      return false;
    }
    t->labels[t->rank++] = label_of(c);
  }
  return t->rank == (size_t)rank;
}

static bool read_output(bsm_str text, size_t dots, equation *q) {
  q->out_rank = 0;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    if (c == ' ') {
      continue;
    }
    const size_t more = c == '.' ? dots : 1;
    if (q->out_rank + more > BSM_MAX_RANK) {
      return false;
    }
    if (c == '.') {
      i += 2;
      for (size_t k = 0; k < dots; k++) {
        q->out[q->out_rank++] = MAX_LABELS - (int)(dots - k);
      }
    } else if (label_of(c) >= 0) {
      q->out[q->out_rank++] = label_of(c);
    } else {
      return false;
    }
  }
  return true;
}

/* Without "->": the dims of "...", then the letters that occur once, sorted. */
static bool implicit_output(size_t dots, equation *q) {
  size_t seen[MAX_LABELS] = {0};
  q->out_rank = 0;
  for (size_t i = 0; i < q->count; i++) {
    for (size_t k = 0; k < q->terms[i].rank; k++) {
      seen[q->terms[i].labels[k]]++;
    }
  }
  for (size_t k = 0; k < dots; k++) {
    q->out[q->out_rank++] = MAX_LABELS - (int)(dots - k);
  }
  for (int label = 0; label < FIRST_DOT; label++) {
    if (seen[label] != 1) {
      continue;
    }
    if (q->out_rank >= BSM_MAX_RANK) {
      return false;
    }
    q->out[q->out_rank++] = label;
  }
  return true;
}

static bool note_sizes(equation *q) {
  for (size_t i = 0; i < q->count; i++) {
    const term *t = &q->terms[i];
    for (size_t k = 0; k < t->rank; k++) {
      int64_t *size = &q->size[t->labels[k]];
      if (*size == 0 || *size == 1) {
        *size = t->sizes[k];
      } else if (t->sizes[k] != 1 && t->sizes[k] != *size) {
        return false;
      }
    }
  }
  for (size_t i = 0; i < q->out_rank; i++) {
    if (q->size[q->out[i]] == 0) {
      return false;
    }
  }
  return true;
}

static bool read_equation(bsm_str text, bsm_node *operands, equation *q) {
  size_t at = 0, dots = 0, arrow = 0;
  while (arrow + 1 < text.len &&
         !(text.data[arrow] == '-' && text.data[arrow + 1] == '>')) {
    arrow++;
  }
  const bool explicit = arrow + 1 < text.len;
  const size_t end = explicit ? arrow : text.len;
  q->count = 0;
  while (at <= end && q->count < MAX_OPERANDS) {
    size_t stop = at;
    while (stop < end && text.data[stop] != ',') {
      stop++;
    }
    if (q->count >= operands->inputs.len) {
      return false;
    }
    term *t = &q->terms[q->count];
    bsm_dims dims;
    bsm_dtype dtype;
    t->value = bsm_node_in(operands, q->count);
    if (!bsm_value_dims(t->value, &dims, &dtype) ||
        !read_term((bsm_str){text.data + at, stop - at}, dims.rank, t)) {
      return false;
    }
    memcpy(t->sizes, dims.d, sizeof(t->sizes));
    size_t own = 0;
    for (size_t k = 0; k < t->rank; k++) {
      own += t->labels[k] >= FIRST_DOT;
    }
    dots = own > dots ? own : dots;
    q->count++;
    at = stop + 1;
  }
  if (q->count != operands->inputs.len || q->count == 0) {
    return false;
  }
  const bsm_str out = {text.data + end + 2, text.len - end - 2};
  return (explicit ? read_output(out, dots, q) : implicit_output(dots, q)) &&
         note_sizes(q);
}

/* ---- rewriting terms ---- */

/* "ii" -> its diagonal, labelled once, at the end. */
static bsm_status take_diagonals(const bsm_node_emitter *e, term *t) {
  for (size_t i = 0; i < t->rank; i++) {
    for (size_t k = i + 1; k < t->rank; k++) {
      if (t->labels[i] != t->labels[k]) {
        continue;
      }
      bsm_value *in[4] = {t->value, NULL, NULL, NULL};
      BSM_TRY(bsm_ir_int(e, 0, &in[1]));
      BSM_TRY(bsm_ir_int(e, (int64_t)i, &in[2]));
      BSM_TRY(bsm_ir_int(e, (int64_t)k, &in[3]));
      BSM_TRY(bsm_ir_op(e, "aten::diagonal", in, 4, &t->value));
      const int label = t->labels[i];
      const int64_t size = t->sizes[i];
      size_t n = 0;
      for (size_t j = 0; j < t->rank; j++) {
        if (j != i && j != k) {
          t->labels[n] = t->labels[j];
          t->sizes[n++] = t->sizes[j];
        }
      }
      t->labels[n] = label;
      t->sizes[n++] = size;
      t->rank = n;
      i = (size_t)-1; /* again from the start */
      break;
    }
  }
  return BSM_OK;
}

/* Sums over the dims whose label is not in `keep`. */
static bsm_status sum_labels(const bsm_node_emitter *e, term *t,
                             const bool *keep) {
  int64_t dims[BSM_MAX_RANK];
  size_t n = 0, left = 0;
  for (size_t i = 0; i < t->rank; i++) {
    if (!keep[t->labels[i]]) {
      dims[n++] = (int64_t)i;
    } else {
      t->labels[left] = t->labels[i];
      t->sizes[left++] = t->sizes[i];
    }
  }
  if (n == 0) {
    return BSM_OK;
  }
  t->rank = left;
  bsm_value *in[4] = {t->value, NULL, NULL, NULL};
  BSM_TRY(bsm_ir_ints(e, dims, n, &in[1]));
  BSM_TRY(bsm_ir_bool(e, false, &in[2]));
  BSM_TRY(bsm_ir_none(e, &in[3]));
  return bsm_ir_op(e, "aten::sum.dim_IntList", in, 4, &t->value);
}

/* The dims in the order of `order`. */
static bsm_status order_labels(const bsm_node_emitter *e, term *t,
                               const int *order, size_t n) {
  int64_t perm[BSM_MAX_RANK];
  term old = *t;
  for (size_t i = 0; i < n; i++) {
    const int k = find_label(&old, order[i]);
    if (k < 0) {
      return BSM_FAIL(BSM_INTERNAL, "einsum lost a label");
    }
    perm[i] = k;
    t->labels[i] = order[i];
    t->sizes[i] = old.sizes[k];
  }
  return bsm_ir_permute(e, old.value, perm, n, &t->value);
}

/* Dims of 1 that broadcast are repeated. */
static bsm_status broadcast(const bsm_node_emitter *e, term *t,
                            const equation *q) {
  bsm_dims dims = {(int32_t)t->rank, {0}};
  bool any = false;
  for (size_t i = 0; i < t->rank; i++) {
    dims.d[i] = q->size[t->labels[i]];
    any = any || dims.d[i] != t->sizes[i];
    t->sizes[i] = dims.d[i];
  }
  return any ? bsm_ir_expand(e, t->value, dims, &t->value) : BSM_OK;
}

static int64_t product(const equation *q, const int *labels, size_t n) {
  int64_t p = 1; /* at most the numel of a tensor that exists */
  for (size_t i = 0; i < n; i++) {
    p *= q->size[labels[i]];
  }
  return p;
}

/* a := a * b, summed over the labels of both that are not in `needed`. */
static bsm_status contract(const bsm_node_emitter *e, const equation *q,
                           term *a, term *b, const bool *needed) {
  int batch[BSM_MAX_RANK], left[BSM_MAX_RANK], right[BSM_MAX_RANK],
      summed[BSM_MAX_RANK], order[2 * BSM_MAX_RANK];
  size_t nb = 0, nl = 0, nr = 0, ns = 0;
  for (size_t i = 0; i < a->rank; i++) {
    const int label = a->labels[i];
    if (find_label(b, label) < 0) {
      left[nl++] = label;
    } else if (needed[label]) {
      batch[nb++] = label;
    } else {
      summed[ns++] = label;
    }
  }
  for (size_t i = 0; i < b->rank; i++) {
    if (find_label(a, b->labels[i]) < 0) {
      right[nr++] = b->labels[i];
    }
  }
  if (nb + nl + nr > BSM_MAX_RANK) {
    return BSM_FAIL(BSM_UNSUPPORTED, "einsum of more than %d dims",
                    BSM_MAX_RANK);
  }
  BSM_TRY(broadcast(e, a, q));
  BSM_TRY(broadcast(e, b, q));
  memcpy(order, batch, nb * sizeof(int));
  memcpy(order + nb, left, nl * sizeof(int));
  memcpy(order + nb + nl, summed, ns * sizeof(int));
  BSM_TRY(order_labels(e, a, order, a->rank));
  memcpy(order + nb, summed, ns * sizeof(int));
  memcpy(order + nb + ns, right, nr * sizeof(int));
  BSM_TRY(order_labels(e, b, order, b->rank));
  const int64_t pb = product(q, batch, nb), pl = product(q, left, nl),
                pr = product(q, right, nr), ps = product(q, summed, ns);
  const bsm_dims da = {3, {pb, pl, ps}}, db = {3, {pb, ps, pr}};
  bsm_value *in[2] = {NULL, NULL};
  BSM_TRY(bsm_ir_reshape(e, a->value, da, &in[0]));
  BSM_TRY(bsm_ir_reshape(e, b->value, db, &in[1]));
  BSM_TRY(bsm_ir_op(e, "aten::bmm", in, 2, &a->value));
  a->rank = nb + nl + nr;
  memcpy(a->labels, batch, nb * sizeof(int));
  memcpy(a->labels + nb, left, nl * sizeof(int));
  memcpy(a->labels + nb + nl, right, nr * sizeof(int));
  bsm_dims out = {(int32_t)a->rank, {0}};
  for (size_t i = 0; i < a->rank; i++) {
    out.d[i] = a->sizes[i] = q->size[a->labels[i]];
  }
  return bsm_ir_reshape(e, a->value, out, &a->value);
}

static bsm_status einsum(const bsm_node_emitter *e, bsm_node *node,
                         bsm_value **outs) {
  const bsm_ivalue *text = bsm_value_constant(bsm_node_in(node, 0));
  bsm_node *operands = bsm_value_list_node(bsm_node_in(node, 1));
  equation q = {.count = 0};
  if (!text || text->tag != BSM_IVALUE_STRING || !operands ||
      !read_equation(*text->u.s, operands, &q)) {
    return BSM_OK;
  }
  for (size_t i = 0; i < q.count; i++) {
    BSM_TRY(take_diagonals(e, &q.terms[i]));
  }
  term *all = &q.terms[0];
  for (size_t i = 0; i < q.count; i++) {
    bool needed[MAX_LABELS] = {false}, in_next[MAX_LABELS] = {false};
    for (size_t k = 0; k < q.out_rank; k++) {
      needed[q.out[k]] = true;
    }
    for (size_t j = i + 1; j < q.count; j++) {
      for (size_t k = 0; k < q.terms[j].rank; k++) {
        needed[q.terms[j].labels[k]] = true;
      }
    }
    if (i > 0) {
      /* Labels that only the new operand has, and that nobody needs, are summed
       * first. */
      for (int l = 0; l < MAX_LABELS; l++) {
        in_next[l] = needed[l] || find_label(all, l) >= 0;
      }
      BSM_TRY(sum_labels(e, &q.terms[i], in_next));
      BSM_TRY(contract(e, &q, all, &q.terms[i], needed));
    }
    BSM_TRY(sum_labels(e, all, needed));
  }
  BSM_TRY(broadcast(e, all, &q));
  if (all->rank == q.out_rank) {
    BSM_TRY(order_labels(e, all, q.out, q.out_rank));
    outs[0] = all->value;
  }
  return BSM_OK;
}

static const bsm_rewrite rules[] = {{"aten::einsum", einsum}};

bsm_status bsm_lower_decompose_einsum(bsm_graph *graph,
                                      const bsm_aten_library *aten) {
  return bsm_rewrite_graph(graph, aten, rules,
                           sizeof(rules) / sizeof(rules[0]));
}
