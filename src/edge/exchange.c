/* SPDX-License-Identifier: MIT */
/*
 * exchange decides what exactly goes upstream, and the limits that the client
 * itself has set. It refuses to know where it goes (intake) and how (client,
 * upstream).
 */
#include "exchange.h"

#include <ctype.h>
#include <stdarg.h>

#include "base/mem.h"
#include "heartbeat.h"
#include "intake.h"
#include "parent.h"
#include "policy/expiry.h"
#include "policy/hint.h"
#include "proto/forward.h"

/* The next member of a list, without its parameters. */
static bool
next_member(struct span *rest, struct span *ret)
{
	struct span item;

	if (!rest->p || !span_next_item(rest, &item))
		return false;
	(void)span_cut(&item, ';', ret);
	*ret = span_trim(*ret);
	return true;
}

/* RFC 9218 4.1; of a key given twice the last one counts (RFC 8941 3.2). */
static uint8_t
intake_urgency(const struct intake *in)
{
	struct span rest = head_get(in->h, FIELD_PRIORITY), item;
	uint8_t urgency = 3;

	if (!in->service->policy.allow_overrides)
		return urgency;
	while (next_member(&rest, &item))
		if (item.n == 3 && span_starts(item, SPAN("u=")) &&
		    item.p[2] >= '0' && item.p[2] <= '7')
			urgency = (uint8_t)(item.p[2] - '0');
	return urgency;
}

static void
lower_wait(struct request *r, int64_t ms)
{
	if (ms < r->max_wait_ms)
		r->max_wait_ms = ms;
}

/* The client's own wishes can only ask for less. */
static void
apply_overrides(struct request *r, const struct head *h, int64_t wall_ms)
{
	struct hint_clock clk = {.wall_ms = wall_ms, .date_ms = -1};
	struct span v = head_get(h, FIELD_ABIDE_MAX_WAIT), rest, item;
	uint64_t n;
	int64_t ms;

	if (v.p && hint_value(v, HINT_DURATION, &clk, &ms) == 0)
		lower_wait(r, ms);
	else if (v.p && span_u64(v, &n) == 0)
		lower_wait(r, n > INT32_MAX ? INT32_MAX : (int64_t)n * 1000);
	if (span_u64(head_get(h, FIELD_ABIDE_MAX_RETRIES), &n) == 0 &&
	    n < r->max_retries)
		r->max_retries = (unsigned)n;
	rest = head_get(h, FIELD_PREFER);
	while (next_member(&rest, &item)) {
		if (!span_istarts(item, SPAN("wait=")))
			continue;
		if (span_u64((struct span){item.p + 5, item.n - 5}, &n) == 0 &&
		    n < INT32_MAX)
			lower_wait(r, (int64_t)n * 1000);
	}
}

static void
apply_expiry(struct request *r, const struct intake *in, int64_t wall_ms)
{
	int64_t left = expiry_left_ms(in->h, in->host, in->path, wall_ms);

	if (left >= 0)
		request_expires(r, left);
}

static void
intake_head(struct intake *in, struct strbuf *out, struct strbuf *host)
{
	struct forward_request how = {
	    .path = in->path,
	    .add_slash = in->add_slash,
	    .framing = in->body,
	    .via = in->c->worker->proc->via_span,
	    .upgrade = in->upgrade,
	    .max_forwards = in->max_forwards,
	    .absolute = in->parent && !in->tls,
	};

	target_authority_put(host, in->host, in->port, in->tls ? 443 : 80);
	how.host = strbuf_view(host);
	if (how.absolute && in->parent->auth)
		how.proxy_auth = span_of(in->parent->auth);
	if (!in->connect)
		forward_request_head(out, in->h, &how);
}

/* Copies s behind *at, with a NUL. */
static struct span
keep(char **at, struct span s)
{
	struct span kept = {*at, s.n};

	if (s.n)
		memcpy(*at, s.p, s.n);
	(*at)[s.n] = '\0';
	*at += s.n + 1;
	return kept;
}

static struct span
without_query(struct span path)
{
	const char *q = path.n ? memchr(path.p, '?', path.n) : NULL;

	if (q)
		path.n = (size_t)(q - path.p);
	return path;
}

