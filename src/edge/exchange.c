/* SPDX-License-Identifier: MIT */
/*
 * exchange decides whether a request is one that we serve, which service it
 * belongs to, and what exactly goes upstream. It refuses to know how: sockets
 * are client.c and upstream.c.
 */
#include "exchange.h"

#include <arpa/inet.h>
#include <ctype.h>

#include "access.h"
#include "base/mem.h"
#include "client.h"
#include "dest.h"
#include "policy/expiry.h"
#include "policy/hint.h"
#include "proto/forward.h"
#include "relay.h"
#include "upstream.h"

#define HEAD_OUT_MAX (96 * 1024) /* bytes of a head that we build */

/* What is found out about a request before there is an exchange. */
struct intake {
	struct client *c;
	const struct head *h;
	struct target target;
	struct framing body;
	struct span host;     /* where it goes */
	uint16_t port;
	struct span path;     /* to send */
	bool add_slash;
	bool connect;
	bool expect;
	bool upgrade;
	bool forced;
	int64_t max_forwards; /* to send; -1: leave */
	const struct conf_service *service;
	struct span key_text; /* Abide-Key, or empty */
	struct refusal *no;
};

static bool
refuse(struct intake *in, int status, enum give_up why, const char *detail)
{
	in->no->status = status;
	in->no->why = why;
	in->no->detail = detail;
	return false;
}

static bool
bad(struct intake *in, const char *detail)
{
	return refuse(in, 400, GIVE_UP_BAD_REQUEST, detail);
}

/* What the message itself must be like, wherever it goes. */
static bool
intake_message(struct intake *in)
{
	const struct head *h = in->h;
	const char *why = NULL;
	int status;

	if (target_parse(h->method, h->target, &in->target, &why) < 0 ||
	    target_host_check(h, &in->target, &why) < 0)
		return bad(in, why);
	status = framing_request(h, &in->body, &why);
	if (status)
		return refuse(in, status, GIVE_UP_BAD_REQUEST, why);
	if (forward_via_has(h, in->c->worker->proc->via_span))
		return refuse(in, 508, GIVE_UP_LOOP,
		    "This request has passed through this proxy before: check "
		    "where its host name leads.");
	in->connect = in->target.form == TARGET_AUTHORITY;
	if (head_has(h, FIELD_EXPECT)) {
		if (!span_ieq(head_get(h, FIELD_EXPECT), SPAN("100-continue")))
			return refuse(in, 417, GIVE_UP_BAD_REQUEST,
			    "Only 100-continue can be expected.");
		in->expect = h->minor == 1 && in->body.kind != FRAMING_NONE;
	}
	return true;
}

/* TRACE and OPTIONS may be meant for a proxy on the way (RFC 9110 7.6.2). */
static bool
intake_max_forwards(struct intake *in)
{
	bool options = span_eq(in->h->method, SPAN("OPTIONS"));
	bool trace = span_eq(in->h->method, SPAN("TRACE"));
	uint64_t n;

	in->max_forwards = -1;
	if (in->target.form == TARGET_ASTERISK) {
		in->no->extra = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, "
		    "OPTIONS, CONNECT\r\n";
		in->no->keep = in->body.kind == FRAMING_NONE;
		return refuse(in, 200, GIVE_UP_NONE, "This is abided, a proxy.");
	}
	if (!(options || trace) || !head_has(in->h, FIELD_MAX_FORWARDS))
		return true;
	if (span_u64(head_get(in->h, FIELD_MAX_FORWARDS), &n) < 0)
		return bad(in, "Max-Forwards must be a number.");
	if (n > 0) {
		in->max_forwards = n > 255 ? 255 : (int64_t)n - 1;
		return true;
	}
	in->no->keep = in->body.kind == FRAMING_NONE;
	if (options)
		return refuse(in, 200, GIVE_UP_NONE, "This is abided, a proxy.");
	in->no->extra = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";
	return refuse(in, 405, GIVE_UP_BAD_REQUEST,
	    "This proxy does not answer TRACE itself.");
}

