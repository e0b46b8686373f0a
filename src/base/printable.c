/* SPDX-License-Identifier: Apache-2.0 */
/* Text without control characters. */
#include "base/printable.h"

__attribute__((cold)) void bsm_make_printable(char *text, size_t length) {
  unsigned char before = 0;
  for (size_t i = 0; i < length; i++) {
    const unsigned char c = (unsigned char)text[i];
    /* U+0080 to U+009F, with which some terminals begin a sequence, too. */
    const int wide = before == 0xc2 && c >= 0x80 && c < 0xa0;
    if (wide) text[i - 1] = '?';
    if (wide || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      text[i] = '?';
    }
    before = c;
  }
}
