/* SPDX-License-Identifier: MIT */
/*
 * hint: how long a response tells us to wait. A table of NAME:FORMAT sources;
 * the first that yields a valid wait wins. Reads, never remembers.
 */
#ifndef AB_HINT_H
#define AB_HINT_H

#include "proto/head.h"

enum hint_format {
	HINT_AUTO, /* >= 10^12 epoch ms, >= 10^9 epoch s, else s; date; ISO; duration */
	HINT_S,    /* seconds, decimal fraction allowed, rounded up to ms */
	HINT_MS,   /* milliseconds, decimal fraction allowed, rounded up */
	HINT_HTTP_DATE,
	HINT_EPOCH,    /* seconds since 1970, fraction allowed */
	HINT_EPOCH_MS,
	HINT_ISO8601,  /* seconds optional: then rounded up to the full minute */
	HINT_DURATION, /* Go and protobuf style: 6m0s, 1.5s, 120ms */
	HINT_FORMAT_COUNT
};

struct hint_source {
	struct span name;        /* field name, any case; shared with the cfg */
	enum hint_format format;
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
 * 2026 seconds). Comma-joined values: the longest valid one. Zero, negative,
 * past, unreadable: no hint (-1). Absolute times more than 35 days ahead of the
 * clock: no hint; but a number in HINT_AUTO that would be a date more than a
 * century ahead is one of seconds (RFC 9110 10.2.3 knows no largest delay), and
 * as such a valid hint. A date without a time of day is none. Age counts only
 * together with Date. Returns 0 and *ret_ms > 0 (exact, rounded up, saturating
 * at INT64_MAX / 4).
 */
AB_MUST int hint_value(struct span value, enum hint_format f,
    const struct hint_clock *clk, int64_t *ret_ms);

/* Repeated fields: the longest valid value wins. */
struct hint hint_find(const struct hint_cfg *cfg, const struct head *h,
    int64_t wall_ms);

/* "s", "ms", "http-date", ... Returns 0 or -1. */
AB_MUST int hint_format_parse(struct span name, enum hint_format *ret);
const char *hint_format_name(enum hint_format f);

#endif
