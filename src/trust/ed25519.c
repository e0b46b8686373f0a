/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519, written from RFC 8032. Names of values are the RFC's. */
#include "trust/ed25519.h"

#include <string.h>

#include "base/secret.h"
#include "trust/field25519.h"
#include "trust/scalar25519.h"
#include "trust/sha512.h"

/* x = X / Z, y = Y / Z, x y = T / Z */
typedef struct point {
  bsm_fe X, Y, Z, T;
} point;

static const bsm_fe zero = {{0}}, one = {{1}};

/* Constants, as they are encoded: a fourth of their size.
 * The curve is -x^2 + y^2 = 1 + d x^2 y^2. */
static const uint8_t d_bytes[32] = {
    0xa3, 0x78, 0x59, 0x13, 0xca, 0x4d, 0xeb, 0x75, 0xab, 0xd8, 0x41,
    0x41, 0x4d, 0x0a, 0x70, 0x00, 0x98, 0xe8, 0x79, 0x77, 0x79, 0x40,
    0xc7, 0x8c, 0x73, 0xfe, 0x6f, 0x2b, 0xee, 0x6c, 0x03, 0x52};
static const uint8_t root_of_minus_one[32] = {
    0xb0, 0xa0, 0x0e, 0x4a, 0x27, 0x1b, 0xee, 0xc4, 0x78, 0xe4, 0x2f,
    0xad, 0x06, 0x18, 0x43, 0x2f, 0xa7, 0xd7, 0xfb, 0x3d, 0x99, 0x00,
    0x4d, 0x2b, 0x0b, 0xdf, 0xc1, 0x4f, 0x80, 0x24, 0x83, 0x2b};
/* The base point. */
static const uint8_t base_bytes[2][32] = {
    {0x1a, 0xd5, 0x25, 0x8f, 0x60, 0x2d, 0x56, 0xc9, 0xb2, 0xa7, 0x25,
     0x95, 0x60, 0xc7, 0x2c, 0x69, 0x5c, 0xdc, 0xd6, 0xfd, 0x31, 0xe2,
     0xa4, 0xc0, 0xfe, 0x53, 0x6e, 0xcd, 0xd3, 0x36, 0x69, 0x21},
    {0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
     0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
     0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66}};

/* The result of `a` times a constant. */
static void multiply_constant(bsm_fe *out, const bsm_fe *a,
                              const uint8_t constant[32]) {
  bsm_fe factor;
  bsm_fe_decode(&factor, constant);
  bsm_fe_mul(out, a, &factor);
}

/* ---- points ---- */

/* RFC 8032, 5.1.4: right for any two points, equal ones and zero too. */
static void add(point *out, const point *p, const point *q) {
  bsm_fe A, B, C, D, E, F, G, H;
  bsm_fe_sub(&A, &p->Y, &p->X);
  bsm_fe_sub(&E, &q->Y, &q->X);
  bsm_fe_mul(&A, &A, &E);
  bsm_fe_add(&B, &p->Y, &p->X);
  bsm_fe_add(&E, &q->Y, &q->X);
  bsm_fe_mul(&B, &B, &E);
  bsm_fe_mul(&C, &p->T, &q->T);
  multiply_constant(&C, &C, d_bytes);
  bsm_fe_add(&C, &C, &C);
  bsm_fe_mul(&D, &p->Z, &q->Z);
  bsm_fe_add(&D, &D, &D);
  bsm_fe_sub(&E, &B, &A);
  bsm_fe_sub(&F, &D, &C);
  bsm_fe_add(&G, &D, &C);
  bsm_fe_add(&H, &B, &A);
  bsm_fe_mul(&out->X, &E, &F);
  bsm_fe_mul(&out->Y, &G, &H);
  bsm_fe_mul(&out->T, &E, &H);
  bsm_fe_mul(&out->Z, &F, &G);
}

static point base_point(void) {
  point out = {.Z = one};
  bsm_fe_decode(&out.X, base_bytes[0]);
  bsm_fe_decode(&out.Y, base_bytes[1]);
  bsm_fe_mul(&out.T, &out.X, &out.Y);
  return out;
}

static void swap(point *p, point *q, uint32_t bit) {
  bsm_fe_swap(&p->X, &q->X, bit);
  bsm_fe_swap(&p->Y, &q->Y, bit);
  bsm_fe_swap(&p->Z, &q->Z, bit);
  bsm_fe_swap(&p->T, &q->T, bit);
}

/* [scalar] p, by Montgomery's ladder: two additions for each bit. */
static void multiply(point *out, const uint8_t scalar[32], const point *p) {
  point low = {zero, one, one, zero}, high = *p; /* high = low + p */
  for (int bit = 255; bit >= 0; bit--) {
    const uint32_t b = (uint32_t)scalar[bit / 8] >> bit % 8 & 1u;
    swap(&low, &high, b);
    add(&high, &high, &low);
    add(&low, &low, &low);
    swap(&low, &high, b);
  }
  *out = low;
  bsm_secret_wipe(&low, sizeof(low));
  bsm_secret_wipe(&high, sizeof(high));
}

static void encode(uint8_t out[32], const point *p) {
  bsm_fe inverse, x, y;
  bsm_fe_invert(&inverse, &p->Z);
  bsm_fe_mul(&x, &p->X, &inverse);
  bsm_fe_mul(&y, &p->Y, &inverse);
  bsm_fe_encode(out, &y);
  out[31] ^= (uint8_t)(bsm_fe_is_odd(&x) << 7);
}