/* Origin-form: a gateway, for hosts and routes that a service names. */
static bool
intake_gateway(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;
	const struct conf_service *s;
	struct authority a;
	const char *why = NULL;
	size_t n = 0;

	s = rules_find_route(&conf->rules, in->target.path, &n);
	if (s) {
		in->service = s;
		in->host = span_of(s->route_host);
		in->port = s->route_port;
		in->path = (struct span){in->target.path.p + n - 1,
		    in->target.path.n - (n - 1)};
		return true;
	}
	if (target_authority(head_get(in->h, FIELD_HOST), 80, &a, &why) == 0) {
		s = rules_find_host(&conf->rules, a.host, a.port);
		if (s) {
			in->service = s;
			in->host = a.host;
			in->port = a.port;
			return true;
		}
	}
	return bad(in, "This is a forward proxy: set HTTP_PROXY to it and ask "
	    "for http://HOST/PATH, or name the host or a route in a "
	    "[service ...] to use it as a gateway.");
}

/*
 * A host that ends in a number is an address (WHATWG URL, "ends in a number"),
 * and only a dotted quad says the same to everybody: 0x7f.1, 2130706433, 127.1
 * and "127.0.0.1." mean loopback to some resolvers and nothing to others.
 */
static bool
host_is_odd_number(struct span host)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr quad;
	struct span label = host;
	size_t i;

	if (host.n && host.p[host.n - 1] == '.')
		label.n--;
	for (i = label.n; i > 0 && label.p[i - 1] != '.';)
		i--;
	label = (struct span){label.p + i, label.n - i};
	if (label.n == 0 || label.p[0] < '0' || label.p[0] > '9' ||
	    memchr(host.p, ':', host.n))
		return false;
	if (label.n > 1 && (label.p[1] | 0x20) == 'x')
		return true;
	for (i = 0; i < label.n; i++)
		if (label.p[i] < '0' || label.p[i] > '9')
			return false;
	if (host.n >= sizeof(text))
		return true;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return inet_pton(AF_INET, text, &quad) != 1;
}

static bool
intake_destination(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;

	in->path = in->target.path;
	in->add_slash = in->target.query_only;
	if (in->target.form == TARGET_ORIGIN) {
		if (!intake_gateway(in))
			return false;
	} else {
		in->host = in->target.authority.host;
		in->port = in->target.authority.port;
		if (in->target.form == TARGET_ABSOLUTE &&
		    span_ieq(in->target.scheme, SPAN("https")))
			return refuse(in, 501, GIVE_UP_BAD_REQUEST,
			    "https:// targets need a tunnel: use CONNECT (set "
			    "HTTPS_PROXY).");
		in->service = conf_service_of(conf, in->host, in->port);
	}
	if (host_is_odd_number(in->host))
		return bad(in, "The host is a number but no IPv4 address in "
		    "dotted form.");
	if (!dest_host_allowed(conf, in->host, in->port, &in->forced) ||
	    (in->connect && !dest_connect_port_allowed(conf, in->host, in->port)))
		return refuse(in, 403, GIVE_UP_DENIED,
		    in->connect ? "CONNECT to this host or port is not allowed. An "
		    "operator can open it with `connect_ports` or "
		    "`allow_destinations`." : NULL);
	return true;
}


static bool
intake_service(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;
	const struct conf_service *s;
	struct span name;

	if (!in->service->policy.allow_overrides)
		return true;
	in->key_text = head_get(in->h, FIELD_ABIDE_KEY);
	name = head_get(in->h, FIELD_ABIDE_SERVICE);
	if (!name.p)
		return true;
	s = conf_service_named(conf, name);
	if (!s)
		return bad(in, "Abide-Service names a service that is not "
		    "configured.");
	in->service = s;
	return true;
}

static uint64_t
mix_span(struct worker *w, uint64_t sum, struct span s)
{
	uint64_t both[2] = {sum, hash_bytes(&w->proc->hash, s.p, s.n)};

	return hash_bytes(&w->proc->hash, both, sizeof(both));
}

