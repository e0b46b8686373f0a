/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions: power series near zero, asymptotic series far away, and
 * trapezoidal sums of integrals, which converge exponentially where the
 * integrand decays doubly exponentially. */
#include "aten/special.h"

#include <math.h>
#include <stdbool.h>

/* ---- Bessel functions ---- */

/* exp(-|x|) I_n(|x|), n 0 or 1. */
static double scaled_i(int n, double x) {
  x = fabs(x);
  if (isnan(x)) return x;
  if (isinf(x)) return 0.0;
  if (x <= 30.0) {
    const double q = x * x / 4.0;
    double term = n ? x / 2.0 : 1.0, sum = term;
    for (int k = 1; k < 500 && term > sum * 1e-18; k++) {
      term *= q / ((double)k * (double)(k + n));
      sum += term;
    }
    return sum * exp(-x);
  }
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 30; k++) {
    const double odd = 2.0 * k - 1.0;
    term *= -(4.0 * n * n - odd * odd) / (8.0 * k * x);
    sum += term;
    if (fabs(term) < 1e-17) break;
  }
  return sum / sqrt(2.0 * M_PI * x);
}

double bsm_sf_i0e(double x) {
  return scaled_i(0, x);
}
double bsm_sf_i1e(double x) {
  return copysign(scaled_i(1, x), x);
}
double bsm_sf_i0(double x) {
  if (isinf(x)) return NAN; /* as PyTorch: infinity times zero */
  /* exp(x) in two factors, so that only the result can overflow. */
  const double half = exp(fabs(x) / 2.0);
  return scaled_i(0, x) * half * half;
}
double bsm_sf_i1(double x) {
  if (isinf(x)) return NAN;
  const double half = exp(fabs(x) / 2.0);
  return copysign(scaled_i(1, x) * half * half, x);
}

/* exp(x) K_v(x), the integral of exp(x - x cosh t) cosh(v t) over t > 0. */
static double scaled_k(double v, double x) {
  enum { MOST_STEPS = 8192 };
  const double step = 0.125;
  if (isnan(x) || x < 0.0) return NAN;
  if (x == 0.0) return INFINITY;
  if (isinf(x)) return 0.0;
  if (x > 20.0) { /* the integrand is narrower than the steps */
    double term = 1.0, series = 1.0;
    for (int k = 1; k < 30; k++) {
      const double odd = 2.0 * k - 1.0;
      term *= (4.0 * v * v - odd * odd) / (8.0 * k * x);
      series += term;
      if (fabs(term) < 1e-17) break;
    }
    return series * sqrt(M_PI / (2.0 * x));
  }
  double sum = 0.5;
  for (int k = 1; k < MOST_STEPS; k++) {
    const double t = k * step, s = sinh(t / 2.0);
    const double f = exp(-2.0 * x * s * s) * cosh(v * t);
    sum += f;
    if (f < sum * 1e-18) break;
  }
  return sum * step;
}

double bsm_sf_k0e(double x) {
  return scaled_k(0.0, x);
}
double bsm_sf_k1e(double x) {
  return x < 1e-8 && x > 0.0 ? 1.0 / x + 1.0 : scaled_k(1.0, x);
}
double bsm_sf_k0(double x) {
  return scaled_k(0.0, x) * exp(-x);
}
double bsm_sf_k1(double x) {
  return x < 1e-8 && x > 0.0 ? 1.0 / x : scaled_k(1.0, x) * exp(-x);
}

double bsm_sf_spherical_j0(double x) {
  if (isinf(x)) return 0.0;
  if (fabs(x) < 1e-4) return 1.0 - x * x / 6.0;
  return sin(x) / x;
}

/* Ai by its two power series. */
static double airy_series(double x) {
  const double c1 = 0.355028053887817239, c2 = 0.258819403792806798;
  const double cube = x * x * x;
  double f = 1.0, g = x, fs = f, gs = g;
  for (int k = 1; k < 200; k++) {
    f *= cube / ((3.0 * k - 1.0) * (3.0 * k));
    g *= cube / ((3.0 * k) * (3.0 * k + 1.0));
    fs += f;
    gs += g;
    if (fabs(f) < 1e-18 * fabs(fs) && fabs(g) < 1e-18 * fabs(gs)) break;
  }
  return c1 * fs - c2 * gs;
}

