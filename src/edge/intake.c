/* SPDX-License-Identifier: MIT */
/*
 * intake decides whether a request is one that we serve, where it goes, and
 * with which others it shares its state. It refuses to know how it gets there.
 */
#include "intake.h"

#include <arpa/inet.h>

#include "dest.h"
#include "parent.h"
#include "proto/forward.h"

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
	if (in->target.form == TARGET_ASTERISK && !in->c->inner &&
	    !in->c->redirect) {
		in->no->extra = "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, "
				"OPTIONS, CONNECT\r\n";
		in->no->keep = in->body.kind == FRAMING_NONE;
		return refuse(in, 200, GIVE_UP_NONE,
		    "This is abided, a proxy.");
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
		return refuse(in, 200, GIVE_UP_NONE,
		    "This is abided, a proxy.");
	in->no->extra =
	    "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";
	return refuse(in, 405, GIVE_UP_BAD_REQUEST,
	    "This proxy does not answer TRACE itself.");
}

/*
 * A request for http://HOST/ belongs to a service that says "HOST:443" as well,
 * where that one is to speak TLS for its clients.
 */
static const struct conf_service *
service_of_http(const struct conf *conf, struct span host, uint16_t port)
{
	const struct conf_service *s = conf_service_of(conf, host, port);
	const struct conf_service *other;

	if (port != 80 || s->tls == CONF_TLS_ORIGINATE)
		return s;
	other = conf_service_of(conf, host, 443);
	return other->tls == CONF_TLS_ORIGINATE ? other : s;
}

bool
intake_originates(const struct conf *conf, struct span host, uint16_t port)
{
	if (port == 443)
		port = 80;
	return service_of_http(conf, host, port)->tls == CONF_TLS_ORIGINATE;
}

