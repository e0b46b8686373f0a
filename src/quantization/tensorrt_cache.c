/* SPDX-License-Identifier: Apache-2.0 */
/* Calibration caches of TensorRT: a line that names TensorRT's version and the
 * calibrator, then for each tensor its name, a colon, a blank, and its scale:
 * the bits of a float32 as hexadecimal digits, the highest first.
 *
 *   TRT-8601-EntropyCalibration2
 *   input_0: 3c010a14
 *
 * Values are quantized to -127 to 127 times the scale. */
#include <math.h>

#include "quantization/calibration.h"

static const char mark[] = "TRT-";
#define MAX_NAME 4096
#define MAX_TENSORS 1000000
#define STEPS 127

bool bsm_is_tensorrt_cache(bsm_str text) {
  return bsm_str_starts_with(text, bsm_str_of(mark));
}

/* ---- writing ---- */

void bsm_calibration_print_tensorrt(bsm_text *text, const bsm_calibration *c) {
  const char *calibrator = c->method == BSM_CALIBRATION_ENTROPY
                               ? "EntropyCalibration2"
                               : "MinMaxCalibration";
  bsm_text_printf(text, "%s8601-%s\n", mark, calibrator);
  for (size_t i = 0; i < c->tensors.len; i++) {
    const bsm_calibrated_tensor *t = c->tensors.items[i];
    const float scale = (float)(fmax(-t->low, t->high) / STEPS);
    uint32_t bits;
    if (strchr(t->name, '\n')) continue; /* no line can hold it */
    memcpy(&bits, &scale, sizeof(bits));
    bsm_text_printf(text, "%s: %08x\n", t->name, (unsigned)bits);
  }
}

/* ---- reading ---- */

static bool read_bits(bsm_str text, uint32_t *out) {
  *out = 0;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    *out = *out << 4 | (uint32_t)digit;
  }
  return text.len > 0 && text.len <= 8;
}

/* The name may have colons and blanks: what is after the last ones is the
 * scale. */
static bsm_status read_line(bsm_calibration *c, bsm_str line) {
  size_t at = line.len;
  while (at > 0 && line.data[at - 1] != ' ') at--;
  uint32_t bits;
  float scale;
  bsm_calibrated_tensor *t;
  if (at < 3 || line.data[at - 2] != ':' ||
      !read_bits((bsm_str){line.data + at, line.len - at}, &bits)) {
    return BSM_FAIL(BSM_CORRUPT, "no name, colon and scale");
  }
  const bsm_str name = {line.data, at - 2};
  if (name.len > MAX_NAME || memchr(name.data, 0, name.len)) {
    return BSM_FAIL(BSM_CORRUPT, "the name is no text of at most %d bytes",
                    MAX_NAME);
  }
  if (c->tensors.len >= MAX_TENSORS) {
    return BSM_FAIL(BSM_LIMIT, "more than %d tensors", MAX_TENSORS);
  }
  memcpy(&scale, &bits, sizeof(scale));
  const double most = (double)scale * STEPS;
  if (!bsm_is_range(-most, most)) {
    return BSM_FAIL(BSM_CORRUPT, "the scale of \"%.*s\" is %g",
                    (int)(name.len < 80 ? name.len : 80), name.data,
                    (double)scale);
  }
  BSM_TRY(bsm_calibration_add_tensor(c, name, &t));
  t->low = t->least = -most;
  t->high = t->greatest = most;
  return BSM_OK;
}

bsm_status bsm_calibration_parse_tensorrt(bsm_calibration *c, bsm_str text) {
  const char *entropy = "EntropyCalibration";
  for (size_t line = 1; text.len; line++) {
    const char *end = memchr(text.data, '\n', text.len);
    size_t length = end ? (size_t)(end - text.data) : text.len;
    const size_t taken = length + (end != NULL);
    if (length && text.data[length - 1] == '\r') length--;
    const bsm_str here = {text.data, length};
    text = (bsm_str){text.data + taken, text.len - taken};
    if (line == 1) {
      bool found = false;
      for (size_t i = 0; i + strlen(entropy) <= here.len; i++) {
        found |= memcmp(here.data + i, entropy, strlen(entropy)) == 0;
      }
      c->method = found ? BSM_CALIBRATION_ENTROPY : BSM_CALIBRATION_MIN_MAX;
    } else if (here.len) {
      BSM_TRY_NOTE(read_line(c, here), "in line %zu", line);
    }
  }
  return BSM_OK;
}
