/* SPDX-License-Identifier: MIT */
/*
 * cost.c: reads what a process has used. Decides nothing.
 *
 * The CPU clock of the process, and not /proc/PID/stat: that one counts in
 * ticks of 10 ms.
 */
#include "cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

int
cost_cpu_ns(pid_t pid, uint64_t *ret_ns)
{
	struct timespec t;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) < 0)
		return -1;
	*ret_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return 0;
}

int
cost_memory_bytes(pid_t pid, uint64_t *ret_bytes)
{
	char path[64], line[256];
	uint64_t kb;
	int rc = -1;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", (long)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (rc < 0 && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "Pss: %" SCNu64, &kb) == 1) {
			*ret_bytes = kb * 1024;
			rc = 0;
		}
	}
	(void)fclose(f);
	return rc;
}
