/* SPDX-License-Identifier: MIT */
/*
 * Routing. This file decides which rule and which path an attempt falls under,
 * under which key it is counted, and turns the verdict into an answer.
 *
 *   target -> path, query
 *     /report...          -> reports.c, not recorded
 *     rule or page, the longer prefix; a page reads the query, a rule does not
 *   wish -> key -> judge -> answer -> record
 *
 * A rule that covers a page adds its limits to it; a query then changes what
 * it names and leaves the rest.
 */
#include "route.h"

#include <inttypes.h>

#include "base/mem.h"
#include "pages.h"
#include "proto/target.h"
#include "reports.h"

#define KEY_MAX 128

/* What is known of one request while it is being routed. */
struct trip {
	const struct request *rq;
	struct span path, query, host;
	const struct rule *rule; /* or NULL */
	const struct page *page; /* or NULL */
	struct wish own;         /* owns, where wish points to it */
	const struct wish *wish;
	struct key *key, *self; /* self: who came; judge.h */
	struct verdict verdict;
};

void
route_error(struct answer *a, int status, const char *text)
{
	a->kind = ANSWER_SEND;
	a->status = status;
	a->hinted = a->refused = a->has_at = false;
	a->ninfo = 0;
	a->body = BODY_TEXT;
	strbuf_clear(&a->type);
	strbuf_lit(&a->type, "text/plain");
	strbuf_clear(&a->text);
	strbuf_fmt(&a->text, "%s\n", text);
	a->length = a->text.n;
	a->off = 0;
}

/* Path and query of the target. 0, or the status to refuse it with. */
static int
split_target(struct trip *t, const char **ret_why)
{
	const struct head *h = t->rq->head;
	struct target target;
	struct span rest;

	if (span_eq(h->method, SPAN("CONNECT"))) {
		*ret_why = "this is an origin: it makes no tunnels";
		return 405;
	}
	if (target_parse(h->method, h->target, &target, ret_why) < 0)
		return 400;
	rest = target.path;
	t->host = target.form == TARGET_ABSOLUTE ? target.authority.text
						 : head_get(h, FIELD_HOST);
	(void)span_cut(&rest, '?', &t->path);
	t->query = rest;
	if (t->path.n == 0)
		t->path = SPAN("/");
	return 0;
}

static void
find_rule(const struct origin *o, struct trip *t)
{
	for (unsigned i = 0; i < o->nrules; i++) {
		const struct rule *r = &o->rules[i];

		if (page_covers(r->path, t->path) &&
		    (t->rule == NULL || r->path.n > t->rule->path.n))
			t->rule = r;
	}
	t->page = o->plain ? NULL : page_find(t->path);
	if (t->rule != NULL && t->page != NULL &&
	    t->rule->path.n > strlen(t->page->path))
		t->page = NULL;
}

/* A page's wish: the rule's, the page's defaults, the query. */
static int
read_wish(struct trip *t, struct strbuf *why)
{
	const struct page *p = t->page;
	size_t n = strlen(p->path);
	const char *missing = NULL;

	if (p->prepare != NULL)
		p->prepare(&t->own);
	if (t->query.p != NULL && wish_query(&t->own, t->query, why) < 0)
		return -1;
	if (p->settle != NULL)
		missing = p->settle(&t->own,
		    (struct span){t->path.p + n, t->path.n - n});
	if (missing != NULL) {
		strbuf_span(why, span_of(missing));
		return -1;
	}
	return wish_check(&t->own, why);
}

/* Who may be seen in a report, and who only as a hash. */
static bool
is_secret(struct span field)
{
	static const char *const secrets[] = {"authorization", "cookie",
	    "proxy-authorization", "x-api-key", "api-key", "x-auth-token"};

	for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
		if (span_ieq(field, span_of(secrets[i])))
			return true;
	}
	return false;
}

static void
put_by(const struct origin *o, const struct trip *t, struct strbuf *name)
{
	struct span by = strbuf_view(&t->wish->by), v;

	if (by.n == 0)
		return;
	strbuf_char(name, ' ');
	if (span_eq(by, SPAN("client"))) {
		strbuf_span(name, span_of(t->rq->client));
	} else if (span_eq(by, SPAN("path"))) {
		strbuf_span(name, t->path);
	} else if (span_eq(by, SPAN("method"))) {
		strbuf_span(name, t->rq->head->method);
	} else if (span_eq(by, SPAN("host"))) {
		strbuf_span(name, t->host);
	} else {
		by = (struct span){by.p + 7, by.n - 7}; /* header: */
		v = head_find(t->rq->head, by);
		if (v.p != NULL && is_secret(by))
			strbuf_fmt(name, "#%016" PRIx64,
			    hash_bytes(&o->seed, v.p, v.n));
		else if (v.p != NULL)
			strbuf_span(name, v);
	}
}

