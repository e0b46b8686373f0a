/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether texts are good or bad reviews: docs/walkthroughs.md.
 *
 *   cc review.c wordpiece.c $(pkg-config --cflags --libs
 * bessemer-runtime-shapes) \ -o review
 *   ./review bert.bsm vocab.txt "The acting is superb." ... */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "bessemer/engine.h"
#include "wordpiece.h"

enum { LONGEST = 64 };

enum { NO_PIECES, PIECES, IDS };

static void print_pieces(const vocabulary *words, const int64_t *ids,
                         size_t count, int show) {
  for (size_t i = 0; i < count; i++) {
    if (show == IDS) printf("%lld", (long long)ids[i]);
    if (show == PIECES) fputs(words->pieces[ids[i]], stdout);
    if (show) putchar(i + 1 < count ? ' ' : '\n');
  }
}

static bsm_status review(bsm_context *context, const vocabulary *words,
                         const char *text, int show) {
  int64_t ids[LONGEST], mask[LONGEST];
  float verdict[2];
  const size_t count = wordpiece_encode(words, text, ids, LONGEST);
  if (!count) return BSM_FAIL(BSM_INVALID_ARGUMENT, "no text in UTF-8");
  for (size_t i = 0; i < count; i++) mask[i] = 1;
  /* The engine takes any length from 2 to 64. */
  const bsm_dims dims = {2, {1, (int64_t)count}};
  const bsm_array in[] = {
      {.data = ids, .dtype = BSM_DTYPE_INT64, .dims = dims},
      {.data = mask, .dtype = BSM_DTYPE_INT64, .dims = dims}};
  const bsm_array out = {
      .data = verdict, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {1, 2}}};
  BSM_TRY(bsm_context_run(context, in, 2, &out, 1));
  const int good = verdict[1] > verdict[0];
  printf("%s\n", text);
  print_pieces(words, ids, count, show);
  printf("%s: %.1f%%\n", good ? "good" : "bad", 100 * (double)verdict[good]);
  return BSM_OK;
}

int main(int argc, char **argv) {
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  vocabulary words = {0};
  int first = 1, show = NO_PIECES;
  if (argc > 1 && strcmp(argv[1], "--pieces") == 0) show = PIECES;
  if (argc > 1 && strcmp(argv[1], "--ids") == 0) show = IDS;
  if (show) first = 2;
  if (argc < first + 3) {
    fprintf(stderr,
            "usage: review [--pieces|--ids] ENGINE VOCABULARY TEXT...\n");
    return 2;
  }
  setlocale(LC_CTYPE, "C.UTF-8"); /* for letters beyond those of ASCII */
  bsm_status status = bsm_engine_load(argv[first], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status && vocabulary_read(argv[first + 1], &words) != 0) {
    status = BSM_FAIL(BSM_IO, "%s is no vocabulary", argv[first + 1]);
  }
  for (int i = first + 2; !status && i < argc; i++) {
    status = review(context, &words, argv[i], show);
  }
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  vocabulary_free(&words);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
