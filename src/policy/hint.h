/* SPDX-License-Identifier: MIT */
/*
 * hint: how long a response tells us to wait, and how much it says is left. A
 * table of NAME:FORMAT sources. Reads, never remembers. docs/HINTS.md has every
 * form, and is checked against this.
 */
#ifndef AB_HINT_H
#define AB_HINT_H

#include "proto/head.h"

enum hint_format {
	HINT_AUTO, /* >= 10^12 epoch ms, >= 10^9 epoch s, else s; dates; ISO; duration */
	HINT_S,    /* seconds, decimal fraction allowed, rounded up to ms */
	HINT_MS,   /* milliseconds, decimal fraction allowed, rounded up */
	HINT_HTTP_DATE, /* and with a numeric zone: RFC 2822 3.3 */
	HINT_EPOCH,    /* seconds since 1970, fraction allowed */
	HINT_EPOCH_MS,
	HINT_ISO8601,  /* seconds optional: then rounded up to the full minute */
	HINT_DURATION, /* Go and protobuf style: 6m0s, 1.5s, 120ms */
	HINT_JS_DATE,  /* Tue Jan 01 2030 01:00:10 GMT+0100 (Name) */
	HINT_TEXT,     /* what hint_text() reads */
	HINT_SF,       /* RateLimit, drafts -07 to -11 of ietf-httpapi-ratelimit-headers */
	HINT_PAIRS,    /* total=100; remaining=0; resets=41 */
	HINT_FORMAT_COUNT
};

/* What a source is about. */
enum hint_kind {
	HINT_WAIT,  /* a wait */
	HINT_LIMIT, /* the reset of a limit: a wait where nothing is left of it */
	HINT_RESET, /* the same, but a wait whatever is left ("!") */
};

struct hint_source {
	struct span name;        /* field name, any case, '*' for any run of
	                          * characters; shared with the cfg */
	enum hint_format format;
	enum hint_kind kind;     /* by hint_source_parse */
};

struct hint_cfg {
	const struct hint_source *v; /* borrows; in order of preference */
	size_t n;                    /* 0: hints are ignored ("none") */
};

/* The built-in default table (design: wait_headers). */
extern const struct hint_cfg hint_default;

struct hint {
	bool valid;
	int64_t wait_ms;        /* > 0, from receipt of the response; saturates */
	struct span source;     /* its name in the cfg; shared with that */
};

/* What absolute times are measured against. */
struct hint_clock {
	int64_t wall_ms; /* our wall clock at receipt, since the epoch */
	int64_t date_ms; /* the response's Date, or -1: then wall_ms serves */
	int64_t age_ms;  /* the response's Age, 0 when absent */
};

struct hint_clock hint_clock_of(const struct head *h, int64_t wall_ms);

/*
 * One value in one format. Whole-value match only ("2026-09-11T10:00" is never
 * 2026 seconds), but for HINT_TEXT. Comma-joined values: the longest valid one.
 * Zero, negative, past, unreadable: no hint (-1). Absolute times more than 35
 * days ahead of the clock: no hint; but a number in HINT_AUTO that would be a
 * date more than a century ahead is one of seconds (RFC 9110 10.2.3 knows no
 * largest delay), and as such a valid hint. A date without a time of day is
 * none. Age counts only together with Date. HINT_SF, HINT_PAIRS: the longest
 * reset of the limits in it of which nothing is left.
 * Returns 0 and *ret_ms > 0 (exact, rounded up, saturating at INT64_MAX / 4).
 */
AB_MUST int hint_value(struct span value, enum hint_format f,
    const struct hint_clock *clk, int64_t *ret_ms);

/*
 * What stands at the start of words for people, behind blanks and quotes; the
 * rest is not looked at: "37 seconds.", "34.07s", "1 hour and 30 min", "5" (of
 * seconds, or an epoch), "2026-09-01 at 00:00 UTC", "2026-08-10 12:00:00 UTC".
 * A unit that is not known is no hint, and never taken for seconds.
 * Returns as hint_value does.
 */
AB_MUST int hint_text(struct span text, const struct hint_clock *clk,
    int64_t *ret_ms);

/*
 * Of a refusal. The first HINT_WAIT or HINT_RESET source with a valid value
 * wins. Without one: the longest reset among the HINT_LIMIT sources of which
 * nothing is left. A reset field's limit is told by its name: beside
 * x-ratelimit-reset-tokens stands x-ratelimit-remaining-tokens; several sources
 * of one limit count as one, and the first valid of them is it. Left is nothing
 * where that says 0 or less, where it can't be read, and where it is absent.
 * Repeated fields: the longest valid reset, the least of what remains.
 */
struct hint hint_find(const struct hint_cfg *cfg, const struct head *h,
    int64_t wall_ms);

/* What a response of any status says about a limit. */
struct hint_quota {
	bool valid;
	uint64_t remaining; /* requests, tokens, whatever it counts; rounded down */
	uint64_t limit;     /* 0: not said */
	int64_t reset_ms;   /* > 0: from receipt until there is more */
};

/*
 * The tightest limit that any HINT_LIMIT or HINT_RESET source tells of: the
 * least remaining for the time to its reset. Of a limit both must be there,
 * with remaining >= 0: a negative one is a sign of nothing known (Azure OpenAI
 * sends it with answers that are no refusals). Cheap where there is none.
 */
struct hint_quota hint_quota_find(const struct hint_cfg *cfg,
    const struct head *h, int64_t wall_ms);

/*
 * NAME:FORMAT, or NAME:FORMAT! for HINT_RESET. NAME is a field name with
 * perhaps '*' in it; a source is a limit when NAME has "reset" in it or FORMAT
 * tells what is left (sf, pairs). ret->name points into text. Returns 0, or -1
 * with *ret_why (static, for people).
 */
AB_MUST int hint_source_parse(struct span text, struct hint_source *ret,
    const char **ret_why);

/* "s", "ms", "http-date", ... Returns 0 or -1. */
AB_MUST int hint_format_parse(struct span name, enum hint_format *ret);
const char *hint_format_name(enum hint_format f);

#endif
