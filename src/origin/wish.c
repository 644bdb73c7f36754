/* SPDX-License-Identifier: MIT */
/*
 * Parameters: one row in one table says the name, the kind of value, where it
 * goes and what --help tells. This file decides what may be asked for and
 * refuses the rest with a sentence; it does not know what an answer is.
 *
 *   URL query   rate=200/s&burst=10        wish_query --+
 *                                                        +-> wish_set per row
 *   rule words  200/s burst 10 status 429  wish_words --+
 */
#include "wish.h"

#include "amount.h"
#include "wishparam.h"

static const char *const window_words[] = {"bucket", "fixed", "sliding",
    "penalty", NULL};
static const char *const framing_words[] = {"length", "chunked", "close", NULL};
static const char *const mode_words[] = {"close", "rst", NULL};
static const char *const expect_words[] = {"continue", "refuse", "final",
    "silent", NULL};

/* clang-format off */

/* A row without a kind of its own (name NULL) is a headline. */
static const struct wish_param params[] = {
	{.help = "Who is counted together, and what they may do"},
	{"key", KIND_TEXT, AT(key), 0, 128, NULL, "NAME",
	    "count with all others of this name (default: the path)"},
	{"by", KIND_TEXT, AT(by), 0, 128, NULL, "WHAT",
	    "split the key: client, path, method, host or header:NAME"},
	{"id", KIND_TEXT, AT(id), 0, 128, NULL, "NAME",
	    "names one request: its attempts are judged by the hints given "
	    "to it, and a script counts them and not those of the key"},
	{"rate", KIND_RATE, 0, 0, 0, NULL, "N/TIME",
	    "a limit: 200/s, 90/min, 5/250ms, '90/min burst 10'; up to four"},
	{"burst", KIND_BURST, 0, 1, AMOUNT_COUNT_MAX, NULL, "N",
	    "bucket size of the rate before it (default 1)"},
	{"window", KIND_WORD, AT(window), 0, 0, window_words, "KIND",
	    "bucket (default), fixed, sliding, or penalty: sliding where "
	    "refused attempts count too"},
	{"max", KIND_COUNT, AT(max), 1, AMOUNT_COUNT_MAX, NULL, "N",
	    "admit so many at once"},
	{.help = "How a refusal looks"},
	{"status", KIND_STATUS, AT(status), 200, 599, NULL, "CODE",
	    "its status (default 429)"},
	{"hint", KIND_HINT, AT(hint), 0, 0, NULL, "FORM",
	    "how it tells the wait (default seconds; see below)"},
	{"after", KIND_TIME, AT(after_ns), 0, 0, NULL, "TIME",
	    "the wait it tells, in place of the true one"},
	{"fail", KIND_COUNT, AT(fail), 0, AMOUNT_COUNT_MAX, NULL, "N",
	    "refuse the first N attempts of the key"},
	{"s", KIND_STEPS, 0, 0, 0, NULL, "STEPS",
	    "answer in this order: 429:2*3,503,200 is three times 429 with a "
	    "hint of 2 s, then 503 without one, then 200; also close, rst, "
	    "hang; 503* is for ever"},
	{"loop", KIND_BOOL, AT(loop), 0, 0, NULL, "yes|no",
	    "begin again after the last step"},
	{"th", KIND_FIELD, AT(th), 0, 0, NULL, "NAME:VALUE",
	    "a header of refusals; repeatable"},
	{"tbody", KIND_TEXT, AT(tbody), 0, WISH_TEXT_MAX, NULL, "TEXT",
	    "the body of refusals"},
	{"tn", KIND_BYTES, AT(tn), 0, 0, NULL, "SIZE",
	    "the body of refusals: so many bytes"},
	{.help = "How an answer looks"},
	{"code", KIND_STATUS, AT(code), 200, 599, NULL, "CODE",
	    "status of admitted attempts (default 200)"},
	{"n", KIND_BYTES, AT(n), 0, 0, NULL, "SIZE",
	    "bytes of its body; for /events: events; for /fail: failures"},
	{"hold", KIND_TIME, AT(hold_ns), 0, 0, NULL, "TIME",
	    "work so long on an admitted attempt"},
	{"head", KIND_TIME, AT(head_ns), 0, 0, NULL, "TIME",
	    "wait so long before any answer"},
	{"drip", KIND_TIME, AT(drip_ns), 0, 0, NULL, "TIME",
	    "send the head one byte at a time, so far apart"},
	{"body", KIND_TIME, AT(body_ns), 0, 0, NULL, "TIME",
	    "spread the body evenly over so long"},
	{"piece", KIND_BYTES, AT(piece), 0, 0, NULL, "SIZE",
	    "in pieces of this size (default: 20 pieces)"},
	{"gap", KIND_TIME, AT(gap_ns), 0, 0, NULL, "TIME",
	    "time between events (default 1s)"},
	{"chunked", KIND_CHUNKED, 0, 0, 0, NULL, "yes|no",
	    "the same as framing=chunked"},
	{"framing", KIND_WORD, AT(framing), 0, 0, framing_words, "KIND",
	    "length (default), chunked, or close: up to the end of the "
	    "connection"},
	{"trailer", KIND_FIELD, AT(trailer), 0, 0, NULL, "NAME:VALUE",
	    "a trailer of chunked bodies; repeatable"},
	{"h", KIND_FIELD, AT(h), 0, 0, NULL, "NAME:VALUE",
	    "a header of every answer; repeatable"},
	{"type", KIND_TEXT, AT(type), 0, 128, NULL, "TYPE", "Content-Type"},
	{"info", KIND_INFO, 0, 102, 199, NULL, "CODE",
	    "send this 1xx before the answer; up to four"},
	{"raw", KIND_BOOL, AT(raw), 0, 0, NULL, "yes|no",
	    "/echo: the body as it came, and nothing else"},
	{"http10", KIND_BOOL, AT(http10), 0, 0, NULL, "yes|no",
	    "answer as HTTP/1.0, and close"},
	{.help = "What the connection does"},
	{"at", KIND_BYTES, AT(at), 0, 0, NULL, "SIZE",
	    "cut the answer after so many bytes of its body"},
	{"mode", KIND_WORD, AT(mode), 0, 0, mode_words, "close|rst",
	    "how to cut: FIN (default) or RST"},
	{"close", KIND_BOOL, AT(close), 0, 0, NULL, "yes|no",
	    "Connection: close"},
	{"stale", KIND_TIME, AT(stale_ns), 0, 0, NULL, "TIME",
	    "close so long after the answer, without a word"},
	{"expect", KIND_WORD, AT(expect), 0, 0, expect_words, "KIND",
	    "what Expect: 100-continue gets: continue (default), refuse: 417, "
	    "final: the answer at once, silent: nothing"},
	{"early", KIND_BOOL, AT(early), 0, 0, NULL, "yes|no",
	    "answer before the body is read, then close"},
};

