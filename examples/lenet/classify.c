/* SPDX-License-Identifier: Apache-2.0 */
/* Tells which digit is on a picture: docs/walkthroughs.md.
 *
 *   cc classify.c $(pkg-config --cflags --libs bessemer-runtime) -o classify
 *   ./classify lenet.bsm digits/7.pgm */
#include <stdio.h>

#include "bessemer/engine.h"

enum { SIDE = 28, DIGITS = 10 };

/* Reads a picture of 28 x 28 bytes (P5) as numbers from 0 to 1. */
static bsm_status read_picture(const char *path, float *pixels) {
  unsigned char bytes[SIDE * SIDE];
  int width = 0, height = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return BSM_FAIL(BSM_IO, "%s cannot be read", path);
  const int head = fscanf(file, "P5 %d %d 255%*c", &width, &height);
  const int fits = head == 2 && width == SIDE && height == SIDE &&
                   fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes);
  fclose(file);
  if (!fits) {
    return BSM_FAIL(BSM_CORRUPT, "%s is no picture of 28 x 28 bytes", path);
  }
  for (int i = 0; i < SIDE * SIDE; i++) pixels[i] = (float)bytes[i] / 255;
  return BSM_OK;
}

static bsm_status classify(bsm_context *context, const char *path) {
  float pixels[SIDE * SIDE], scores[DIGITS];
  const bsm_array in = {.data = pixels,
                        .dtype = BSM_DTYPE_FLOAT,
                        .dims = {4, {1, 1, SIDE, SIDE}}};
  const bsm_array out = {
      .data = scores, .dtype = BSM_DTYPE_FLOAT, .dims = {2, {1, DIGITS}}};
  BSM_TRY(read_picture(path, pixels));
  BSM_TRY(bsm_context_run(context, &in, 1, &out, 1));
  int best = 0;
  for (int i = 1; i < DIGITS; i++) {
    if (scores[i] > scores[best]) best = i;
  }
  printf("%s: a %d\n", path, best);
  return BSM_OK;
}

int main(int argc, char **argv) {
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  if (argc < 3) {
    fprintf(stderr, "usage: classify ENGINE PICTURE...\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  for (int i = 2; !status && i < argc; i++) status = classify(context, argv[i]);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
