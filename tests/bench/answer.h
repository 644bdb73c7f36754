/* SPDX-License-Identifier: MIT */
/*
 * answer: one response as it comes in, read just far enough to know where it
 * ends. Only what the origin of this kit sends is understood: Content-Length.
 */
#ifndef AB_BENCH_ANSWER_H
#define AB_BENCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define ANSWER_HEAD_MAX 2047

struct answer {
	char head[ANSWER_HEAD_MAX + 1];
	size_t nhead;     /* bytes of the head so far */
	bool headed;      /* the head is complete, and what follows is valid */
	bool framed;      /* it had a Content-Length */
	bool close;       /* the sender closes after it */
	unsigned status;
	uint64_t left;    /* bytes of the body to come */
};

void answer_clear(struct answer *a);
/* Takes `n` bytes. 1: complete; 0: more to come; -1: no answer, or more than
 * one. */
AB_MUST int answer_feed(struct answer *a, const char *p, size_t n);

#endif
