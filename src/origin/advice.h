/* SPDX-License-Identifier: MIT */
/*
 * advice: the forms in which a server says how long to wait.
 *
 * One row per form; the parser of the word, the writer and --help all read
 * this table.
 */
#ifndef AB_ORIGIN_ADVICE_H
#define AB_ORIGIN_ADVICE_H

#include "base/strbuf.h"

#define ADVICE_LIST(X)                                                        \
	X(NONE, "none", "no hint at all")                                     \
	X(SECONDS, "seconds", "Retry-After: 2 (rounded up)")                  \
	X(FRACTION, "fraction", "Retry-After: 1.250")                         \
	X(DATE, "date", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT")         \
	X(DATE850, "date850", "Retry-After: Sunday, 06-Nov-94 08:49:37 GMT")  \
	X(ASCTIME, "asctime", "Retry-After: Sun Nov  6 08:49:37 1994")        \
	X(MS, "ms", "retry-after-ms: 1250")                                   \
	X(X_MS, "x-ms", "x-ms-retry-after-ms: 1250")                          \
	X(AMZ, "amz", "x-amz-retry-after: 1250")                              \
	X(EPOCH, "epoch", "x-ratelimit-reset: 784111777")                     \
	X(EPOCH_MS, "epoch-ms", "x-ratelimit-reset: 784111777250")            \
	X(ISO8601, "iso8601", "x-ratelimit-reset: 1994-11-06T08:49:37Z")      \
	X(DELTA, "delta", "x-ratelimit-reset: 2")                             \
	X(RESET_AFTER, "reset-after", "x-ratelimit-reset-after: 1.250")       \
	X(DURATION, "duration", "x-ratelimit-reset-requests: 1.25s")          \
	X(RATELIMIT, "ratelimit", "RateLimit: \"default\";r=0;t=2 and "       \
	    "RateLimit-Policy (IETF drafts 08 to 11)")                        \
	X(RATELIMIT07, "ratelimit-07", "RateLimit: limit=9, remaining=0, "    \
	    "reset=2 (draft 07)")                                             \
	X(RATELIMIT03, "ratelimit-03", "RateLimit-Limit, -Remaining, -Reset " \
	    "(drafts 00 to 06)")

enum advice_form {
#define X(id, word, example) ADVICE_##id,
	ADVICE_LIST(X)
#undef X
	ADVICE_FORMS
};

/* What the limit that speaks looks like, for the forms that tell it. */
struct advice_quota {
	uint32_t limit; /* 0: no rate limit speaks; then limit is told as 1 */
	uint32_t left;
	int64_t window_ns;
};

/* 0, or -1 where there is no such form. */
AB_MUST int advice_form_parse(struct span s, enum advice_form *ret);
const char *advice_word(enum advice_form f);
const char *advice_example(enum advice_form f);
/* Whether the form says something on admitted answers too. */
bool advice_on_success(enum advice_form f);

/*
 * Appends the field lines of the form for a wait of wait_ns (>= 0) from
 * wall_ns, the wall clock at this moment. Whatever the form rounds is rounded
 * up. Returns the wait that the lines tell, in ns: >= wait_ns; -1: none told.
 */
int64_t advice_put(struct strbuf *out, enum advice_form f, int64_t wait_ns,
    int64_t wall_ns, const struct advice_quota *quota);

#endif