/* tls = originate: what came in plain goes on over TLS. */
static void
intake_originate(struct intake *in)
{
	if (in->service->tls != CONF_TLS_ORIGINATE)
		return;
	in->tls = true;
	if (in->port == 80)
		in->port = 443;
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
		in->route = s->route;
		in->tls = s->tls == CONF_TLS_ORIGINATE;
		in->host = span_of(s->route_host);
		in->port = s->route_port;
		in->path = (struct span){in->target.path.p + n - 1,
		    in->target.path.n - (n - 1)};
		return true;
	}
	if (target_authority(head_get(in->h, FIELD_HOST), 80, &a, &why) == 0) {
		s = service_of_http(conf, a.host, a.port);
		if (s != &conf->defaults) {
			in->service = s;
			in->host = a.host;
			in->port = a.port;
			intake_originate(in);
			return true;
		}
	}
	return bad(in,
	    "This is a forward proxy: set HTTP_PROXY to it and ask "
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

/* CONNECT, or a URL. https: the client leaves TLS to us. */
static void
intake_forward(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;

	in->host = in->target.authority.host;
	in->port = in->target.authority.port;
	in->tls = in->target.form == TARGET_ABSOLUTE &&
	    span_ieq(in->target.scheme, SPAN("https"));
	if (in->connect || in->tls) {
		in->service = conf_service_of(conf, in->host, in->port);
		return;
	}
	in->service = service_of_http(conf, in->host, in->port);
	intake_originate(in);
}

/*
 * Behind a CONNECT that is intercepted: the client talks to that server and to
 * no other (RFC 9110 15.5.20), as the certificate that it got says.
 */
static bool
intake_inner(struct intake *in)
{
	const struct client_inner *inner = in->c->inner;
	struct authority a = in->target.authority;
	const char *why = NULL;
	bool absolute = in->target.form == TARGET_ABSOLUTE;

	if (in->connect)
		return bad(in, "CONNECT within a CONNECT is not served.");
	if (absolute &&
	    span_ieq(in->target.scheme, SPAN("https")) != inner->tls)
		return refuse(in, 421, GIVE_UP_MISDIRECTED, NULL);
	if (!absolute && head_has(in->h, FIELD_HOST) &&
	    target_authority(head_get(in->h, FIELD_HOST), inner->tls ? 443 : 80,
		&a, &why) < 0)
		return bad(in, why);
	if ((absolute || head_has(in->h, FIELD_HOST)) &&
	    (a.port != inner->port ||
		!target_host_eq(a.host, span_of(inner->host))))
		return refuse(in, 421, GIVE_UP_MISDIRECTED, NULL);
	in->host = span_of(inner->host);
	in->port = inner->port;
	in->tls = inner->tls;
	in->service = conf_service_of(in->c->worker->conf, in->host, in->port);
	return true;
}

/*
 * From a transparent listener. A tunnel goes where the client's connection was
 * meant to go: the name, which is the client's word, says whose state it shares
 * and may be denied, but opens nothing. A request goes where its Host leads.
 */
static bool
intake_redirected(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;
	const struct redirect *r = in->c->redirect;
	struct authority a = in->target.authority;
	const char *why = NULL;

	in->port = r->port;
	in->host = a.host;
	if (in->connect) {
		if (in->c->state != CLIENT_FIRST)
			return bad(in,
			    "CONNECT is for proxies, and this connection was "
			    "meant for a server.");
		in->address = span_of(r->host);
		in->service = conf_service_of(conf, in->host, in->port);
		return true;
	}
	if (in->target.form == TARGET_ABSOLUTE) {
		if (span_ieq(in->target.scheme, SPAN("https")))
			return refuse(in, 421, GIVE_UP_MISDIRECTED, NULL);
	} else if (head_get(in->h, FIELD_HOST).n > 0) {
		if (target_authority(head_get(in->h, FIELD_HOST), 80, &a,
			&why) < 0)
			return bad(in, why);
		in->host = a.host;
	} else {
		in->host = span_of(r->host);
	}
	in->service = service_of_http(conf, in->host, in->port);
	intake_originate(in);
	return true;
}

/* May it go there, by the name of the host? */
static bool
intake_allowed(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;

	if (!dest_host_allowed(conf, in->host, in->port, &in->forced))
		return false;
	if (in->address.n)
		in->forced = false;
	return !in->connect || in->c->redirect ||
	    dest_connect_port_allowed(conf, in->host, in->port);
}

static bool
intake_destination(struct intake *in)
{
	in->path = in->target.path;
	in->add_slash = in->target.query_only;
	if (in->c->inner) {
		if (!intake_inner(in))
			return false;
	} else if (in->c->redirect) {
		if (!intake_redirected(in))
			return false;
	} else if (in->target.form == TARGET_ORIGIN) {
		if (!intake_gateway(in))
			return false;
	} else {
		intake_forward(in);
	}
	if (host_is_odd_number(in->host))
		return bad(in,
		    "The host is a number but no IPv4 address in "
		    "dotted form.");
	if (!intake_allowed(in))
		return refuse(in, 403, GIVE_UP_DENIED,
		    in->connect
			? "CONNECT to this host or port is not allowed. An "
			  "operator can open it with `connect_ports` or "
			  "`allow_destinations`."
			: NULL);
	return true;
}

static bool
intake_service(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;
	const struct conf_service *s;
	struct span name;

	/* The host's own service says so, whatever the client wishes: it may
	 * have pinned its certificate. */
	in->intercept = in->connect && in->service->tls == CONF_TLS_INTERCEPT;
	if (!in->service->policy.allow_overrides)
		return true;
	in->key_text = head_get(in->h, FIELD_ABIDE_KEY);
	name = head_get(in->h, FIELD_ABIDE_SERVICE);
	if (!name.p)
		return true;
	s = conf_service_named(conf, name);
	if (!s)
		return bad(in,
		    "Abide-Service names a service that is not "
		    "configured.");
	in->service = s;
	return true;
}

/* A parent proxy looks names up for us; what needs no look-up is ours to ask
 * for. */
static bool
intake_parent(struct intake *in)
{
	const struct conf *conf = in->c->worker->conf;

	in->parent = parent_for(in->service, in->host, in->port);
	if (in->address.n && !parent_for(in->service, in->address, in->port))
		in->parent = NULL;
	if (!in->parent || in->forced ||
	    (dest_unresolved_allowed(conf, in->host) &&
		(!in->address.n || dest_unresolved_allowed(conf, in->address))))
		return true;
	return refuse(in, 403, GIVE_UP_DENIED, NULL);
}

bool
intake_check(struct intake *in)
{
	if (!intake_message(in) || !intake_max_forwards(in) ||
	    !intake_destination(in) || !intake_service(in) ||
	    !intake_parent(in))
		return false;
	if (in->intercept) {
		*in->no = (struct refusal){.status = 0};
		return false;
	}
	in->upgrade = !in->connect && in->body.kind == FRAMING_NONE &&
	    forward_wants_upgrade(in->h);
	return true;
}
