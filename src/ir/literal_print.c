/* SPDX-License-Identifier: Apache-2.0 */
/* Constants to text: see literal.h for the forms. */
#include <math.h>

#include "aten/element.h"
#include "ir/literal.h"

typedef struct printer {
  bsm_text *text;
  bsm_type_table *types;
  uint32_t left; /* values that may still be printed: values can be shared */
  uint32_t depth;
} printer;

static void print_value(printer *p, const bsm_ivalue *value,
                        const bsm_type *type);

static const bsm_type *unwrap(const bsm_type *type) {
  return type && type->kind == BSM_TYPE_OPTIONAL ? type->args[0] : type;
}

/* The type that a value is printed with when its place does not tell. */
static const bsm_type *own_type(printer *p, const bsm_ivalue *value) {
  const bsm_type *type = bsm_type_of_value(p->types, value);
  return type ? type : bsm_type_simple(p->types, BSM_TYPE_ANY);
}

/* Whether the bare form of `value`, read where `type` is expected, gives the
 * value back. */
static bool reads_back_bare(printer *p, const bsm_ivalue *value,
                            const bsm_type *type) {
  bsm_type_kind kind = type ? type->kind : BSM_TYPE_ANY;
  switch (value->tag) {
    case BSM_IVALUE_INT:
      return kind != BSM_TYPE_FLOAT && kind != BSM_TYPE_BOOL &&
             kind != BSM_TYPE_TENSOR;
    case BSM_IVALUE_DOUBLE:
      return kind != BSM_TYPE_TENSOR;
    case BSM_IVALUE_STRING:
      return kind != BSM_TYPE_DEVICE;
    case BSM_IVALUE_DEVICE:
      return kind == BSM_TYPE_DEVICE;
    case BSM_IVALUE_LIST:
      if (!value->u.list->elem_type && value->u.list->len == 0) {
        return kind == BSM_TYPE_LIST; /* it says nothing itself */
      }
      return kind == BSM_TYPE_LIST && own_type(p, value) == type;
    case BSM_IVALUE_DICT:
      return kind != BSM_TYPE_ANY && own_type(p, value) == type;
    case BSM_IVALUE_TUPLE:
      if (kind != BSM_TYPE_TUPLE || type->arg_count != value->u.tuple->len) {
        return false;
      }
      return value->u.tuple->type ? value->u.tuple->type == type : !type->name;
    default:
      return true;
  }
}

static void print_items(printer *p, const bsm_ivalue *items, size_t n,
                        const bsm_type *elem, const bsm_type *const *each) {
  for (size_t i = 0; i < n; i++) {
    if (i) bsm_text_puts(p->text, ", ");
    print_value(p, &items[i], each ? each[i] : elem);
  }
}

/* As PyTorch: "2." where others write "2.0". */
static void print_double(bsm_text *text, double value) {
  bsm_text_double(text, value);
  if (text->len > 2 && text->data[text->len - 2] == '.' &&
      text->data[text->len - 1] == '0') {
    text->data[--text->len] = '\0';
  }
}

/* "Float(1, 3)" of a tensor. */
static void print_tensor_type(printer *p, const bsm_tensor *tensor) {
  bsm_type_print(p->text,
                 bsm_type_tensor(p->types, tensor->dtype, tensor->sizes),
                 BSM_TYPE_STYLE_IR);
}

static void print_tensor(printer *p, const bsm_tensor *tensor) {
  int64_t n = bsm_tensor_numel(tensor);
  bsm_text *text = p->text;
  if (n > BSM_LITERAL_MAX_ELEMENTS || bsm_tensor_is_meta(tensor) ||
      !bsm_dtype_has_rows(tensor->dtype)) {
    bsm_text_puts(text, "<Tensor: ");
    print_tensor_type(p, tensor);
    bsm_text_puts(text, ">");
    return;
  }
  print_tensor_type(p, tensor);
  bsm_text_puts(text, "{");
  for (int64_t i = 0; i < n; i++) {
    if (i) bsm_text_puts(text, ", ");
    if (bsm_dtype_is_floating(tensor->dtype)) {
      print_double(text, bsm_tensor_get_double(tensor, i));
    } else {
      bsm_text_printf(text, "%lld", (long long)bsm_tensor_get_int(tensor, i));
    }
  }
  bsm_text_puts(text, "}");
}

static void print_complex(printer *p, double re, double im) {
  if (isfinite(re) && isfinite(im)) {
    print_double(p->text, re);
    if (!signbit(im)) bsm_text_puts(p->text, "+");
    print_double(p->text, im);
    bsm_text_puts(p->text, "j");
    return;
  }
  bsm_text_puts(p->text, "complex(");
  print_double(p->text, re);
  bsm_text_puts(p->text, ", ");
  print_double(p->text, im);
  bsm_text_puts(p->text, ")");
}