/* The value of one query parameter as it was sent. */
static struct span
query_value(struct span path, struct span name)
{
	struct span rest = path, part, key;

	if (!span_cut(&rest, '?', &part) || !rest.p)
		return (struct span){NULL, 0};
	while (span_cut(&rest, '&', &part)) {
		struct span value = part;

		if (span_cut(&value, '=', &key) && span_eq(key, name))
			return value;
	}
	return (struct span){NULL, 0};
}

static struct span
path_prefix(struct span path, unsigned depth)
{
	size_t i = 0;

	for (; i < path.n && path.p[i] != '?'; i++)
		if (path.p[i] == '/' && i > 0 && depth-- <= 1)
			break;
	return (struct span){path.p, i};
}

static uint64_t
key_part(struct intake *in, const struct policy_key_part *p, uint64_t place)
{
	struct worker *w = in->c->worker;

	switch (p->kind) {
	case POLICY_KEY_HOST:
		return place;
	case POLICY_KEY_HEADER:
		return mix_span(w, 1, head_find(in->h, p->name));
	case POLICY_KEY_PATH:
		return mix_span(w, 2, path_prefix(in->path, p->depth));
	case POLICY_KEY_QUERY:
		return mix_span(w, 3, query_value(in->path, p->name));
	case POLICY_KEY_CLIENT:
		return in->c->who;
	}
	return 0;
}

/* The state that this request shares with others of its kind. */
static struct key *
intake_key(struct intake *in, uint64_t place)
{
	const struct policy *p = &in->service->policy;
	struct worker *w = in->c->worker;
	bool named = in->service->name[0] != '\0';
	struct strbuf label;
	struct key *k = NULL;
	uint64_t id = named ? 0 : place;

	strbuf_init(&label, 512);
	if (named)
		strbuf_span(&label, span_of(in->service->name));
	else
		strbuf_fmt(&label, "%.*s:%u", SPAN_ARG(in->host), in->port);
	for (unsigned i = 0; i < p->nkey; i++) {
		uint64_t both[2] = {id, key_part(in, &p->key[i], place)};

		id = hash_bytes(&w->proc->hash, both, sizeof(both));
	}
	if (in->key_text.n)
		id = mix_span(w, id, in->key_text);
	if (p->nkey || in->key_text.n)
		strbuf_fmt(&label, "#%08llx", (unsigned long long)(id & 0xffffffff));
	if (!label.failed)
		k = key_get(in->service->state, id, strbuf_view(&label));
	strbuf_free(&label);
	return k;
}

static uint8_t
intake_urgency(const struct intake *in)
{
	struct span rest = head_get(in->h, FIELD_PRIORITY), item;

	if (!in->service->policy.allow_overrides)
		return 3;
	while (rest.p && span_next_item(&rest, &item))
		if (item.n == 3 && span_starts(item, SPAN("u=")) &&
		    item.p[2] >= '0' && item.p[2] <= '7')
			return (uint8_t)(item.p[2] - '0');
	return 3;
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
	while (rest.p && span_next_item(&rest, &item)) {
		struct span seconds = {item.p + 5, item.n - 5};

		if (span_istarts(item, SPAN("wait=")) &&
		    span_u64(seconds, &n) == 0 && n < INT32_MAX)
			lower_wait(r, (int64_t)n * 1000);
	}
}

