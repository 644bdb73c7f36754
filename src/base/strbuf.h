/* SPDX-License-Identifier: MIT */
/*
 * strbuf: text that grows. The first failed allocation (or the limit) marks it
 * failed; everything after is dropped, so a caller checks once, at the end.
 */
#ifndef AB_STRBUF_H
#define AB_STRBUF_H

#include "base/span.h"

struct strbuf {
	char *p;    /* owns; NULL while empty */
	size_t n;   /* bytes used; no NUL is kept */
	size_t cap;
	size_t max; /* bytes; more than this fails */
	bool failed;
};

void strbuf_init(struct strbuf *b, size_t max);
void strbuf_clear(struct strbuf *b); /* empty and whole again, keeps memory */
void strbuf_free(struct strbuf *b);  /* takes a cleared or half-built one */
void strbuf_put(struct strbuf *b, const void *p, size_t n);
void strbuf_span(struct strbuf *b, struct span s);
void strbuf_char(struct strbuf *b, char c);
void strbuf_u64(struct strbuf *b, uint64_t v);
void strbuf_fmt(struct strbuf *b, const char *fmt, ...) AB_PRINTF(2, 3);
#define strbuf_lit(b, lit) strbuf_put((b), (lit), sizeof(lit) - 1)
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void strbuf_json(struct strbuf *b, struct span s);
/* For a text log: controls, '"', '\' and bytes >= 0x7f as \xHH. */
void strbuf_escaped(struct strbuf *b, struct span s);

static inline struct span
strbuf_view(const struct strbuf *b)
{
	return (struct span){b->p, b->n};
}

#endif
