/* SPDX-License-Identifier: Apache-2.0 */
/* Finds things on a picture and draws boxes around them: docs/walkthroughs.md.
 *
 *   cc draw_boxes.c $(pkg-config --cflags --libs bessemer-runtime) -o
 * draw_boxes
 *   ./draw_boxes detector.bsm picture.ppm boxes.ppm */
#include <stdio.h>
#include <stdlib.h>

#include "bessemer/engine.h"

static const char *const names[] = {"disc", "square", "triangle"};
static const unsigned char colours[][3] = {
    {255, 64, 64}, {64, 255, 64}, {96, 128, 255}};

typedef struct picture {
  int width, height;
  unsigned char *pixels; /* red, green, blue; row by row */
} picture;

static bsm_status read_picture(const char *path, picture *p) {
  FILE *file = fopen(path, "rb");
  if (!file) return BSM_FAIL(BSM_IO, "%s cannot be read", path);
  int fits = fscanf(file, "P6 %d %d 255%*c", &p->width, &p->height) == 2 &&
             p->width > 0 && p->width <= 4096 && p->height > 0 &&
             p->height <= 4096;
  const size_t size = fits ? 3 * (size_t)p->width * (size_t)p->height : 0;
  p->pixels = fits ? malloc(size) : NULL;
  fits = p->pixels && fread(p->pixels, 1, size, file) == size;
  fclose(file);
  if (!fits) return BSM_FAIL(BSM_CORRUPT, "%s is no picture (P6)", path);
  return BSM_OK;
}

static bsm_status write_picture(const char *path, const picture *p) {
  const size_t size = 3 * (size_t)p->width * (size_t)p->height;
  FILE *file = fopen(path, "wb");
  if (!file) return BSM_FAIL(BSM_IO, "%s cannot be written", path);
  fprintf(file, "P6\n%d %d\n255\n", p->width, p->height);
  const size_t done = fwrite(p->pixels, 1, size, file);
  if (fclose(file) || done != size) return BSM_FAIL(BSM_IO, "%s", path);
  return BSM_OK;
}

static int within(float value, int end) {
  return value < 0 ? 0 : value > (float)(end - 1) ? end - 1 : (int)value;
}

static void paint(picture *p, int x, int y, const unsigned char *colour) {
  unsigned char *pixel =
      p->pixels + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
  for (int i = 0; i < 3; i++) pixel[i] = colour[i];
}

/* Draws the edges of a box, given as left, top, right, bottom. */
static void draw_box(picture *p, const float *box,
                     const unsigned char *colour) {
  const int left = within(box[0], p->width), right = within(box[2], p->width);
  const int top = within(box[1], p->height), low = within(box[3], p->height);
  for (int x = left; x <= right; x++) {
    paint(p, x, top, colour);
    paint(p, x, low, colour);
  }
  for (int y = top; y <= low; y++) {
    paint(p, left, y, colour);
    paint(p, right, y, colour);
  }
}

/* The network wants each colour by itself, as numbers from 0 to 255. */
static float *planes_of(const picture *p) {
  const size_t count = (size_t)p->width * (size_t)p->height;
  float *planes = malloc(3 * count * sizeof(float));
  for (size_t i = 0; planes && i < 3 * count; i++) {
    planes[i % 3 * count + i / 3] = p->pixels[i];
  }
  return planes;
}

/* How many things there are is known after the run: the outputs are kept by the
 * context. */
static bsm_status detect(bsm_context *context, picture *p) {
  float *planes = planes_of(p);
  BSM_TRY_ALLOC(planes);
  const bsm_array in = {.data = planes,
                        .dtype = BSM_DTYPE_FLOAT,
                        .dims = {4, {1, 3, p->height, p->width}}};
  bsm_status status = bsm_context_run_keep(context, &in, 1);
  free(planes);
  bsm_array boxes, scores, kinds;
  if (!status) status = bsm_context_output(context, 0, &boxes);
  if (!status) status = bsm_context_output(context, 1, &scores);
  if (!status) status = bsm_context_output(context, 2, &kinds);
  if (status) return status;
  for (int64_t i = 0; i < scores.dims.d[0]; i++) {
    const float *box = (const float *)boxes.data + 4 * i;
    const int64_t kind = ((const int64_t *)kinds.data)[i];
    printf("%s %.0f%% at %.0f %.0f %.0f %.0f\n", names[kind],
           100 * (double)((const float *)scores.data)[i], (double)box[0],
           (double)box[1], (double)box[2], (double)box[3]);
    draw_box(p, box, colours[kind]);
  }
  return BSM_OK;
}

int main(int argc, char **argv) {
  bsm_engine *engine = NULL;
  bsm_context *context = NULL;
  picture p = {0};
  if (argc != 4) {
    fprintf(stderr, "usage: draw_boxes ENGINE PICTURE OUT\n");
    return 2;
  }
  bsm_status status = bsm_engine_load(argv[1], NULL, &engine);
  if (!status) status = bsm_context_create(engine, NULL, &context);
  if (!status) status = read_picture(argv[2], &p);
  if (!status) status = detect(context, &p);
  if (!status) status = write_picture(argv[3], &p);
  if (status) fprintf(stderr, "%s\n", bsm_status_message(status));
  const int failed = status != BSM_OK;
  bsm_status_free(status);
  free(p.pixels);
  bsm_context_destroy(context);
  bsm_engine_destroy(engine);
  return failed;
}