static void print_device(printer *p, bsm_torch_device device) {
  static const char *const names[] = {"cpu", "cuda", "other"};
  const char *name =
      device.type >= 0 && device.type <= 2 ? names[device.type] : "other";
  if (device.index < 0) {
    bsm_text_printf(p->text, "\"%s\"", name);
  } else {
    bsm_text_printf(p->text, "\"%s:%d\"", name, device.index);
  }
}

static void print_dict(printer *p, const bsm_dict *dict, const bsm_type *type) {
  bool typed = type && type->kind == BSM_TYPE_DICT;
  bsm_text_puts(p->text, "{");
  for (size_t i = 0; i < dict->len; i++) {
    if (i) bsm_text_puts(p->text, ", ");
    print_value(p, &dict->keys[i], typed ? type->args[0] : NULL);
    bsm_text_puts(p->text, ": ");
    print_value(p, &dict->values[i], typed ? type->args[1] : NULL);
  }
  bsm_text_puts(p->text, "}");
}

/* "__torch__.Color.RED"; other objects have no text. */
static void print_object(printer *p, const bsm_ivalue *value) {
  const bsm_object *object = value->u.object;
  const bsm_type *type = object->type;
  const char *name = type && type->name ? type->name : "?";
  bool item = value->tag == BSM_IVALUE_ENUM && object->len > 0 &&
              object->slots[0].tag == BSM_IVALUE_STRING;
  if (item) {
    bsm_text_printf(p->text, "%s.", name);
    bsm_text_append(p->text, *object->slots[0].u.s);
  } else {
    bsm_text_printf(p->text, "<Object %s>", name);
  }
}

static void print_bare(printer *p, const bsm_ivalue *value,
                       const bsm_type *type) {
  bsm_text *text = p->text;
  switch (value->tag) {
    case BSM_IVALUE_NONE:
      bsm_text_puts(text, "None");
      break;
    case BSM_IVALUE_INT:
      bsm_text_printf(text, "%lld", (long long)value->u.i);
      break;
    case BSM_IVALUE_DOUBLE:
      print_double(text, value->u.d);
      break;
    case BSM_IVALUE_BOOL:
      bsm_text_puts(text, value->u.b ? "True" : "False");
      break;
    case BSM_IVALUE_COMPLEX:
      print_complex(p, value->u.c.re, value->u.c.im);
      break;
    case BSM_IVALUE_STRING:
      bsm_text_quoted(text, *value->u.s);
      break;
    case BSM_IVALUE_DEVICE:
      print_device(p, value->u.device);
      break;
    case BSM_IVALUE_TENSOR:
      print_tensor(p, value->u.tensor);
      break;
    case BSM_IVALUE_LIST:
      bsm_text_puts(text, "[");
      print_items(p, value->u.list->items, value->u.list->len,
                  type && type->kind == BSM_TYPE_LIST ? type->args[0] : NULL,
                  NULL);
      bsm_text_puts(text, "]");
      break;
    case BSM_IVALUE_TUPLE:
      bsm_text_puts(text, "(");
      print_items(p, value->u.tuple->items, value->u.tuple->len, NULL,
                  type && type->kind == BSM_TYPE_TUPLE ? type->args : NULL);
      bsm_text_puts(text, value->u.tuple->len == 1 ? ",)" : ")");
      break;
    case BSM_IVALUE_DICT:
      print_dict(p, value->u.dict, type);
      break;
    case BSM_IVALUE_OBJECT:
    case BSM_IVALUE_ENUM:
      print_object(p, value);
      break;
    case BSM_IVALUE_FUNCTION:
      bsm_text_puts(text, "<Function>");
      break;
    case BSM_IVALUE_CONTAINER:
      bsm_text_puts(text, "<ITensor>");
      break;
  }
}

static void print_value(printer *p, const bsm_ivalue *value,
                        const bsm_type *type) {
  if (p->left == 0 || p->depth == BSM_TYPE_MAX_DEPTH) {
    bsm_text_puts(p->text, "...");
    return;
  }
  p->left--;
  p->depth++;
  type = unwrap(type);
  if (reads_back_bare(p, value, type)) {
    print_bare(p, value, type);
  } else {
    const bsm_type *own = own_type(p, value);
    bsm_text_puts(p->text, "annotate(");
    bsm_type_print(p->text, own, BSM_TYPE_STYLE_IR);
    bsm_text_puts(p->text, ", ");
    print_bare(p, value, own);
    bsm_text_puts(p->text, ")");
  }
  p->depth--;
}

void bsm_literal_print(bsm_text *text, bsm_type_table *types,
                       const bsm_ivalue *value, const bsm_type *type) {
  /* PyTorch prints a bool constant as 0 or 1; its type is beside it. */
  if (value->tag == BSM_IVALUE_BOOL && type && type->kind == BSM_TYPE_BOOL) {
    bsm_text_puts(text, value->u.b ? "1" : "0");
    return;
  }
  printer p = {.text = text, .types = types, .left = 1000000};
  print_value(&p, value, type);
}
