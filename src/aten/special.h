/* SPDX-License-Identifier: Apache-2.0 */
/* Special functions in double that the C library does not have. */
#ifndef BSM_ATEN_SPECIAL_H_
#define BSM_ATEN_SPECIAL_H_

/* Modified Bessel functions of the first kind, and scaled by exp(-|x|). */
double bsm_sf_i0(double x);
double bsm_sf_i0e(double x);
double bsm_sf_i1(double x);
double bsm_sf_i1e(double x);
/* Of the second kind, and scaled by exp(x). NaN for x < 0, infinite for 0. */
double bsm_sf_k0(double x);
double bsm_sf_k0e(double x);
double bsm_sf_k1(double x);
double bsm_sf_k1e(double x);
double bsm_sf_airy_ai(double x);
double bsm_sf_spherical_j0(double x);
/* The normal distribution: its integral, the inverse, the logarithm. */
double bsm_sf_ndtr(double x);
double bsm_sf_ndtri(double p);
double bsm_sf_log_ndtr(double x);
/* exp(x^2) erfc(x) */
double bsm_sf_erfcx(double x);
double bsm_sf_entr(double x);
double bsm_sf_digamma(double x);
double bsm_sf_trigamma(double x);
/* Hurwitz' zeta function. */
double bsm_sf_zeta(double x, double q);
double bsm_sf_polygamma(int n, double x);
/* The regularized incomplete gamma functions, lower and upper. */
double bsm_sf_igamma(double a, double x);
double bsm_sf_igammac(double a, double x);

#endif /* BSM_ATEN_SPECIAL_H_ */