double bsm_sf_airy_ai(double x) {
  if (isnan(x) || isinf(x)) return isnan(x) || x < 0 ? NAN : 0.0;
  if (x > 3.0) {
    const double z = 2.0 / 3.0 * x * sqrt(x);
    return sqrt(x / 3.0) / M_PI * scaled_k(1.0 / 3.0, z) * exp(-z);
  }
  if (x >= -8.0) return airy_series(x);
  const double y = -x, z = 2.0 / 3.0 * y * sqrt(y);
  double u = 1.0, even = 1.0, odd = 0.0;
  for (int k = 1; k < 12; k++) {
    u *= (6.0 * k - 5.0) * (6.0 * k - 3.0) * (6.0 * k - 1.0) /
         (216.0 * k * (2.0 * k - 1.0) * z);
    const double sign = k / 2 % 2 ? -1.0 : 1.0;
    if (k % 2) {
      odd += sign * u;
    } else {
      even += sign * u;
    }
  }
  const double a = z + M_PI / 4.0;
  return (sin(a) * even - cos(a) * odd) / (sqrt(M_PI) * sqrt(sqrt(y)));
}

/* ---- the normal distribution ---- */

double bsm_sf_ndtr(double x) {
  return 0.5 * erfc(-x * M_SQRT1_2);
}

double bsm_sf_erfcx(double x) {
  if (isnan(x)) return x;
  if (x < 10.0) return exp(x * x) * erfc(x);
  const double r = 1.0 / (2.0 * x * x);
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 20; k++) {
    term *= -(2.0 * k - 1.0) * r;
    sum += term;
    if (fabs(term) < 1e-17) break;
  }
  return sum / (x * sqrt(M_PI));
}

double bsm_sf_log_ndtr(double x) {
  const double t = x * M_SQRT1_2;
  if (x < -1.0) return log(bsm_sf_erfcx(-t) / 2.0) - t * t;
  return log1p(-erfc(t) / 2.0);
}

/* A rational start for the tails and the middle, then Newton steps on the
 * logarithm in the tails, where they keep relative accuracy. */
double bsm_sf_ndtri(double p) {
  if (!(p > 0.0 && p < 1.0)) {
    return p == 0.0 ? -INFINITY : p == 1.0 ? INFINITY : NAN;
  }
  const bool upper = p > 0.5;
  const double tail = upper ? 1.0 - p : p;
  const double t = sqrt(-2.0 * log(tail));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 4; i++) {
    const double f = bsm_sf_log_ndtr(x);
    /* The derivative of log ndtr: the density over ndtr. */
    const double slope = exp(-x * x / 2.0 - f) / sqrt(2.0 * M_PI);
    x -= (f - log(tail)) / slope;
  }
  return upper ? -x : x;
}

double bsm_sf_entr(double x) {
  if (isnan(x)) return x;
  return x > 0.0 ? -x * log(x) : x == 0.0 ? 0.0 : -INFINITY;
}

/* ---- gamma and zeta ---- */

double bsm_sf_digamma(double x) {
  if (x == 0.0) return copysign(INFINITY, -x);
  double reflected = 0.0, sum = 0.0;
  if (x < 0.0) {
    if (x == floor(x)) return NAN;
    reflected = -M_PI / tan(M_PI * x);
    x = 1.0 - x;
  }
  /* 1 / x + 1 / (x + 1): half of the divisions. */
  for (; x < 10.0; x += 2.0) sum -= (2.0 * x + 1.0) / (x * (x + 1.0));
  const double r = 1.0 / (x * x);
  return reflected + sum + log(x) - 0.5 / x -
         r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240)));
}

double bsm_sf_trigamma(double x) {
  double sign = 1.0, sum = 0.0;
  if (x < 0.5) {
    const double s = sin(M_PI * x);
    sum = -(M_PI * M_PI) / (s * s);
    sign = -1.0;
    x = 1.0 - x;
  }
  for (int i = 0; i < 20; i++) {
    sum += 1.0 / (x * x);
    x += 1.0;
  }
  const double r = 1.0 / (x * x);
  sum += (1.0 + 1.0 / (2.0 * x) +
          r * (1.0 / 6.0 - r * (1.0 / 30.0 - r * (1.0 / 42.0)))) /
         x;
  return sign * sum;
}

