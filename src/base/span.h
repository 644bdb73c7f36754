/* SPDX-License-Identifier: MIT */
/*
 * span: a borrowed run of bytes, never NUL-terminated.
 *
 * A span owns nothing. It is valid until the buffer that it points into is
 * written or freed; who keeps one says how long that is.
 */
#ifndef AB_SPAN_H
#define AB_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AB_MUST __attribute__((warn_unused_result))
#define AB_PRINTF(f, a) __attribute__((format(printf, f, a)))

struct span {
	const char *p; /* borrows */
	size_t n;      /* bytes */
};

/* SPAN("text"): a span over a string literal. */
#define SPAN(lit) ((struct span){(lit), sizeof(lit) - 1})
/* For printf's "%.*s". */
#define SPAN_ARG(s) (int)(s).n, (s).p

static inline struct span
span_of(const char *s)
{
	return (struct span){s, strlen(s)};
}

static inline bool
span_eq(struct span a, struct span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII letters compare without case; no locale. */
bool span_ieq(struct span a, struct span b);
bool span_starts(struct span s, struct span prefix);
bool span_istarts(struct span s, struct span prefix);
bool span_ends(struct span s, struct span suffix);

/* Without leading and trailing SP and HTAB (OWS, RFC 9110 5.6.3). */
struct span span_trim(struct span s);

/*
 * Takes the text before the first `sep` off *rest; *rest becomes what follows
 * it. Without a `sep` the whole of *rest is taken.
 * Returns false when *rest was used up before the call (*rest.p is NULL).
 */
bool span_cut(struct span *rest, char sep, struct span *ret_part);

/*
 * Takes the next element off a comma separated list (RFC 9110 5.6.1): white
 * space trimmed, empty elements skipped. Commas inside quoted strings do not
 * separate. Returns false at the end of the list.
 */
bool span_next_item(struct span *rest, struct span *ret_item);

/*
 * 1*DIGIT as a number. Returns 0; -1 where s is empty or holds anything but
 * digits. More than UINT64_MAX becomes UINT64_MAX (saturates).
 */
AB_MUST int span_u64(struct span s, uint64_t *ret);

#endif
