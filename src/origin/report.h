/* SPDX-License-Identifier: MIT */
/*
 * report: every attempt that came, the latest `keep` of them.
 *
 * A ring: attempt `seq` (the first is 1) lies at seq modulo keep and is gone
 * when seq + keep comes. Whoever waits for the end of an attempt keeps its seq,
 * not a pointer, and asks again.
 */
#ifndef AB_ORIGIN_REPORT_H
#define AB_ORIGIN_REPORT_H

#include "base/strbuf.h"

enum attempt_end {
	END_OPEN, /* in progress */
	END_DONE, /* answered in full */
	END_CUT,  /* cut or left unanswered on purpose */
	END_LEFT, /* the client closed or failed before the end */
};

struct attempt {
	uint64_t seq;        /* 0: forgotten */
	int64_t mono_ns;     /* head taken up */
	int64_t end_ns;      /* last byte handed to the kernel; 0: open */
	int64_t hint_ns;     /* the wait that the answer told; -1: none */
	int64_t early_ns;    /* how much too early it came; 0: it did not */
	int64_t age_ns;      /* time since the last hint; -1: there was none */
	uint64_t conn, nth;  /* connection number, nth request on it */
	uint64_t running;    /* in progress on the key, this one included */
	uint64_t body_bytes, sent_bytes;
	uint32_t body_crc;
	int status;          /* 0: no answer */
	bool throttled;      /* refused, or answered 429, 503 or 504 */
	enum attempt_end end;
	char *text;          /* owns: key, id, method and path in a row */
	uint16_t key_n, id_n, method_n, path_n;
};

struct report {
	struct attempt *v;   /* owns; cap of them */
	uint64_t cap;        /* grows to keep */
	uint64_t keep;
	uint64_t next;       /* seq of the next attempt */
	uint64_t base;       /* seq at the last report_clear: index 0 */
	uint64_t dropped;    /* fell out of the ring since then */
};

void report_init(struct report *r, uint64_t keep);
void report_free(struct report *r);
/*
 * Adds an attempt: *a without seq and text. Texts longer than 128 bytes (key,
 * id), 32 (method) or 512 (path) are cut. 0, or -1 out of memory.
 */
AB_MUST int report_add(struct report *r, const struct attempt *a,
    struct span key, struct span id, struct span method, struct span path,
    uint64_t *ret_seq);
/* The attempt, or NULL when it fell out. Valid until the next report_add. */
struct attempt *report_get(struct report *r, uint64_t seq);
/* The oldest seq that may still be there. */
uint64_t report_first(const struct report *r);
/* Forgets all (key.p NULL), or those of one key. */
void report_clear(struct report *r, struct span key);

static inline struct span
attempt_key(const struct attempt *a)
{
	return (struct span){a->text, a->key_n};
}

static inline struct span
attempt_id(const struct attempt *a)
{
	return (struct span){a->text + a->key_n, a->id_n};
}

static inline struct span
attempt_method(const struct attempt *a)
{
	return (struct span){a->text + a->key_n + a->id_n, a->method_n};
}

static inline struct span
attempt_path(const struct attempt *a)
{
	return (struct span){a->text + a->key_n + a->id_n + a->method_n,
		a->path_n};
}

/* One JSON object, without a line end. */
void attempt_json(const struct attempt *a, struct strbuf *out);
/* ns as JSON milliseconds: 1000, 0.25, 1234.567891; null below 0. */
void report_put_ms(struct strbuf *out, int64_t ns);

#endif