static struct exchange *
exchange_alloc(struct intake *in, struct span head, struct span to_parent)
{
	struct span who = span_of(in->c->text), path = without_query(in->path);
	struct span user = {NULL, 0};
	struct exchange *x;
	char *at;

	if (in->connect)
		path = (struct span){"", 0};
	if (in->c->user)
		user = span_of(in->c->user);
	x = mem_alloc(sizeof(*x) + head.n + to_parent.n + in->host.n +
	    in->h->method.n + path.n + who.n + user.n + in->address.n + 8);
	if (!x)
		return NULL;
	memset(x, 0, sizeof(*x));
	at = x->head;
	x->send = keep(&at, head);
	x->to_parent = keep(&at, to_parent);
	x->host = at;
	(void)keep(&at, in->host);
	for (char *p = x->host; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (in->address.n) {
		x->address = at;
		(void)keep(&at, in->address);
	}
	x->method = keep(&at, in->h->method);
	x->path = keep(&at, path);
	x->client_text = at;
	(void)keep(&at, who);
	if (user.p)
		x->user = keep(&at, user);
	return x;
}

/* A proxy must not persist with an HTTP/1.0 client (RFC 9112 9.3): "keep-alive"
 * may have come through an older proxy that did not understand it. */
bool
exchange_wants_keep(const struct head *h)
{
	return h->minor == 1 &&
	    !head_list_has(h, FIELD_CONNECTION, SPAN("close"));
}

/* Is it an https URL that the client has asked for? */
static bool
client_asks_https(const struct intake *in)
{
	const struct client *c = in->c;

	if (in->target.form == TARGET_ABSOLUTE)
		return span_ieq(in->target.scheme, SPAN("https"));
	return c->inner ? c->inner->tls : c->chan.tls != NULL;
}

static void
exchange_fill(struct exchange *x, struct intake *in, struct key *key,
    uint64_t place)
{
	const struct policy *p = &in->service->policy;
	struct worker *w = in->c->worker;
	const struct head *h = in->h;
	int64_t wall_ms = clock_wall_ms();
	struct request *r = &x->r;

	heartbeat_init(x);
	request_init(r, &w->engine, key, p, in->c->who, intake_urgency(in));
	r->id = atomic_fetch_add_explicit(&w->proc->next_id, 1,
	    memory_order_relaxed);
	if (!in->connect)
		request_printed(r, intake_print(in, place));
	r->base = in->base;
	r->route = in->route_id;
	r->connect = in->connect;
	r->repeatable =
	    verdict_idempotent(h->method) || head_has(h, FIELD_IDEMPOTENCY_KEY);
	r->has_body = in->body.kind == FRAMING_CHUNKED ||
	    (in->body.kind == FRAMING_LENGTH && in->body.length > 0);
	if (p->allow_overrides)
		apply_overrides(r, h, wall_ms);
	apply_expiry(r, in, wall_ms);
	x->worker = w;
	x->client = in->c;
	x->conf = conf_ref(w->conf);
	x->service = in->service;
	x->parent = in->parent;
	x->place = place;
	x->port = in->port;
	x->tls = in->tls;
	x->client_https = client_asks_https(in);
	x->route = in->route;
	x->http10 = h->minor == 0;
	x->keep = exchange_wants_keep(h) && !w->draining;
	x->is_head = span_eq(h->method, SPAN("HEAD"));
	x->upgrade = in->upgrade;
	x->expect = in->expect;
	x->forced = in->forced;
	x->blind = in->connect && in->c->redirect;
	x->no_trailer = forward_names_fields(h);
	x->body = in->body;
	x->chunk_out = in->body.kind == FRAMING_CHUNKED;
}

/* Its client does what abided is there for: it should leave it. */
static void
exchange_tell_copies(const struct exchange *x)
{
	struct worker *w = x->worker;
	unsigned silent;

	if (x->r.stacked == 0 ||
	    !loglimit_may(&w->proc->copies_log, x->client->who,
		w->engine.now_ms, &silent))
		return;
	log_warn(
	    "client=%s sends a request again while a copy of it waits here "
	    "(service=%s, host=%s, copies=%u; %u more such requests since "
	    "the last such line): turn off the client's own retries, and "
	    "let its timeout be longer than `deadline`",
	    x->client_text, x->service->name[0] ? x->service->name : "-",
	    x->host, x->r.stacked, silent);
}

static struct exchange *
exchange_build(struct intake *in)
{
	struct worker *w = in->c->worker;
	struct exchange *x = NULL;
	struct strbuf host, to_parent;
	struct key *key;
	uint64_t place;

	place = hash_span_nocase(&w->proc->hash, in->host) ^
	    (uint64_t)in->port * 0x9e3779b97f4a7c15u;
	strbuf_init(&host, 512);
	strbuf_init(&to_parent, 128 * 1024);
	strbuf_clear(&w->text);
	intake_head(in, &w->text, &host);
	parent_head(in, &to_parent);
	key = intake_key(in, place);
	if (key && !w->text.failed && !host.failed && !to_parent.failed)
		x = exchange_alloc(in, strbuf_view(&w->text),
		    strbuf_view(&to_parent));
	strbuf_free(&host);
	strbuf_free(&to_parent);
	if (x) {
		exchange_fill(x, in, key, place);
		exchange_tell_copies(x);
		return x;
	}
	if (key)
		key_put(key);
	*in->no = (struct refusal){.status = 503, .why = GIVE_UP_MEMORY};
	return NULL;
}

struct exchange *
exchange_new(struct client *c, const struct head *h, struct refusal *ret)
{
	struct intake in = {.c = c, .h = h, .no = ret};
	struct exchange *x = NULL;

	if (intake_check(&in))
		x = exchange_build(&in);
	ret->is_head = span_eq(h->method, SPAN("HEAD"));
	if (!exchange_wants_keep(h))
		ret->keep = false;
	return x;
}

void
exchange_free(struct exchange *x)
{
	heartbeat_end(x);
	request_clear(&x->r);
	outbuf_free(&x->rest);
	conf_unref(x->conf);
	mem_free(x->trouble_text);
	mem_free(x->challenge);
	mem_free(x);
}

void
exchange_trouble(struct exchange *x, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mem_free(x->trouble_text);
	x->trouble_text = mem_dup(span_of(text));
	x->trouble = x->trouble_text;
}