/* Whether a query left the limits of its rule alone. */
static bool
same_limits(const struct wish *a, const struct wish *b)
{
	bool same = a->nrates == b->nrates && a->max == b->max;

	for (unsigned i = 0; same && i < a->nrates; i++)
		same = limit_cfg_eq(&a->rates[i], &b->rates[i]);
	return same;
}

/* A name that is too long ends in a hash, so that it stays one of a kind. */
static void
key_name(const struct origin *o, const struct trip *t, struct strbuf *name)
{
	uint64_t hash;

	if (t->wish->key.n > 0)
		strbuf_span(name, strbuf_view(&t->wish->key));
	else if (t->rule != NULL && same_limits(t->wish, &t->rule->wish))
		strbuf_span(name, t->rule->path);
	else
		strbuf_span(name, t->path);
	put_by(o, t, name);
	if (name->failed || name->n <= KEY_MAX)
		return;
	hash = hash_bytes(&o->seed, name->p, name->n);
	name->n = KEY_MAX - 17;
	strbuf_fmt(name, "#%016" PRIx64, hash);
}

/* Gets hold of the key, so that it stays until origin_end. */
static struct key *
hold_key(struct keytab *ks, const struct strbuf *name)
{
	struct key *k = name->failed ? NULL : keytab_get(ks, strbuf_view(name));

	if (k != NULL)
		k->running++;
	return k;
}

static int
find_keys(struct origin *o, struct trip *t, struct answer *a)
{
	struct strbuf name;
	bool has_id = t->wish->id.n > 0;

	strbuf_init(&name, 2 * WISH_TEXT_MAX + 65536);
	key_name(o, t, &name);
	a->key = t->key = t->self = hold_key(&o->keys, &name);
	if (has_id) {
		strbuf_char(&name, '\n');
		strbuf_span(&name, strbuf_view(&t->wish->id));
		a->ident = t->self = hold_key(&o->idents, &name);
	}
	strbuf_free(&name);
	if (t->key == NULL || t->self == NULL)
		return -1;
	key_adopt_limits(t->key, t->wish);
	key_adopt_script(t->self, t->wish);
	return 0;
}

static void
fill_refusal(const struct trip *t, struct answer *a)
{
	const struct wish *w = t->wish;

	a->body_ns = 0;
	strbuf_span(&a->fields, strbuf_view(&w->th));
	if (w->tn > 0) {
		a->body = BODY_PATTERN;
		a->length = w->tn;
		return;
	}
	if (w->tbody.n > 0) {
		strbuf_span(&a->text, strbuf_view(&w->tbody));
	} else {
		if (a->type.n == 0)
			strbuf_lit(&a->type, "application/json");
		strbuf_lit(&a->text, "{\"error\":\"throttled\",\"key\":");
		strbuf_json(&a->text,
		    (struct span){t->key->name, t->key->name_n});
		strbuf_lit(&a->text, "}\n");
	}
	a->length = a->text.n;
}

static void
fill_admitted(const struct trip *t, struct answer *a)
{
	const struct wish *w = t->wish;

	a->delay_ns += w->hold_ns;
	a->has_at = w->has_at;
	a->at = w->at;
	a->reset = w->mode == MODE_RST;
	if (t->page != NULL && t->page->fill != NULL)
		t->page->fill(a, w, t->rq);
	else
		page_plain(a, w);
}

static int
fill_answer(const struct trip *t, struct answer *a)
{
	static const enum answer_kind kinds[] = {
	    [STEP_STATUS] = ANSWER_SEND,
	    [STEP_CLOSE] = ANSWER_CLOSE,
	    [STEP_RST] = ANSWER_RST,
	    [STEP_HANG] = ANSWER_HANG,
	};
	const struct verdict *v = &t->verdict;

	if (answer_adopt(a, t->wish) < 0)
		return -1;
	a->kind = kinds[v->kind];
	a->status = v->status ? v->status : t->wish->code ? t->wish->code : 200;
	a->refused = v->refused;
	a->hinted = v->hinted;
	a->after_ns = v->after_ns;
	a->ready_ns = v->ready_ns;
	a->quota = v->quota;
	if (v->refused)
		fill_refusal(t, a);
	else
		fill_admitted(t, a);
	return a->text.failed || a->fields.failed || a->type.failed ? -1 : 0;
}

