/* SPDX-License-Identifier: MIT */
/*
 * Hints, as servers write them. This file decides the field names, the units
 * and the rounding (always upwards: a hint may not invite anybody early), and
 * reports what the lines really promise, since the judge of early attempts has
 * to measure against that and not against the unrounded wait.
 */
#include "advice.h"

#include <inttypes.h>
#include <time.h>

#include "amount.h"
#include "proto/httpdate.h"

#define S_NS AMOUNT_SECOND_NS
#define MS_NS AMOUNT_MS_NS

static const struct {
	const char *word, *example;
} forms[] = {
#define X(id, word, example) {word, example},
    ADVICE_LIST(X)
#undef X
};

int
advice_form_parse(struct span s, enum advice_form *ret)
{
	for (unsigned i = 0; i < ADVICE_FORMS; i++) {
		if (span_eq(s, span_of(forms[i].word))) {
			*ret = (enum advice_form)i;
			return 0;
		}
	}
	return -1;
}

const char *
advice_word(enum advice_form f)
{
	return forms[f].word;
}

const char *
advice_example(enum advice_form f)
{
	return forms[f].example;
}

bool
advice_on_success(enum advice_form f)
{
	return f == ADVICE_RATELIMIT || f == ADVICE_RATELIMIT07 ||
	    f == ADVICE_RATELIMIT03 || f == ADVICE_EPOCH ||
	    f == ADVICE_EPOCH_MS || f == ADVICE_ISO8601 || f == ADVICE_DELTA ||
	    f == ADVICE_RESET_AFTER || f == ADVICE_DURATION;
}

static int64_t
up(int64_t ns, int64_t unit_ns)
{
	return ns / unit_ns + (ns % unit_ns != 0);
}

/*
 * A wall time in one of strftime's shapes. Its words are English as long as
 * nobody calls setlocale, and nobody does.
 */
static void
put_time(struct strbuf *out, const char *name, const char *shape, int64_t s)
{
	char text[64];
	time_t t = (time_t)s;
	struct tm tm;

	if (gmtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof text, shape, &tm) == 0)
		return;
	strbuf_fmt(out, "%s: %s\r\n", name, text);
}

static int64_t
put_date(struct strbuf *out, enum advice_form f, int64_t due_ns)
{
	int64_t s = up(due_ns, S_NS);
	char date[HTTPDATE_LEN + 1];

	if (f == ADVICE_DATE) {
		httpdate_format(s, date);
		strbuf_fmt(out, "Retry-After: %s\r\n", date);
	} else if (f == ADVICE_DATE850) {
		put_time(out, "Retry-After", "%A, %d-%b-%y %H:%M:%S GMT", s);
	} else if (f == ADVICE_ASCTIME) {
		put_time(out, "Retry-After", "%a %b %e %H:%M:%S %Y", s);
	} else {
		put_time(out, "x-ratelimit-reset", "%Y-%m-%dT%H:%M:%SZ", s);
	}
	return s * S_NS;
}

/* "1.250" */
static void
put_fraction(struct strbuf *out, const char *name, int64_t ms)
{
	strbuf_fmt(out, "%s: %" PRId64 ".%03" PRId64 "\r\n", name, ms / 1000,
	    ms % 1000);
}

/* "6m0s", "1.25s", "120ms" */
static void
put_duration(struct strbuf *out, int64_t ms)
{
	strbuf_lit(out, "x-ratelimit-reset-requests: ");
	if (ms < 1000)
		strbuf_fmt(out, "%" PRId64 "ms", ms);
	else if (ms < 60000)
		strbuf_fmt(out, "%" PRId64 ".%03" PRId64 "s", ms / 1000,
		    ms % 1000);
	else
		strbuf_fmt(out, "%" PRId64 "m%" PRId64 ".%03" PRId64 "s",
		    ms / 60000, ms / 1000 % 60, ms % 1000);
	strbuf_lit(out, "\r\n");
}

static void
put_x_left(struct strbuf *out, const struct advice_quota *q)
{
	strbuf_fmt(out,
	    "x-ratelimit-limit: %u\r\nx-ratelimit-remaining: %u\r\n",
	    q->limit ? q->limit : 1, q->left);
}