/* Euler and Maclaurin, after the first terms one by one. */
double bsm_sf_zeta(double x, double q) {
  static const double bernoulli[] = {12.0,
                                     -720.0,
                                     30240.0,
                                     -1209600.0,
                                     47900160.0,
                                     -1.8924375803183791606e9,
                                     7.47242496e10,
                                     -2.950130727918164224e12,
                                     1.1646782814350067249e14,
                                     -4.5979787224074726105e15,
                                     1.8152105401943546773e17,
                                     -7.1661652561756670113e18};
  if (x == 1.0) return INFINITY;
  if (x < 1.0) return NAN;
  if (q <= 0.0) {
    if (q == floor(q)) return INFINITY;
    if (x != floor(x)) return NAN;
  }
  double sum = pow(q, -x), a = q, b = 0.0;
  for (int i = 0; i < 9 || a <= 9.0; i++) {
    a += 1.0;
    b = pow(a, -x);
    sum += b;
    if (fabs(b) < 1e-17 * fabs(sum)) return sum;
    if (i > 100000) return NAN;
  }
  sum += b * a / (x - 1.0) - 0.5 * b;
  double factor = 1.0, k = 0.0;
  for (int i = 0; i < 12; i++) {
    factor *= x + k;
    b /= a;
    const double t = factor * b / bernoulli[i];
    sum += t;
    if (fabs(t) < 1e-17 * fabs(sum)) break;
    factor *= x + k + 1.0;
    k += 2.0;
    b /= a;
  }
  return sum;
}

double bsm_sf_polygamma(int n, double x) {
  if (n == 0) return bsm_sf_digamma(x);
  if (n == 1) return bsm_sf_trigamma(x);
  return (n % 2 ? 1.0 : -1.0) * exp(lgamma(n + 1.0)) * bsm_sf_zeta(n + 1.0, x);
}

enum { GAMMA_TERMS = 20000 };

/* x^a e^-x / gamma(a + 1), times the series of the lower function. */
static double igamma_series(double a, double x) {
  double term = 1.0, sum = 1.0, r = a;
  for (int i = 0; i < GAMMA_TERMS && term > sum * 1e-17; i++) {
    r += 1.0;
    term *= x / r;
    sum += term;
  }
  return exp(a * log(x) - x - lgamma(a + 1.0)) * sum;
}

/* Lentz' evaluation of the continued fraction of the upper function. */
static double igammac_fraction(double a, double x) {
  const double tiny = 1e-300;
  double b = x + 1.0 - a, c = 1.0 / tiny, d = 1.0 / b, h = d;
  for (int i = 1; i < GAMMA_TERMS; i++) {
    const double an = -(double)i * ((double)i - a);
    b += 2.0;
    d = an * d + b;
    c = b + an / c;
    if (fabs(d) < tiny) d = tiny;
    if (fabs(c) < tiny) c = tiny;
    d = 1.0 / d;
    h *= c * d;
    if (fabs(c * d - 1.0) < 1e-16) break;
  }
  return exp(a * log(x) - x - lgamma(a)) * h;
}

/* Where a or x is at an end: true, and the lower function. */
static bool igamma_edge(double a, double x, double *out) {
  *out = NAN;
  if (isnan(a) || isnan(x) || a < 0.0 || x < 0.0) return true;
  if (a == 0.0) {
    *out = x > 0.0 ? 1.0 : NAN;
  } else if (x == 0.0) {
    *out = 0.0;
  } else if (isinf(a)) {
    *out = isinf(x) ? NAN : 0.0;
  } else if (isinf(x)) {
    *out = 1.0;
  } else {
    return false;
  }
  return true;
}

double bsm_sf_igamma(double a, double x) {
  double v;
  if (igamma_edge(a, x, &v)) return v;
  return x < a + 1.0 ? igamma_series(a, x) : 1.0 - igammac_fraction(a, x);
}

double bsm_sf_igammac(double a, double x) {
  double v;
  if (igamma_edge(a, x, &v)) return 1.0 - v;
  return x < a + 1.0 ? 1.0 - igamma_series(a, x) : igammac_fraction(a, x);
}
