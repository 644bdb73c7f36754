/* SPDX-License-Identifier: MIT */
/*
 * What the simulator tells about itself. The list of attempts is written while
 * it is sent, and goes up to the attempt that was the last when it was asked
 * for; sums are made at once.
 */
#include "reports.h"

#include "amount.h"
#include "pages.h"
#include "summary.h"

struct ask {
	struct wish wish; /* owns; only `key` is read from it */
	int64_t window_ns;
};

void
reports_index(struct answer *a)
{
	strbuf_lit(&a->text,
	    "abide-origin: a service with limits, for tests\n"
	    "\nPaths\n");
	page_help(&a->text);
	strbuf_lit(&a->text, "\nParameters, of every path\n");
	wish_help(&a->text);
	strbuf_lit(&a->type, "text/plain");
	a->status = 200;
	a->length = a->text.n;
}

/* key=K and window=TIME. 0, or -1 and a text in why. */
static int
read_query(struct ask *q, struct span query, struct strbuf *why)
{
	struct strbuf rest;
	struct span part, window;
	int rc;

	strbuf_init(&rest, WISH_TEXT_MAX);
	while (span_cut(&query, '&', &part)) {
		if (span_starts(part, SPAN("window="))) {
			window = (struct span){part.p + 7, part.n - 7};
			if (amount_time(window, &q->window_ns) < 0 ||
			    q->window_ns == 0)
				goto bad;
		} else if (span_starts(part, SPAN("key="))) {
			strbuf_span(&rest, part);
		} else if (part.n > 0) {
			goto bad;
		}
	}
	rc = rest.failed ? -1 : wish_query(&q->wish, strbuf_view(&rest), why);
	strbuf_free(&rest);
	return rc;
bad:
	strbuf_free(&rest);
	strbuf_lit(why, "reports take key=K, and summaries window=TIME");
	return -1;
}

static void
put_list(struct origin *o, struct span key, struct answer *a)
{
	a->body = BODY_REPORT;
	a->report = &o->report;
	a->from = report_first(&o->report);
	a->to = o->report.next;
	if (key.p != NULL)
		strbuf_span(&a->only, key);
}

static void
forget(struct origin *o, struct span key, struct answer *a)
{
	report_clear(&o->report, key);
	keytab_reset(&o->keys, key);
	if (key.p == NULL) {
		keytab_reset(&o->idents, key);
		o->bad = 0;
	}
	strbuf_clear(&a->type);
	a->status = 204;
}

static void
put_summary(struct origin *o, struct span key, int64_t window_ns,
    struct answer *a)
{
	struct strbuf big; /* more keys than a text of an answer holds */

	strbuf_init(&big, 64u * 1024 * 1024);
	summary_json(&o->report, key, window_ns, o->bad, &big);
	strbuf_free(&a->text);
	a->text = big;
	a->length = a->text.n;
}

static void
answer_ask(struct origin *o, const struct request *rq, const struct ask *q,
    bool summary, struct answer *a)
{
	struct span method = rq->head->method, key = {NULL, 0};
	bool get =
	    span_eq(method, SPAN("GET")) || span_eq(method, SPAN("HEAD"));

	if (q->wish.key.n > 0)
		key = strbuf_view(&q->wish.key);
	a->status = 200;
	strbuf_lit(&a->type, "application/json");
	if (get && summary) {
		put_summary(o, key, q->window_ns, a);
	} else if (get) {
		put_list(o, key, a);
	} else if (!summary && span_eq(method, SPAN("DELETE"))) {
		forget(o, key, a);
	} else {
		route_error(a, 405, "reports take GET, and /report DELETE");
		strbuf_lit(&a->fields, "Allow: GET, HEAD, DELETE\r\n");
	}
}

int
reports_serve(struct origin *o, const struct request *rq, struct span path,
    struct span query, struct answer *a)
{
	struct ask q = {.window_ns = AMOUNT_SECOND_NS};
	struct strbuf why;
	bool summary = span_eq(path, SPAN("/report/summary"));
	int rc;

	if (!summary && !span_eq(path, SPAN("/report"))) {
		route_error(a, 404, "there are /report and /report/summary");
		return 0;
	}
	strbuf_init(&why, WISH_TEXT_MAX);
	wish_init(&q.wish);
	rc = query.p == NULL ? 0 : read_query(&q, query, &why);
	if (rc == 0) {
		answer_ask(o, rq, &q, summary, a);
	} else if (why.n > 0) {
		strbuf_char(&why, '\0');
		route_error(a, 400, why.failed ? "bad query" : why.p);
		rc = 0;
	}
	wish_free(&q.wish);
	strbuf_free(&why);
	return rc < 0 || a->text.failed ? -1 : 0;
}
