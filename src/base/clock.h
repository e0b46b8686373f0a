/* SPDX-License-Identifier: Apache-2.0 */
/* Time for measurements. */
#ifndef BSM_BASE_CLOCK_H_
#define BSM_BASE_CLOCK_H_

/* Seconds since some moment in the past; never goes back. */
double bsm_clock_seconds(void);
/* Seconds for which the calling thread had a CPU: without those in which other
 * work did. Asking takes longer. */
double bsm_thread_seconds(void);

#endif /* BSM_BASE_CLOCK_H_ */
