/* SPDX-License-Identifier: MIT */
/*
 * body: a request's body, kept so that it can be sent again from byte 0.
 *
 * The first memory_bytes stay in memory, the next spill_bytes go to an
 * unlinked file. What is stored never changes. A body that outgrows both, or
 * whose file fails, is `once`: it is sent as it comes and can't be repeated.
 */
#ifndef AB_BODY_H
#define AB_BODY_H

#include "base/span.h"

struct engine;

struct body_cfg {
	uint64_t memory_bytes;
	uint64_t spill_bytes;
};

enum body_why {
	BODY_WHOLE,        /* it is replayable so far */
	BODY_TOO_LARGE,
	BODY_SPILL_FAILED,
	BODY_NO_MEMORY,
};

struct body_block;
struct body {
	struct body_block *first, *last; /* owns */
	uint64_t bytes;       /* stored: memory, then file */
	uint64_t in_memory;   /* of them */
	int spill;            /* handle, -1: none */
	bool complete;        /* the client's body has ended */
	enum body_why once;   /* not BODY_WHOLE: no replay */
	char *trailer;        /* owns; lines with CRLF, or NULL */
	size_t trailer_bytes;
};

void body_init(struct body *b);
void body_free(struct body *b, struct engine *e);
/*
 * Stores what fits. Returns the bytes stored: fewer than n means that the body
 * is `once` now and the rest must be streamed by the caller.
 */
AB_MUST size_t body_append(struct body *b, struct engine *e,
    const struct body_cfg *cfg, const char *p, size_t n);
/*
 * The stored bytes from `at` on: a run in memory as it lies, or read from the
 * file into buf[0, cap). An empty span: at the end. Returns 0, or -1 when the
 * file can't be read.
 */
AB_MUST int body_at(const struct body *b, struct engine *e, uint64_t at,
    char *buf, size_t cap, struct span *ret);

static inline bool
body_replayable(const struct body *b)
{
	return b->complete && b->once == BODY_WHOLE;
}

#endif
