/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, whatever the locale of the process. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strings.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- reading ---- */

bool bsm_parse_i64(bsm_str text, int64_t *out) {
  size_t i = text.len > 0 && text.data[0] == '-' ? 1 : 0;
  const bool negative = i == 1;
  if (i == text.len) return false;
  int64_t value = 0; /* kept negative: the negative range is the larger */
  for (; i < text.len; i++) {
    if (!is_digit(text.data[i])) return false;
    if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
        __builtin_sub_overflow(value, (int64_t)(text.data[i] - '0'), &value)) {
      return false;
    }
  }
  if (!negative && __builtin_sub_overflow((int64_t)0, value, &value)) {
    return false;
  }
  *out = value;
  return true;
}

/* A decimal number as digits and a power of ten. 767 significant digits decide
 * any double exactly; what follows them only matters by being zero or not, so
 * a text of any length fits. */
#define MAX_DIGITS 800
typedef struct decimal {
  char digits[MAX_DIGITS + 1];
  size_t count;
  int64_t exponent; /* the value is `digits` times 10^exponent */
  bool dropped_nonzero;
} decimal;

/* Appends a digit. */
static void add_digit(decimal *number, char digit, bool after_point) {
  if (number->count == 0 && digit == '0') {
    if (after_point) number->exponent--;
    return;
  }
  if (number->count < MAX_DIGITS) {
    number->digits[number->count++] = digit;
    if (after_point) number->exponent--;
    return;
  }
  if (digit != '0') number->dropped_nonzero = true;
  if (!after_point) number->exponent++;
}

/* Reads [0-9]*[.[0-9]*] with at least one digit; the index behind it or 0. */
static size_t read_mantissa(bsm_str text, size_t i, decimal *number) {
  bool any = false, after_point = false;
  for (; i < text.len; i++) {
    const char c = text.data[i];
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (is_digit(c)) {
      any = true;
      add_digit(number, c, after_point);
    } else {
      break;
    }
  }
  return any ? i : 0;
}

/* Reads [eE][+-]?[0-9]+ up to the end of `text`. */
static bool read_exponent(bsm_str text, size_t i, decimal *number) {
  if (i == text.len) return true;
  if (text.data[i] != 'e' && text.data[i] != 'E') return false;
  i++;
  bool negative = false;
  if (i < text.len && (text.data[i] == '+' || text.data[i] == '-')) {
    negative = text.data[i] == '-';
    i++;
  }
  if (i == text.len) return false;
  int64_t value = 0;
  for (; i < text.len; i++) {
    if (!is_digit(text.data[i])) return false;
    if (value < INT64_C(1000000000000000)) {
      value = value * 10 + (text.data[i] - '0');
    }
  }
  number->exponent += negative ? -value : value;
  return true;
}

static bool equals_ignoring_case(bsm_str text, const char *word) {
  if (text.len != strlen(word)) return false;
  for (size_t i = 0; i < text.len; i++) {
    const char c = text.data[i];
    const char lower = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    if (lower != word[i]) return false;
  }
  return true;
}

/* Correctly rounded by the C library, in the "C" locale. */
static bool round_decimal(decimal *number, double *out) {
  if (number->count == 0) {
    *out = 0.0;
    return true;
  }
  /* Beyond these the value is infinite or zero whatever the digits. */
  if (number->exponent > 99999) number->exponent = 99999;
  if (number->exponent < -99999) number->exponent = -99999;
  char text[MAX_DIGITS + 32];
  memcpy(text, number->digits, number->count);
  size_t length = number->count;
  if (number->dropped_nonzero) {
    text[length++] = '1';
    number->exponent--;
  }
  snprintf(text + length, sizeof(text) - length, "e%d", (int)number->exponent);
  /* The C locale is a constant of the library: asking for it allocates
   * nothing. */
  const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!c_locale) return false;
  *out = strtod_l(text, NULL, c_locale);
  freelocale(c_locale);
  return true;
}

bool bsm_parse_double(bsm_str text, double *out) {
  bool negative = false;
  if (text.len && (text.data[0] == '-' || text.data[0] == '+')) {
    negative = text.data[0] == '-';
    text = (bsm_str){text.data + 1, text.len - 1};
  }
  double value;
  if (equals_ignoring_case(text, "inf") ||
      equals_ignoring_case(text, "infinity")) {
    value = (double)INFINITY;
  } else if (equals_ignoring_case(text, "nan")) {
    value = (double)NAN;
  } else {
    decimal number;
    number.count = 0;
    number.exponent = 0;
    number.dropped_nonzero = false;
    const size_t end = read_mantissa(text, 0, &number);
    if (!end || !read_exponent(text, end, &number) ||
        !round_decimal(&number, &value)) {
      return false;
    }
  }
  *out = negative ? -value : value;
  return true;
}

/* ---- writing ---- */

/* Formats with `precision` digits; anything that is not part of a number is
 * the locale's decimal point and becomes one '.'. */
static size_t format_double(char *buffer, size_t size, double value,
                            int precision) {
  char raw[64];
  snprintf(raw, sizeof(raw), "%.*g", precision, value);
  size_t length = 0;
  bool in_point = false;
  for (const char *p = raw; *p && length + 1 < size; p++) {
    const bool plain = is_digit(*p) || *p == '-' || *p == '+' || *p == 'e';
    if (plain) {
      buffer[length++] = *p;
    } else if (!in_point) {
      buffer[length++] = '.';
    }
    in_point = !plain;
  }
  buffer[length] = '\0';
  return length;
}

void bsm_text_double(bsm_text *text, double value) {
  if (isnan(value)) {
    bsm_text_puts(text, "nan");
    return;
  }
  if (isinf(value)) {
    bsm_text_puts(text, value < 0 ? "-inf" : "inf");
    return;
  }
  char buffer[64];
  size_t length = 0;
  /* %g drops trailing zeros, so 15 digits are already the shortest form of
   * every normal number that has one of at most 15; subnormal numbers have
   * fewer digits than that to begin with. */
  for (int precision = fabs(value) < 2.2250738585072014e-308 ? 1 : 15;
       precision <= 17; precision++) {
    double back;
    length = format_double(buffer, sizeof(buffer), value, precision);
    if (bsm_parse_double((bsm_str){buffer, length}, &back) && back == value) {
      break;
    }
  }
  bsm_text_append(text, (bsm_str){buffer, length});
  if (!memchr(buffer, '.', length) && !memchr(buffer, 'e', length)) {
    bsm_text_puts(text, ".0");
  }
}
