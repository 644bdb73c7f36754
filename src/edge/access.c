/* SPDX-License-Identifier: MIT */
/*
 * access decides what a line about a request says. It refuses to know what the
 * request carried: names, times, statuses and sizes only.
 */
#include "access.h"

#include <stdio.h>

#include "client.h"
#include "engine/dispatch.h"

#define PATH_MAX_LOGGED 1024 /* bytes; the rest of a longer path is cut */

/* A line being built: members in one of the two forms. */
struct line_text {
	struct strbuf b;
	bool json;
};

static void
line_begin(struct line_text *l, const char *msg)
{
	l->json = log_get_format() == LOG_JSON;
	strbuf_init(&l->b, LOG_INSIDE_MAX);
	if (l->json)
		strbuf_fmt(&l->b, "\"msg\":\"%s\"", msg);
	else
		strbuf_fmt(&l->b, "%s", msg);
}

static void
line_name(struct line_text *l, const char *name)
{
	strbuf_fmt(&l->b, l->json ? ",\"%s\":" : " %s=", name);
}

static void
line_text(struct line_text *l, const char *name, struct span s)
{
	line_name(l, name);
	if (l->json)
		strbuf_json(&l->b, s);
	else if (s.n == 0)
		strbuf_char(&l->b, '-');
	else
		for (size_t i = 0; i < s.n; i++)
			if (s.p[i] == ' ')
				strbuf_lit(&l->b, "\\x20");
			else
				strbuf_escaped(&l->b,
				    (struct span){s.p + i, 1});
}

/* Words for people: quoted, in either form. */
static void
line_words(struct line_text *l, const char *name, const char *words)
{
	line_name(l, name);
	strbuf_json(&l->b, span_of(words));
}

static void
line_number(struct line_text *l, const char *name, long long n)
{
	line_name(l, name);
	strbuf_fmt(&l->b, "%lld", n);
}

/* Durations in ms; -1: it did not come to that. */
static void
line_ms(struct line_text *l, const char *name, int64_t ms)
{
	line_name(l, name);
	if (ms < 0)
		strbuf_span(&l->b, l->json ? SPAN("null") : SPAN("-"));
	else
		strbuf_fmt(&l->b, l->json ? "%lld" : "%lldms", (long long)ms);
}

