/* SPDX-License-Identifier: MIT */
/*
 * Values of parameters, one function per kind. Each says what it takes when it
 * is given something else; which parameter it is for is added by wish_set.
 */
#include "wishparam.h"

#include <inttypes.h>

#include "amount.h"
#include "proto/head.h"

/* Bytes that could end a line or a message where they don't belong. */
static bool
has_control(struct span s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return true;
	}
	return false;
}

static int
set_field(struct strbuf *lines, struct span v, struct strbuf *why)
{
	struct span name;

	if (!span_cut(&v, ':', &name) || v.p == NULL || !head_is_token(name) ||
	    has_control(v)) {
		strbuf_lit(why, "a header is written NAME:VALUE");
		return -1;
	}
	strbuf_span(lines, name);
	strbuf_lit(lines, ": ");
	strbuf_span(lines, span_trim(v));
	strbuf_lit(lines, "\r\n");
	return lines->failed ? -1 : 0;
}

static int
set_text(const struct wish_param *p, struct strbuf *text, struct span v,
    struct strbuf *why)
{
	if (v.n > p->max || (p->at != AT(tbody) && has_control(v))) {
		strbuf_fmt(why, "a text of at most %" PRIu64 " printable bytes",
		    p->max);
		return -1;
	}
	strbuf_clear(text);
	strbuf_span(text, v);
	return text->failed ? -1 : 0;
}

static int
set_word(const struct wish_param *p, unsigned *at, struct span v,
    struct strbuf *why)
{
	for (unsigned i = 0; p->words[i] != NULL; i++) {
		if (span_eq(v, span_of(p->words[i]))) {
			*at = i;
			return 0;
		}
	}
	strbuf_lit(why, "one of");
	for (unsigned i = 0; p->words[i] != NULL; i++)
		strbuf_fmt(why, "%s %s", i ? "," : "", p->words[i]);
	return -1;
}

static int
set_hint(struct wish *w, struct span v, struct strbuf *why)
{
	enum advice_form f;

	if (advice_form_parse(v, &f) == 0) {
		w->hint = f;
		return 0;
	}
	strbuf_lit(why, "one of");
	for (unsigned i = 0; i < ADVICE_FORMS; i++)
		strbuf_fmt(why, "%s %s", i ? "," : "",
		    advice_word((enum advice_form)i));
	return -1;
}

/* "90/min" or "90/min burst 10" */
static int
set_rate(struct wish *w, struct span v, struct strbuf *why)
{
	struct limit_cfg cfg = {.burst = 0};
	struct span word;
	uint64_t burst;

	(void)span_cut(&v, ' ', &word);
	if (amount_rate(word, &cfg.count, &cfg.period_ns) < 0)
		goto bad;
	if (v.p != NULL) {
		v = span_trim(v);
		if (!span_starts(v, SPAN("burst ")) ||
		    amount_count(span_trim((struct span){v.p + 6, v.n - 6}),
			AMOUNT_COUNT_MAX, &burst) < 0 ||
		    burst == 0)
			goto bad;
		cfg.burst = (uint32_t)burst;
	}
	if (w->nrates == WISH_RATES_MAX) {
		strbuf_lit(why, "at most four rates");
		return -1;
	}
	w->rates[w->nrates++] = cfg;
	return 0;
bad:
	strbuf_lit(why,
	    "a rate is N/s, N/min, N/h, N/day or N/250ms, "
	    "N above zero; a bucket may follow: '90/min burst 10'");
	return -1;
}

static int
set_number(struct wish *w, const struct wish_param *p, struct span v,
    struct strbuf *why)
{
	uint64_t n;

	if (amount_count(v, p->max, &n) < 0 || n < p->min) {
		strbuf_fmt(why, "a number from %" PRIu64 " to %" PRIu64, p->min,
		    p->max);
		return -1;
	}
	if (p->kind == KIND_COUNT)
		memcpy((char *)w + p->at, &n, sizeof n);
	else if (p->kind == KIND_STATUS)
		memcpy((char *)w + p->at, &(int){(int)n}, sizeof(int));
	else if (p->kind == KIND_BURST && w->nrates > 0)
		w->rates[w->nrates - 1].burst = (uint32_t)n;
	else if (p->kind == KIND_BURST)
		w->burst = n;
	else if (w->ninfo < WISH_INFOS_MAX)
		w->info[w->ninfo++] = (int)n;
	else
		goto many;
	return 0;
many:
	strbuf_lit(why, "at most four of them");
	return -1;
}

static int
set_bytes(struct wish *w, const struct wish_param *p, struct span v,
    struct strbuf *why)
{
	uint64_t n;

	if (amount_bytes(v, &n) < 0) {
		strbuf_lit(why,
		    "a size is digits, or digits and KiB, MiB or "
		    "GiB, up to 1024GiB");
		return -1;
	}
	memcpy((char *)w + p->at, &n, sizeof n);
	w->has_n = w->has_n || p->at == AT(n);
	w->has_at = w->has_at || p->at == AT(at);
	return 0;
}

static int
set_time(struct wish *w, const struct wish_param *p, struct span v,
    struct strbuf *why)
{
	int64_t ns;

	if (amount_time(v, &ns) < 0) {
		strbuf_lit(why,
		    "a time is 250ms, 1.5s, 5min, 2h, 1d, or a "
		    "bare number of seconds");
		return -1;
	}
	memcpy((char *)w + p->at, &ns, sizeof ns);
	return 0;
}

static int
set_bool(struct wish *w, const struct wish_param *p, struct span v,
    struct strbuf *why)
{
	bool on;

	if (amount_bool(v, &on) < 0) {
		strbuf_lit(why, "yes or no");
		return -1;
	}
	if (p->kind == KIND_CHUNKED)
		w->framing = on ? FRAME_CHUNKED : FRAME_LENGTH;
	else
		memcpy((char *)w + p->at, &on, sizeof on);
	return 0;
}

static int
set_steps(struct wish *w, struct span v, struct strbuf *why)
{
	const char *text;

	if (script_parse(&w->script, v, &text) == 0)
		return 0;
	strbuf_span(why, span_of(text));
	return -1;
}

int
wish_param(struct wish *w, const struct wish_param *p, struct span v,
    struct strbuf *why)
{
	void *at = (char *)w + p->at;

	switch (p->kind) {
	case KIND_TEXT:
		return set_text(p, at, v, why);
	case KIND_FIELD:
		return set_field(at, v, why);
	case KIND_BYTES:
		return set_bytes(w, p, v, why);
	case KIND_TIME:
		return set_time(w, p, v, why);
	case KIND_BOOL:
	case KIND_CHUNKED:
		return set_bool(w, p, v, why);
	case KIND_WORD:
		return set_word(p, at, v, why);
	case KIND_HINT:
		return set_hint(w, v, why);
	case KIND_RATE:
		return set_rate(w, v, why);
	case KIND_STEPS:
		return set_steps(w, v, why);
	case KIND_COUNT:
	case KIND_STATUS:
	case KIND_BURST:
	case KIND_INFO:
		break;
	}
	return set_number(w, p, v, why);
}