static int
record(struct origin *o, const struct trip *t, struct answer *a)
{
	struct attempt at = {
	    .mono_ns = t->rq->now_ns,
	    .hint_ns = -1,
	    .conn = t->rq->conn,
	    .nth = t->rq->nth,
	    .running = t->key->running,
	    .status = a->kind == ANSWER_SEND ? a->status : 0,
	};

	at.throttled = a->refused || at.status == 429 || at.status == 503 ||
	    at.status == 504;
	at.early_ns =
	    judge_early_ns(t->self, at.mono_ns, o->grace_ns, &at.age_ns);
	return report_add(&o->report, &at,
	    (struct span){t->key->name, t->key->name_n},
	    strbuf_view(&t->wish->id), t->rq->head->method, t->path, &a->seq);
}

/* Everything from the wish on. */
static int
serve(struct origin *o, struct trip *t, struct answer *a)
{
	if (find_keys(o, t, a) < 0 ||
	    judge_attempt(&o->keys, t->key, t->self, t->wish, t->rq->now_ns,
		&t->verdict) < 0)
		return -1;
	a->held = t->verdict.held;
	if (fill_answer(t, a) < 0)
		return -1;
	return record(o, t, a);
}

/* A path that is neither ours nor a rule's. */
static int
serve_unknown(struct origin *o, struct trip *t, struct answer *a)
{
	if (!o->plain && span_eq(t->path, SPAN("/"))) {
		reports_index(a);
		return a->text.failed ? -1 : 0;
	}
	t->wish = &t->own;
	if (!o->plain)
		t->own.code = 404;
	if (serve(o, t, a) < 0)
		return -1;
	if (!o->plain)
		route_error(a, 404, "no such path; GET / lists them");
	return 0;
}

static int
serve_page(struct origin *o, struct trip *t, struct answer *a)
{
	struct strbuf why;
	int rc = -1;

	strbuf_init(&why, WISH_TEXT_MAX);
	t->wish = &t->own;
	if (read_wish(t, &why) == 0) {
		rc = serve(o, t, a);
	} else if (!why.failed && why.n > 0) {
		strbuf_char(&why, '\0');
		route_error(a, 400, why.p);
		rc = 0;
	}
	strbuf_free(&why);
	return rc;
}

int
route_request(struct origin *o, const struct request *rq, struct answer *a)
{
	struct trip t = {.rq = rq};
	const char *why = NULL;
	int status, rc;

	status = split_target(&t, &why);
	if (status != 0) {
		route_error(a, status, why);
		if (status == 405)
			strbuf_lit(&a->fields,
			    "Allow: GET, HEAD, POST, PUT, "
			    "PATCH, DELETE, OPTIONS\r\n");
		a->close = true;
		return 0;
	}
	if (page_covers(SPAN("/report"), t.path))
		return reports_serve(o, rq, t.path, t.query, a);
	find_rule(o, &t);
	if (t.rule != NULL && t.page == NULL) {
		t.wish = &t.rule->wish;
		return serve(o, &t, a);
	}
	if (t.rule != NULL) {
		if (wish_copy(&t.own, &t.rule->wish) < 0)
			return -1;
	} else {
		wish_init(&t.own);
	}
	rc = t.page != NULL ? serve_page(o, &t, a) : serve_unknown(o, &t, a);
	wish_free(&t.own);
	return rc;
}

void
route_echo(struct answer *a, bool too_large)
{
	a->body = BODY_TEXT;
	if (too_large) {
		route_error(a, 413, "/echo takes bodies of up to 1 MiB");
		return;
	}
	if (a->raw) {
		strbuf_span(&a->text, strbuf_view(&a->echo));
	} else {
		strbuf_fmt(&a->text,
		    ",\"body_bytes\":%zu,\"body\":", a->echo.n);
		strbuf_json(&a->text, strbuf_view(&a->echo));
		strbuf_lit(&a->text, "}\n");
	}
	a->length = a->text.n;
	strbuf_free(&a->echo);
}

void
route_told(struct origin *o, struct answer *a, int64_t now_ns, int64_t told_ns)
{
	struct attempt *at = report_get(&o->report, a->seq);

	if (at != NULL && a->kind == ANSWER_SEND)
		at->status = a->status;
	if (told_ns < 0 || !a->refused)
		return;
	if (at != NULL)
		at->hint_ns = told_ns;
	if (a->key != NULL)
		judge_told(a->key, now_ns, told_ns);
	if (a->ident != NULL)
		judge_told(a->ident, now_ns, told_ns);
}