static void
put_ratelimit(struct strbuf *out, enum advice_form f, int64_t wait_s,
    const struct advice_quota *q)
{
	uint32_t limit = q->limit ? q->limit : 1;
	int64_t window_s = q->limit ? up(q->window_ns, S_NS) : 1;

	if (f == ADVICE_RATELIMIT) {
		strbuf_fmt(out,
		    "RateLimit-Policy: \"default\";q=%u;w=%" PRId64
		    "\r\nRateLimit: \"default\";r=%u;t=%" PRId64 "\r\n",
		    limit, window_s, q->left, wait_s);
	} else if (f == ADVICE_RATELIMIT07) {
		strbuf_fmt(out,
		    "RateLimit-Policy: %u;w=%" PRId64 "\r\n"
		    "RateLimit: limit=%u, remaining=%u, reset=%" PRId64 "\r\n",
		    limit, window_s, limit, q->left, wait_s);
	} else {
		strbuf_fmt(out,
		    "RateLimit-Limit: %u\r\n"
		    "RateLimit-Remaining: %u\r\nRateLimit-Reset: %" PRId64
		    "\r\n",
		    limit, q->left, wait_s);
	}
}

/* The forms that give a span in milliseconds. */
static int64_t
put_ms(struct strbuf *out, enum advice_form f, int64_t ms,
    const struct advice_quota *q)
{
	switch (f) {
	case ADVICE_FRACTION:
		put_fraction(out, "Retry-After", ms);
		break;
	case ADVICE_MS:
		strbuf_fmt(out, "retry-after-ms: %" PRId64 "\r\n", ms);
		break;
	case ADVICE_X_MS:
		strbuf_fmt(out, "x-ms-retry-after-ms: %" PRId64 "\r\n", ms);
		break;
	case ADVICE_AMZ:
		strbuf_fmt(out, "x-amz-retry-after: %" PRId64 "\r\n", ms);
		break;
	case ADVICE_RESET_AFTER:
		put_x_left(out, q);
		put_fraction(out, "x-ratelimit-reset-after", ms);
		break;
	default:
		strbuf_fmt(out,
		    "x-ratelimit-limit-requests: %u\r\n"
		    "x-ratelimit-remaining-requests: %u\r\n",
		    q->limit ? q->limit : 1, q->left);
		put_duration(out, ms);
		break;
	}
	return ms * MS_NS;
}

int64_t
advice_put(struct strbuf *out, enum advice_form f, int64_t wait_ns,
    int64_t wall_ns, const struct advice_quota *quota)
{
	int64_t wait_s = up(wait_ns, S_NS), due_ns = wall_ns + wait_ns;

	switch (f) {
	case ADVICE_NONE:
	case ADVICE_FORMS:
		return -1;
	case ADVICE_SECONDS:
		strbuf_fmt(out, "Retry-After: %" PRId64 "\r\n", wait_s);
		return wait_s * S_NS;
	case ADVICE_DELTA:
		put_x_left(out, quota);
		strbuf_fmt(out, "x-ratelimit-reset: %" PRId64 "\r\n", wait_s);
		return wait_s * S_NS;
	case ADVICE_EPOCH:
		put_x_left(out, quota);
		strbuf_fmt(out, "x-ratelimit-reset: %" PRId64 "\r\n",
		    up(due_ns, S_NS));
		return up(due_ns, S_NS) * S_NS - wall_ns;
	case ADVICE_EPOCH_MS:
		put_x_left(out, quota);
		strbuf_fmt(out, "x-ratelimit-reset: %" PRId64 "\r\n",
		    up(due_ns, MS_NS));
		return up(due_ns, MS_NS) * MS_NS - wall_ns;
	case ADVICE_ISO8601:
		put_x_left(out, quota);
		return put_date(out, f, due_ns) - wall_ns;
	case ADVICE_DATE:
	case ADVICE_DATE850:
	case ADVICE_ASCTIME:
		return put_date(out, f, due_ns) - wall_ns;
	case ADVICE_RATELIMIT:
	case ADVICE_RATELIMIT07:
	case ADVICE_RATELIMIT03:
		put_ratelimit(out, f, wait_s, quota);
		return wait_s * S_NS;
	case ADVICE_FRACTION:
	case ADVICE_MS:
	case ADVICE_X_MS:
	case ADVICE_AMZ:
	case ADVICE_RESET_AFTER:
	case ADVICE_DURATION:
		break;
	}
	return put_ms(out, f, up(wait_ns, MS_NS), quota);
}
