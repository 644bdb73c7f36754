/* SPDX-License-Identifier: MIT */
/*
 * mem.c: malloc behind one door.
 *
 * Decides when an allocation fails on purpose. It knows nothing of what the
 * memory is for. A size of 0 gives a valid pointer, so that NULL means "out
 * of memory" and nothing else. The price of the fault injection is one
 * thread-local increment and one compare per allocation.
 */
#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

static _Thread_local struct {
	unsigned long count;   /* allocations since mem_fail_at */
	unsigned long fail_at; /* 0: off */
	bool all_after;
} inject;

static bool
fails_on_purpose(void)
{
	unsigned long nth = ++inject.count;

	if (__builtin_expect(inject.fail_at == 0, 1))
		return false;
	return nth == inject.fail_at ||
	    (inject.all_after && nth > inject.fail_at);
}

void
mem_fail_at(unsigned long n, bool all_after)
{
	inject.count = 0;
	inject.fail_at = n;
	inject.all_after = all_after;
}

unsigned long
mem_count(void)
{
	return inject.count;
}

void *
mem_alloc(size_t bytes)
{
	return fails_on_purpose() ? NULL : malloc(bytes ? bytes : 1);
}

void *
mem_zalloc(size_t bytes)
{
	return fails_on_purpose() ? NULL : calloc(1, bytes ? bytes : 1);
}

void *
mem_realloc(void *p, size_t bytes)
{
	return fails_on_purpose() ? NULL : realloc(p, bytes ? bytes : 1);
}

char *
mem_dup(struct span s)
{
	char *p = s.n < SIZE_MAX ? mem_alloc(s.n + 1) : NULL;

	if (p == NULL)
		return NULL;
	if (s.n > 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

void
mem_free(void *p)
{
	free(p);
}

/* Plain write: whatever formats text may want memory itself. */
static void *
must(void *p)
{
	static const char line[] = "abided: out of memory at start\n";

	if (p == NULL) {
		ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);

		(void)ignored;
		exit(2);
	}
	return p;
}

void *
mem_must_zalloc(size_t bytes)
{
	return must(mem_zalloc(bytes));
}

char *
mem_must_dup(struct span s)
{
	return must(mem_dup(s));
}
