/* SPDX-License-Identifier: MIT */
/*
 * cost: what another process has used, all of its threads together.
 */
#ifndef AB_BENCH_COST_H
#define AB_BENCH_COST_H

#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

/* User and system time since its start. -1: there is no such process. */
AB_MUST int cost_cpu_ns(pid_t pid, uint64_t *ret_ns);

/* Its share of physical memory (PSS), without what the kernel keeps for its
 * sockets. -1: not to be read. */
AB_MUST int cost_memory_bytes(pid_t pid, uint64_t *ret_bytes);

#endif
