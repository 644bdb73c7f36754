/* SPDX-License-Identifier: MIT */
/*
 * peek: the beginning of an answer's body, looked at before the verdict. The
 * bytes themselves stay in upstream.in, as they came, for whoever gets them
 * then; this is what they say without their transfer coding.
 */
#ifndef AB_PEEK_H
#define AB_PEEK_H

#include "engine/request.h"
#include "proto/chunked.h"
#include "proto/framing.h"
#include "proto/sse.h"

struct peek {
	struct look look;
	size_t head_bytes;      /* where the body begins in upstream.in */
	size_t at;              /* bytes of it that were looked at */
	enum framing_kind kind;
	uint64_t left;          /* FRAMING_LENGTH: bytes to come */
	struct chunked chunked;
	struct strbuf body;     /* owns; up to look.bytes */
	struct sse_scan scan;
	bool whole;             /* the body ends there */
	bool enough;            /* more would change nothing */
};

/* NULL: no memory. */
struct peek *peek_new(const struct look *look, const struct framing *f,
    size_t head_bytes);
void peek_free(struct peek *p); /* takes NULL */
/* The n bytes of body that have come in, from its first one on; those looked at
 * before may lie elsewhere now. Sets whole and enough. */
void peek_feed(struct peek *p, const char *body, size_t n);
struct body_view peek_view(const struct peek *p);

#endif
