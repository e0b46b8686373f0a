// SPDX-License-Identifier: Apache-2.0
// Activations of sums that are rounded to 16 or 8 bits afterwards: with fewer
// instructions, and off by less than a tenth of what rounding to half may change.
#pragma once

DEVICE float narrow_exp(float x) { return ptx_exp2(x * 1.44269504088896f); }

// 1 / (1 + e^-x)
DEVICE float narrow_sigmoid(float x) {
  return ptx_reciprocal(1.0f + narrow_exp(-x));
}

// x times the share of a normal distribution below x: for negative numbers that
// share, elsewhere the one above, is 2 to a polynomial; off by 3e-5 of it.
DEVICE float narrow_gelu(float x) {
  const float size = fabsf(x), a = size > 10.0f ? 10.0f : size;
  float p = 6.00353615e-8f;
  p = add_product(-3.1299887e-6f, p, a);
  p = add_product(7.17434178e-5f, p, a);
  p = add_product(-9.613541e-4f, p, a);
  p = add_product(8.50201161e-3f, p, a);
  p = add_product(-0.0537272722f, p, a);
  p = add_product(-0.458911024f, p, a);
  p = add_product(-1.15098616f, p, a);
  p = add_product(-1.00002388f, p, a);
  return (x > 0 ? x : 0) - a * ptx_exp2(p);
}

template <class T>
DEVICE float activate_sum(int code, float x, float alpha, float beta) {
  if (sizeof(T) <= 2) {
    switch (code) {
      case 2: return narrow_sigmoid(x);
      case 12: return narrow_gelu(x);
      case 13:
        return x * narrow_sigmoid(1.59576912160573f *
                                  (x + 0.044715f * x * x * x));
      case 14: return x * narrow_sigmoid(x);
      default: break;
    }
  }
  return activate(code, x, alpha, beta);
}
template <class T>
DEVICE double activate_sum(int code, double x, double alpha, double beta) {
  return activate(code, x, alpha, beta);
}
