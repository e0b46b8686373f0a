// SPDX-License-Identifier: Apache-2.0
// Arithmetic of which each operation rounds to a dtype, as PyTorch's does where
// an ulp decides what comes next.
#pragma once

// What one operation is computed in, before it is rounded.
template <class T>
struct wide {
  typedef double type;
  static DEVICE double round(double x) {
    return (double)element<T>::round((float)x);
  }
};
template <>
struct wide<float> {
  typedef float type;
  static DEVICE float round(float x) { return x; }
};
template <>
struct wide<double> {
  typedef double type;
  static DEVICE double round(double x) { return x; }
};
DEVICE float least(float a, float b) { return fminf(a, b); }
DEVICE double least(double a, double b) { return fmin(a, b); }
DEVICE float greatest(float a, float b) { return fmaxf(a, b); }
DEVICE double greatest(double a, double b) { return fmax(a, b); }