static void
line_id(struct line_text *l, uint64_t id)
{
	char text[17];

	(void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	line_text(l, "id", span_of(text));
}

static void
line_end(struct line_text *l, struct proc *p)
{
	int fd = atomic_load_explicit(&p->access_fd, memory_order_relaxed);

	if (fd != ACCESS_OFF && !l->b.failed)
		log_line(fd, LOG_INFO, strbuf_view(&l->b));
	strbuf_free(&l->b);
}

static bool
access_on(struct proc *p)
{
	return atomic_load_explicit(&p->access_fd, memory_order_relaxed) !=
	    ACCESS_OFF;
}

static struct span
cut_path(struct span path)
{
	if (path.n > PATH_MAX_LOGGED)
		path.n = PATH_MAX_LOGGED;
	return path;
}

static void
line_host(struct line_text *l, const char *host, uint16_t port)
{
	struct strbuf b;

	strbuf_init(&b, 512);
	strbuf_fmt(&b, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	line_text(l, "host", strbuf_view(&b));
	strbuf_free(&b);
}

static void
line_request(struct line_text *l, const struct exchange *x)
{
	line_id(l, x->r.id);
	line_text(l, "client", span_of(x->client_text));
	if (x->user.p)
		line_text(l, "user", x->user);
	line_text(l, "method", x->method);
	line_text(l, "scheme",
	    x->r.connect ? SPAN("tunnel")
		: x->tls ? SPAN("https")
			 : SPAN("http"));
	line_host(l, x->host, x->port);
	if (x->address)
		line_text(l, "address", span_of(x->address));
	line_text(l, "path", cut_path(x->path));
	line_text(l, "service", span_of(x->service->name));
	if (x->parent)
		line_text(l, "parent", span_of(x->parent->text));
}

static void
line_statuses(struct line_text *l, const struct request *r)
{
	unsigned n = r->nstatuses;

	line_name(l, "upstream");
	if (l->json)
		strbuf_char(&l->b, '[');
	else if (n == 0)
		strbuf_char(&l->b, '-');
	for (unsigned i = 0; i < n && i < REQUEST_STATUSES_MAX; i++)
		strbuf_fmt(&l->b, i ? ",%d" : "%d", r->statuses[i]);
	if (n > REQUEST_STATUSES_MAX && !l->json)
		strbuf_lit(&l->b, ",...");
	if (l->json)
		strbuf_char(&l->b, ']');
}

static void
line_reason(struct line_text *l, enum give_up why)
{
	line_text(l, "reason",
	    why == GIVE_UP_NONE ? (struct span){NULL, 0}
				: span_of(give_up_name(why)));
}

static void
line_waits(struct line_text *l, const struct request *r)
{
	line_ms(l, "waited", request_waited_ms(r));
	for (int i = 0; i < WAIT_WHY_COUNT; i++)
		if (r->waited_ms[i] > 0)
			line_ms(l, wait_why_name((enum wait_why)i),
			    r->waited_ms[i]);
}

void
access_finished(const struct exchange *x)
{
	struct proc *p = x->worker->proc;
	const struct request *r = &x->r;
	int64_t now = r->engine->now_ms;
	struct line_text l;

	if (!access_on(p))
		return;
	line_begin(&l, "request");
	line_request(&l, x);
	line_number(&l, "status", x->final_status);
	line_statuses(&l, r);
	line_number(&l, "attempts", r->attempts);
	line_waits(&l, r);
	line_number(&l, "in", (long long)x->bytes_in);
	line_number(&l, "out", (long long)x->bytes_out);
	line_ms(&l, "first_try",
	    r->first_attempt_ms < 0 ? -1 : r->first_attempt_ms - r->start_ms);
	line_ms(&l, "head", r->head_ms < 0 ? -1 : r->head_ms - r->start_ms);
	line_ms(&l, "total", now - r->start_ms);
	if (r->stacked > 0)
		line_number(&l, "stacked", r->stacked);
	if (r->dry_waited)
		line_text(&l, "dry_run", SPAN("would-wait"));
	line_reason(&l, r->gave_up);
	if (x->trouble)
		line_words(&l, "error", x->trouble);
	line_end(&l, p);
}

void
access_parked(const struct exchange *x)
{
	struct proc *p = x->worker->proc;
	struct request *r = (struct request *)&x->r;
	int64_t at_ms = r->own_until_ms;
	enum wait_why why = WAIT_BACKOFF;
	struct line_text l;

	if (!access_on(p))
		return;
	if (!at_ms)
		why = dispatch_why(r, &at_ms);
	line_begin(&l, "park");
	line_request(&l, x);
	line_text(&l, "why", span_of(wait_why_name(why)));
	line_ms(&l, "for",
	    at_ms == TIMER_NEVER ? -1 : at_ms - r->engine->now_ms);
	line_number(&l, "attempts", r->attempts);
	line_number(&l, "last_status", r->last_throttled);
	line_end(&l, p);
}

/* Who asks, where somebody has to say. */
static void
line_user(struct line_text *l, const struct client *c)
{
	if (c->worker->conf->auth_users)
		line_text(l, "user", span_of(c->user ? c->user : ""));
}

void
access_refused(const struct client *c, const struct head *h,
    const struct refusal *why)
{
	struct proc *p = c->worker->proc;
	struct line_text l;

	if (!access_on(p))
		return;
	line_begin(&l, "request");
	line_id(&l, atomic_fetch_add(&p->next_id, 1));
	line_text(&l, "client", span_of(c->text));
	line_user(&l, c);
	line_text(&l, "method",
	    h->method.n < 32 ? h->method : (struct span){NULL, 0});
	if (c->redirect)
		line_host(&l, c->redirect->host, c->redirect->port);
	line_number(&l, "status", why->status);
	line_number(&l, "attempts", 0);
	line_reason(&l, why->why);
	line_end(&l, p);
}

/* What there is to say before a request: who, and whom it meant to reach. */
static void
line_inner(struct line_text *l, const struct client *c)
{
	line_id(l, atomic_fetch_add(&c->worker->proc->next_id, 1));
	line_text(l, "client", span_of(c->text));
	line_user(l, c);
	if (!c->inner && !c->redirect)
		return;
	if (!c->inner) {
		line_text(l, "method", (struct span){NULL, 0});
		line_text(l, "scheme", SPAN("redirected"));
		line_host(l, c->redirect->host, c->redirect->port);
		return;
	}
	line_text(l, "method", SPAN("CONNECT"));
	line_text(l, "scheme", SPAN("intercept"));
	line_host(l, c->inner->host, c->inner->port);
}

void
access_intercepted(const struct client *c)
{
	struct proc *p = c->worker->proc;
	struct line_text l;

	if (!access_on(p))
		return;
	line_begin(&l, "intercept");
	line_inner(&l, c);
	line_end(&l, p);
}

void
access_turned_away(const struct client *c, enum give_up why, const char *text)
{
	struct proc *p = c->worker->proc;
	struct line_text l;

	if (!access_on(p))
		return;
	line_begin(&l, "request");
	line_inner(&l, c);
	line_number(&l, "status", 0);
	line_number(&l, "attempts", 0);
	line_reason(&l, why);
	line_words(&l, "error", text);
	line_end(&l, p);
}

void
access_no_tls(const struct client *c, const char *text)
{
	access_turned_away(c, GIVE_UP_CLIENT_TLS, text);
}