/* x of a point whose y is known: RFC 8032, 5.1.3. */
static bool recover_x(bsm_fe *x, const bsm_fe *y, uint32_t odd) {
  bsm_fe u, v, v3, check;
  bsm_fe_mul(&v, y, y);
  bsm_fe_sub(&u, &v, &one); /* u = y^2 - 1 */
  multiply_constant(&v, &v, d_bytes);
  bsm_fe_add(&v, &v, &one); /* v = d y^2 + 1 */
  bsm_fe_mul(&v3, &v, &v);
  bsm_fe_mul(&v3, &v3, &v);
  bsm_fe_mul(x, &v3, &v3);
  bsm_fe_mul(x, x, &v);
  bsm_fe_mul(x, x, &u); /* u v^7 */
  bsm_fe_root_power(x, x);
  bsm_fe_mul(x, x, &v3);
  bsm_fe_mul(x, x, &u); /* u v^3 (u v^7)^((p - 5) / 8) */
  bsm_fe_mul(&check, x, x);
  bsm_fe_mul(&check, &check, &v);
  if (!bsm_fe_equal(&check, &u)) {
    multiply_constant(x, x, root_of_minus_one);
    bsm_fe_mul(&check, x, x);
    bsm_fe_mul(&check, &check, &v);
    if (!bsm_fe_equal(&check, &u)) return false;
  }
  if (bsm_fe_equal(x, &zero) && odd) return false;
  if (bsm_fe_is_odd(x) != odd) bsm_fe_sub(x, &zero, x);
  return true;
}

/* A point of bytes that anybody may know, in its one encoding. */
static bool decode(point *out, const uint8_t bytes[32]) {
  uint8_t again[32];
  bsm_fe_decode(&out->Y, bytes);
  bsm_fe_encode(again, &out->Y);
  again[31] |= bytes[31] & 0x80;
  if (memcmp(again, bytes, sizeof(again)) != 0) return false;
  if (!recover_x(&out->X, &out->Y, bytes[31] >> 7)) return false;
  out->Z = one;
  bsm_fe_mul(&out->T, &out->X, &out->Y);
  return true;
}

/* Whether 8 times the point is zero. */
static bool has_small_order(const point *p) {
  point sum = *p;
  for (int i = 0; i < 3; i++) add(&sum, &sum, &sum);
  return bsm_fe_equal(&sum.X, &zero) && bsm_fe_equal(&sum.Y, &sum.Z);
}

/* ---- signatures ---- */

/* The secret scalar, and the prefix that nonces are made with. */
static void expand(const uint8_t secret[32], uint8_t out[64]) {
  bsm_sha512 hash;
  bsm_sha512_init(&hash);
  bsm_sha512_add(&hash, secret, 32);
  bsm_sha512_finish(&hash, out);
  out[0] &= 0xf8;
  out[31] = (uint8_t)((out[31] & 0x7f) | 0x40);
}

/* The hash of these, modulo L; `second` may be NULL. */
static void challenge(uint8_t out[32], const uint8_t *first,
                      const uint8_t *second, const void *message, size_t size) {
  uint8_t wide[64];
  bsm_sha512 hash;
  bsm_sha512_init(&hash);
  bsm_sha512_add(&hash, first, 32);
  if (second) bsm_sha512_add(&hash, second, 32);
  bsm_sha512_add(&hash, message, size);
  bsm_sha512_finish(&hash, wide);
  bsm_scalar_reduce(out, wide);
  bsm_secret_wipe(wide, sizeof(wide));
}

void bsm_ed25519_public_key(const uint8_t secret[32], uint8_t out[32]) {
  uint8_t expanded[64];
  point A = base_point();
  expand(secret, expanded);
  multiply(&A, expanded, &A);
  encode(out, &A);
  bsm_secret_wipe(expanded, sizeof(expanded));
}

void bsm_ed25519_sign(const uint8_t secret[32], const void *message,
                      size_t size, uint8_t out[64]) {
  uint8_t expanded[64], A[32], r[32], k[32], s[32];
  point R = base_point();
  bsm_ed25519_public_key(secret, A);
  expand(secret, expanded);
  challenge(r, expanded + 32, NULL, message, size);
  multiply(&R, r, &R);
  encode(out, &R);
  challenge(k, out, A, message, size);
  /* The clamped scalar may be above L, so it is the factor that may be. */
  bsm_scalar_multiply_add(s, expanded, k, r);
  memcpy(out + 32, s, sizeof(s));
  bsm_secret_wipe(expanded, sizeof(expanded));
  bsm_secret_wipe(r, sizeof(r));
}

bool bsm_ed25519_is_public_key(const uint8_t key[32]) {
  point A;
  return decode(&A, key) && !has_small_order(&A);
}

bool bsm_ed25519_verify(const uint8_t key[32], const void *message, size_t size,
                        const uint8_t signature[64]) {
  uint8_t k[32], expected[32];
  point A, R, sum = base_point();
  const uint8_t *S = signature + 32;
  if (!bsm_scalar_is_reduced(S)) return false;
  if (!decode(&A, key) || has_small_order(&A)) return false;
  if (!decode(&R, signature) || has_small_order(&R)) return false;
  challenge(k, signature, key, message, size);
  /* R = [S] B - [k] A */
  bsm_fe_sub(&A.X, &zero, &A.X);
  bsm_fe_sub(&A.T, &zero, &A.T);
  multiply(&A, k, &A);
  multiply(&sum, S, &sum);
  add(&sum, &sum, &A);
  encode(expected, &sum);
  return memcmp(expected, signature, sizeof(expected)) == 0;
}
