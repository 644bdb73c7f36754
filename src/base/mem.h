/* SPDX-License-Identifier: MIT */
/*
 * mem: the one way to the heap, so that a test can make any allocation fail.
 *
 * In a request NULL is an answer that every caller handles: that request
 * fails, the daemon goes on. At boot use the mem_must_ forms: they end the
 * process with a line on standard error and exit code 2.
 */
#ifndef AB_MEM_H
#define AB_MEM_H

#include <stddef.h>

#include "base/span.h"

AB_MUST void *mem_alloc(size_t bytes);
AB_MUST void *mem_zalloc(size_t bytes);
AB_MUST void *mem_realloc(void *p, size_t bytes); /* p stays on failure */
AB_MUST char *mem_dup(struct span s);             /* adds a NUL */
void mem_free(void *p);                           /* takes NULL */

void *mem_must_zalloc(size_t bytes);
char *mem_must_dup(struct span s);

/*
 * Fault injection, per thread: the n-th allocation from now on fails (1 is
 * the next), and with `all_after` every one after it too. 0 turns it off.
 */
void mem_fail_at(unsigned long n, bool all_after);
/* Allocations by this thread since the last mem_fail_at. */
unsigned long mem_count(void);

#endif
