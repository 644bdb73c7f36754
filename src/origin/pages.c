/* SPDX-License-Identifier: MIT */
/*
 * One row per path. A path is little more than a name for a few defaults:
 * /limit, /fail, /script and /concurrency only make sure that what they are
 * named after was given.
 */
#include "pages.h"

#include <inttypes.h>

#include "amount.h"

bool
page_covers(struct span prefix, struct span path)
{
	if (span_ends(prefix, SPAN("/")))
		prefix.n--;
	return span_starts(path, prefix) &&
	    (path.n == prefix.n || path.p[prefix.n] == '/');
}

static const char *
settle_limit(struct wish *w, struct span sub)
{
	(void)sub;
	return w->nrates == 0 && w->max == 0
	    ? "rate=N/TIME is missing, e.g. /limit?rate=5/s&key=test"
	    : NULL;
}

static const char *
settle_concurrency(struct wish *w, struct span sub)
{
	(void)sub;
	return w->max == 0
	    ? "max=N is missing, e.g. /concurrency?max=5&hold=2s&key=test"
	    : NULL;
}

static const char *
settle_fail(struct wish *w, struct span sub)
{
	(void)sub;
	if (w->has_n)
		w->fail = w->n;
	else if (w->fail == 0)
		w->fail = 1;
	w->has_n = false;
	return w->fail > AMOUNT_COUNT_MAX ? "n is too large" : NULL;
}

static const char *
settle_script(struct wish *w, struct span sub)
{
	(void)sub;
	return w->script.n == 0
	    ? "s=STEPS is missing, e.g. /script?s=429:2,503,200&key=test"
	    : NULL;
}

static const char *
settle_status(struct wish *w, struct span sub)
{
	uint64_t code;

	if (sub.n == 0 ||
	    amount_count((struct span){sub.p + 1, sub.n - 1}, 599, &code) < 0 ||
	    code < 200)
		return "write /status/CODE with a code from 200 to 599";
	w->code = (int)code;
	return NULL;
}

static void
prepare_bytes(struct wish *w)
{
	w->n = 1000;
	w->has_n = true;
}

static void
prepare_cut(struct wish *w)
{
	prepare_bytes(w);
	w->at = 500;
	w->has_at = true;
}

static void
prepare_events(struct wish *w)
{
	w->n = 5;
	w->has_n = true;
}

static void
fill_events(struct answer *a, const struct wish *w, const struct request *rq)
{
	(void)rq;
	a->body = BODY_EVENTS;
	a->length = w->n;
	strbuf_lit(&a->fields, "Cache-Control: no-cache\r\n");
	if (a->type.n == 0)
		strbuf_lit(&a->type, "text/event-stream");
}

static void
fill_drop(struct answer *a, const struct wish *w, const struct request *rq)
{
	(void)rq;
	a->kind = w->mode == MODE_RST ? ANSWER_RST : ANSWER_CLOSE;
}

static void
fill_hang(struct answer *a, const struct wish *w, const struct request *rq)
{
	(void)w;
	(void)rq;
	a->kind = ANSWER_HANG;
}

/* All but the body, which has not come yet: route_echo adds it. */
static void
fill_echo(struct answer *a, const struct wish *w, const struct request *rq)
{
	const struct head *h = rq->head;

	a->body = BODY_ECHO;
	if (w->raw) {
		if (a->type.n == 0)
			strbuf_lit(&a->type, "application/octet-stream");
		return;
	}
	if (a->type.n == 0)
		strbuf_lit(&a->type, "application/json");
	strbuf_lit(&a->text, "{\"method\":");
	strbuf_json(&a->text, h->method);
	strbuf_lit(&a->text, ",\"target\":");
	strbuf_json(&a->text, h->target);
	strbuf_fmt(&a->text, ",\"version\":\"1.%u\",\"client\":", h->minor);
	strbuf_json(&a->text, span_of(rq->client));
	strbuf_fmt(&a->text,
	    ",\"conn\":%" PRIu64 ",\"nth\":%" PRIu64 ",\"headers\":[", rq->conn,
	    rq->nth);
	for (unsigned i = 0; i < h->nfields; i++) {
		strbuf_span(&a->text, i ? SPAN(",[") : SPAN("["));
		strbuf_json(&a->text, h->fields[i].name);
		strbuf_char(&a->text, ',');
		strbuf_json(&a->text, h->fields[i].value);
		strbuf_char(&a->text, ']');
	}
	strbuf_char(&a->text, ']');
}

/* clang-format off */

static const struct page pages[] = {
	{"/limit", "/limit?rate=200/s&burst=20&status=429&hint=seconds&key=K",
	    "a rate limit: 200 within it, a refusal over it",
	    NULL, settle_limit, NULL},
	{"/concurrency", "/concurrency?max=5&hold=2s&key=K",
	    "at most five at once, each taking two seconds",
	    NULL, settle_concurrency, NULL},
	{"/fail", "/fail?n=2&status=503&after=2&hint=date&key=K",
	    "two refusals, then 200 for ever",
	    NULL, settle_fail, NULL},
	{"/script", "/script?s=429:2,503,200&key=K",
	    "these answers in this order, then 200",
	    NULL, settle_script, NULL},
	{"/status", "/status/418", "this status", NULL, settle_status, NULL},
	{"/bytes", "/bytes?n=1MiB&chunked=yes",
	    "a body of numbered lines, 16 bytes each",
	    prepare_bytes, NULL, NULL},
	{"/slow", "/slow?head=500ms&body=2s&n=4000",
	    "an answer that takes its time",
	    prepare_bytes, NULL, NULL},
	{"/events", "/events?n=5&gap=100ms",
	    "server-sent events; n=0 never ends",
	    prepare_events, NULL, fill_events},
	{"/cut", "/cut?n=1000&at=500&mode=rst",
	    "announces 1000 bytes, sends 500, and closes",
	    prepare_cut, NULL, NULL},
	{"/drop", "/drop?mode=close&head=100ms",
	    "closes without an answer", NULL, NULL, fill_drop},
	{"/hang", "/hang", "never answers", NULL, NULL, fill_hang},
	{"/echo", "/echo?raw=no",
	    "the request as JSON, or its body as it came",
	    NULL, NULL, fill_echo},
};

/* clang-format on */

#define NPAGES (sizeof pages / sizeof *pages)

const struct page *
page_find(struct span path)
{
	for (size_t i = 0; i < NPAGES; i++) {
		if (page_covers(span_of(pages[i].path), path))
			return &pages[i];
	}
	return NULL;
}

void
page_plain(struct answer *a, const struct wish *w)
{
	if (w->has_n) {
		a->body = BODY_PATTERN;
		a->length = w->n;
	} else {
		strbuf_lit(&a->text, "ok\n");
		a->length = a->text.n;
	}
	if (a->type.n == 0)
		strbuf_lit(&a->type, "text/plain");
}

void
page_help(struct strbuf *out)
{
	static const char *const others[][2] = {
	    {"/report", "every attempt as JSON; ?key=K for those of one key"},
	    {"/report/summary", "sums per key; ?key=K, ?window=1s"},
	    {"DELETE /report",
		"forget the attempts and start every key "
		"anew; ?key=K only this one"},
	};

	for (size_t i = 0; i < NPAGES; i++)
		strbuf_fmt(out, "    %s\n        %s\n", pages[i].example,
		    pages[i].help);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		strbuf_fmt(out, "    %s\n        %s\n", others[i][0],
		    others[i][1]);
}
