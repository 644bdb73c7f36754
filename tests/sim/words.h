/* SPDX-License-Identifier: MIT */
/*
 * words: a line of a scenario as words, and what they can stand for. A mistake
 * in a scenario ends the program with FILE:LINE: text and exit code 2.
 */
#ifndef SIM_WORDS_H
#define SIM_WORDS_H

#include "policy/bucket.h"

#define WORDS_MAX 128
#define LINE_MAX_BYTES 4096

struct words {
	const char *file; /* borrows */
	int line;
	unsigned n, at;   /* at: the next word to take */
	const char *v[WORDS_MAX];
	bool quoted[WORDS_MAX];
	char text[2 * LINE_MAX_BYTES];
};

/* Both ends belong to it. */
struct range {
	int64_t lo, hi;
};

/*
 * Words are parted by blanks; '|', ',', '=', ">=", "<=", ".." and a ':' at the
 * end of a word are words of their own. "In quotes" is one word; \r, \n and \"
 * in it are what they are in C. '#' at the start of a word ends the line.
 */
void words_split(struct words *w, const char *file, int line, const char *text);
_Noreturn void words_bad(const struct words *w, const char *fmt, ...)
    AB_PRINTF(2, 3);

static inline bool
words_end(const struct words *w)
{
	return w->at == w->n;
}

/* The next word is this one, unquoted: takes it. */
bool words_take(struct words *w, const char *word);
bool words_is_quoted(const struct words *w);
const char *words_next(struct words *w, const char *what);
void words_need(struct words *w, const char *word);
void words_done(const struct words *w); /* nothing may follow */

int64_t words_time_us(struct words *w);  /* 30ms, 1.5s, 2min, 0 */
int64_t words_count(struct words *w);    /* 12 */
int64_t words_size(struct words *w);     /* 10B, 5KiB, 1MiB */
bool words_take_percent(struct words *w, unsigned *ret); /* "20%", if it is one */
bool words_flag(struct words *w);        /* yes, no */
/* 90/min, 1.5/s, 10000/day, then perhaps "burst N" (else burst is 0). */
struct bucket_rate words_rate(struct words *w);
/* V, V .. V, >= V, <= V */
struct range words_range(struct words *w, int64_t (*value)(struct words *w));
/* Whether the next word begins like a number. */
bool words_is_number(const struct words *w);

static inline bool
range_has(struct range r, int64_t v)
{
	return v >= r.lo && v <= r.hi;
}

#endif
