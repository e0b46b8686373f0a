/* SPDX-License-Identifier: Apache-2.0 */
/* How many CPUs the cgroups of a process grant it. */
#ifndef BSM_BASE_CPUS_H_
#define BSM_BASE_CPUS_H_

/* The CPU quota in whole CPUs, rounded up; 0 when there is none. `membership`
 * is the text of /proc/self/cgroup; `root` is where the cgroup file systems are
 * mounted, /sys/fs/cgroup on every usual system. Both versions of cgroups are
 * read, and every ancestor counts. */
int bsm_cgroup_cpus(const char *membership, const char *root);

#endif /* BSM_BASE_CPUS_H_ */