static void
apply_expiry(struct request *r, const struct intake *in, int64_t wall_ms)
{
	int64_t left = expiry_left_ms(in->h, in->host, in->path, wall_ms);
	int64_t end;

	if (left < 0)
		return;
	end = clock_add(r->start_ms, left);
	/* What is late already goes out once: the service may see it
	 * differently, and says so best itself. */
	if (end >= r->deadline_ms)
		return;
	if (left == 0)
		r->max_retries = 0;
	else
		r->deadline_ms = end;
	r->signature_bound = true;
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
	};
	bool brackets = memchr(in->host.p, ':', in->host.n) != NULL;

	strbuf_fmt(host, brackets ? "[%.*s]" : "%.*s", SPAN_ARG(in->host));
	if (in->port != 80)
		strbuf_fmt(host, ":%u", in->port);
	how.host = strbuf_view(host);
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
exchange_alloc(struct intake *in, struct span head)
{
	struct span who = span_of(in->c->text), path = without_query(in->path);
	struct exchange *x;
	char *at;

	if (in->connect)
		path = (struct span){"", 0};
	x = mem_alloc(sizeof(*x) + head.n + in->host.n + in->h->method.n + path.n +
	    who.n + 5);
	if (!x)
		return NULL;
	memset(x, 0, sizeof(*x));
	at = x->head;
	x->send = keep(&at, head);
	x->host = at;
	(void)keep(&at, in->host);
	for (char *p = x->host; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	x->method = keep(&at, in->h->method);
	x->path = keep(&at, path);
	x->client_text = at;
	(void)keep(&at, who);
	return x;
}

static bool
client_wants_keep(const struct head *h)
{
	if (head_list_has(h, FIELD_CONNECTION, SPAN("close")))
		return false;
	return h->minor == 1 ||
	    head_list_has(h, FIELD_CONNECTION, SPAN("keep-alive"));
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

	request_init(r, &w->engine, key, p, in->c->who, intake_urgency(in));
	r->id = atomic_fetch_add_explicit(&w->proc->next_id, 1,
	    memory_order_relaxed);
	r->connect = in->connect;
	r->repeatable = verdict_idempotent(h->method) ||
	    head_has(h, FIELD_IDEMPOTENCY_KEY);
	r->has_body = in->body.kind == FRAMING_CHUNKED ||
	    (in->body.kind == FRAMING_LENGTH && in->body.length > 0);
	if (p->allow_overrides)
		apply_overrides(r, h, wall_ms);
	apply_expiry(r, in, wall_ms);
	x->worker = w;
	x->client = in->c;
	x->conf = conf_ref(w->conf);
	x->service = in->service;
	x->place = place;
	x->port = in->port;
	x->http10 = h->minor == 0;
	x->keep = client_wants_keep(h) && !w->draining;
	x->is_head = span_eq(h->method, SPAN("HEAD"));
	x->upgrade = in->upgrade;
	x->expect = in->expect;
	x->forced = in->forced;
	x->body = in->body;
	x->chunk_out = in->body.kind == FRAMING_CHUNKED;
}

static struct exchange *
exchange_build(struct intake *in)
{
	struct worker *w = in->c->worker;
	struct exchange *x = NULL;
	struct strbuf host;
	struct key *key;
	uint64_t place;

	place = hash_span_nocase(&w->proc->hash, in->host) ^
	    (uint64_t)in->port * 0x9e3779b97f4a7c15u;
	strbuf_init(&host, 512);
	strbuf_clear(&w->text);
	intake_head(in, &w->text, &host);
	key = intake_key(in, place);
	if (key && !w->text.failed && !host.failed)
		x = exchange_alloc(in, strbuf_view(&w->text));
	strbuf_free(&host);
	if (x) {
		exchange_fill(x, in, key, place);
		return x;
	}
	if (key)
		key_put(key);
	(void)refuse(in, 503, GIVE_UP_MEMORY, NULL);
	return NULL;
}

struct exchange *
exchange_new(struct client *c, const struct head *h, struct refusal *ret)
{
	struct intake in = {.c = c, .h = h, .no = ret};

	if (!intake_message(&in) || !intake_max_forwards(&in) ||
	    !intake_destination(&in) || !intake_service(&in))
		return NULL;
	in.upgrade = !in.connect && in.body.kind == FRAMING_NONE &&
	    forward_wants_upgrade(h);
	return exchange_build(&in);
}

void
exchange_free(struct exchange *x)
{
	request_clear(&x->r);
	outbuf_free(&x->rest);
	conf_unref(x->conf);
	mem_free(x);
}