/* clang-format on */

#define NPARAMS (sizeof params / sizeof *params)

void
wish_init(struct wish *w)
{
	*w = (struct wish){
	    .status = 0,
	    .hint = ADVICE_SECONDS,
	    .after_ns = -1,
	    .gap_ns = AMOUNT_SECOND_NS,
	    .stale_ns = -1,
	};
	for (size_t i = 0; i < NPARAMS; i++) {
		if (params[i].name != NULL &&
		    (params[i].kind == KIND_TEXT ||
			params[i].kind == KIND_FIELD))
			strbuf_init((void *)((char *)w + params[i].at),
			    WISH_TEXT_MAX);
	}
}

void
wish_free(struct wish *w)
{
	for (size_t i = 0; i < NPARAMS; i++) {
		if (params[i].name != NULL &&
		    (params[i].kind == KIND_TEXT ||
			params[i].kind == KIND_FIELD))
			strbuf_free((void *)((char *)w + params[i].at));
	}
}

int
wish_copy(struct wish *to, const struct wish *from)
{
	struct wish fresh;
	bool failed = false;

	wish_init(&fresh);
	*to = *from;
	for (size_t i = 0; i < NPARAMS; i++) {
		size_t at = params[i].at;
		const struct strbuf *old;
		struct strbuf *new;

		if (params[i].name == NULL ||
		    (params[i].kind != KIND_TEXT &&
			params[i].kind != KIND_FIELD))
			continue;
		old = (const void *)((const char *)from + at);
		new = (void *)((char *)to + at);
		memcpy(new, (char *)&fresh + at, sizeof *new);
		strbuf_span(new, strbuf_view(old));
		failed = failed || new->failed;
	}
	if (failed)
		wish_free(to);
	return failed ? -1 : 0;
}

static void
put_quoted(struct strbuf *why, struct span s)
{
	strbuf_char(why, '\'');
	strbuf_escaped(why, s.n > 80 ? (struct span){s.p, 80} : s);
	strbuf_char(why, '\'');
}

int
wish_set(struct wish *w, struct span name, struct span value,
    struct strbuf *why)
{
	struct strbuf wanted;
	int rc = -1;

	for (size_t i = 0; i < NPARAMS; i++) {
		if (params[i].name == NULL ||
		    !span_eq(name, span_of(params[i].name)))
			continue;
		strbuf_init(&wanted, WISH_TEXT_MAX);
		rc = wish_param(w, &params[i], value, &wanted);
		if (rc < 0) {
			strbuf_span(why, name);
			strbuf_lit(why, " can't be ");
			put_quoted(why, value);
			strbuf_lit(why, ": ");
			strbuf_span(why, strbuf_view(&wanted));
		}
		strbuf_free(&wanted);
		return rc;
	}
	strbuf_lit(why, "no such parameter: ");
	put_quoted(why, name);
	return -1;
}

/* The help text, broken at blanks, in the column from 26 to 79. */
static void
put_wrapped(struct strbuf *out, struct span text)
{
	size_t col = 26;
	struct span word;

	while (span_cut(&text, ' ', &word)) {
		if (col > 26 && col + 1 + word.n > 79) {
			strbuf_fmt(out, "\n%26s", "");
			col = 26;
		} else if (col > 26) {
			strbuf_char(out, ' ');
			col++;
		}
		strbuf_span(out, word);
		col += word.n;
	}
	strbuf_char(out, '\n');
}

void
wish_help(struct strbuf *out)
{
	for (size_t i = 0; i < NPARAMS; i++) {
		const struct wish_param *p = &params[i];

		if (p->name == NULL) {
			strbuf_fmt(out, "%s  %s:\n", i ? "\n" : "", p->help);
			continue;
		}
		strbuf_fmt(out, "    %-8s %-12s ", p->name, p->value);
		put_wrapped(out, span_of(p->help));
	}
	strbuf_lit(out, "\n  Forms of hint=:\n");
	for (unsigned i = 0; i < ADVICE_FORMS; i++) {
		strbuf_fmt(out, "    %-21s ", advice_word((enum advice_form)i));
		put_wrapped(out, span_of(advice_example((enum advice_form)i)));
	}
}
