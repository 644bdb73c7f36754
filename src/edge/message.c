/* SPDX-License-Identifier: MIT */
/*
 * message decides what people are told when abided answers in a service's
 * place. It refuses to know why it came to that: each reason has one row.
 */
#include "message.h"

#include "proto/reply.h"

struct words {
	const char *error;  /* RFC 9209 2.3, or NULL */
	const char *detail; /* what, and what to do */
};

static const struct words words_of[GIVE_UP_COUNT] = {
    [GIVE_UP_DEADLINE] = {"http_response_timeout",
	"The service did not give a final answer before the deadline. "
	"Try again later, or raise `deadline` for this service."},
    [GIVE_UP_SIGNATURE] = {NULL,
	"The request carries its own expiry (a signature or timeout) and "
	"would have been sent too late. Sign it anew and try again."},
    [GIVE_UP_SHUT] = {NULL,
	"The service has asked for a pause that is longer than this request "
	"may wait. Nothing was sent. Try again after Retry-After."},
    [GIVE_UP_QUEUE_FULL] = {NULL,
	"Too many requests wait for this service already. Try again after "
	"Retry-After, or raise `queue` or `max_parked`."},
    [GIVE_UP_QUEUE_TIMEOUT] = {NULL,
	"The request's turn did not come in time. Try again after "
	"Retry-After, or raise `queue_timeout` or the service's rate."},
    [GIVE_UP_CONNECT] = {"connection_refused",
	"No connection to the service could be made. Check that it runs and "
	"that its address and port are right."},
    [GIVE_UP_CONNECT_TIMEOUT] = {"connection_timeout",
	"The service did not accept a connection within `connect_timeout`."},
    [GIVE_UP_DNS] = {"dns_error",
	"The host name could not be resolved. Check its spelling, and the "
	"name servers in [dns] or resolv.conf."},
    [GIVE_UP_RESET] = {"connection_terminated",
	"The service closed the connection before it answered. It may or may "
	"not have acted on the request."},
    [GIVE_UP_RESPONSE_TIMEOUT] = {"http_response_timeout",
	"The service took the request but did not answer within "
	"`response_timeout`. It may or may not have acted on it."},
    [GIVE_UP_PROTOCOL] = {"http_protocol_error",
	"What the service sent is not a valid HTTP/1.1 response."},
    [GIVE_UP_DRAINING] = {NULL,
	"This proxy is shutting down. Try again after Retry-After."},
    [GIVE_UP_MEMORY] = {"proxy_internal_error",
	"The proxy has no memory or descriptors left for this request. "
	"Try again after Retry-After."},
    [GIVE_UP_DENIED] = {"destination_ip_prohibited",
	"This destination is not allowed. An operator can open it with "
	"`allow_destinations`."},
    [GIVE_UP_CLIENT_TIMEOUT] = {NULL,
	"The request body did not arrive in time."},
    [GIVE_UP_TLS_CERTIFICATE] = {"tls_certificate_error",
	"The server's certificate can't be trusted, so nothing was sent. Check "
	"the host name, or name the server's CA in `upstream_ca`."},
    [GIVE_UP_TLS] = {"tls_protocol_error",
	"No TLS connection to the server could be agreed on. Check that it "
	"speaks TLS on this port, in a version that [tls] min_version allows."},
    [GIVE_UP_PARENT] = {"destination_unavailable",
	"The proxy on the way to this host did not let the request through. "
	"Check `parent_proxy`, or name the host in `no_proxy`."},
    [GIVE_UP_PROXY_AUTH] = {NULL,
	"This proxy asks for a user name and a password. Put them into the "
	"proxy's URL: http://USER:PASSWORD@HOST:PORT"},
    [GIVE_UP_MISDIRECTED] = {"http_request_error",
	"The request names another host than the tunnel that it came through."},
    [GIVE_UP_BAD_REQUEST] = {"http_request_error",
	"The request body is not valid."},
};

static void
message_details(struct strbuf *out, const struct exchange *x)
{
	const struct request *r = &x->r;
	int64_t waited = request_waited_ms(r);

	if (r->attempts <= 1 && waited == 0 && r->gave_up == GIVE_UP_NONE &&
	    !r->dry_waited)
		return;
	strbuf_fmt(out, "attempts=%u waited=%lld.%llds", r->attempts,
	    (long long)(waited / 1000), (long long)(waited % 1000 / 100));
	if (r->dry_waited)
		strbuf_lit(out, " dry-run=would-wait");
	if (r->gave_up != GIVE_UP_NONE)
		strbuf_fmt(out, " reason=%s", give_up_name(r->gave_up));
	if (x->trouble)
		strbuf_fmt(out, " error=%s", x->trouble);
}

void
message_proxy_status(struct strbuf *out, const struct exchange *x,
    int received_status)
{
	struct strbuf details;

	strbuf_init(&details, 256);
	message_details(&details, x);
	reply_proxy_status(out, NULL, received_status, strbuf_view(&details));
	strbuf_free(&details);
}

/* Failures for which whoever stands on the way may be to blame. */
static bool
is_of_the_way(enum give_up why)
{
	return why == GIVE_UP_CONNECT || why == GIVE_UP_CONNECT_TIMEOUT ||
	    why == GIVE_UP_DNS || why == GIVE_UP_RESET ||
	    why == GIVE_UP_RESPONSE_TIMEOUT || why == GIVE_UP_PROTOCOL;
}

/* Adds what is known of this one failure. */
static void
message_facts(struct strbuf *text, const struct exchange *x, enum give_up why)
{
	if (x->trouble)
		strbuf_fmt(text, " What went wrong: %s.", x->trouble);
	else if (x->parent && is_of_the_way(why))
		strbuf_fmt(text, " The way leads through the parent proxy %s.",
		    x->parent->text);
}

void
message_answer(struct strbuf *out, const struct exchange *x,
    const struct answer *a, const struct refusal *why, bool close)
{
	const struct words *words = &words_of[a->why];
	struct strbuf details, text;
	struct reply reply = {
	    .status = a->status,
	    .error = words->error,
	    .reason = give_up_name(a->why),
	    .retry_after_ms = a->retry_after_ms,
	    .close = close,
	};

	strbuf_init(&details, 1024);
	strbuf_init(&text, 2048);
	if (why && why->detail)
		reply.detail = span_of(why->detail);
	else if (words->detail)
		reply.detail = span_of(words->detail);
	if (why && why->extra)
		reply.extra = span_of(why->extra);
	if (x && x->challenge)
		reply.extra = span_of(x->challenge);
	reply.head_only = why && why->is_head;
	if (x) {
		message_details(&details, x);
		reply.service = span_of(x->service->name);
		reply.received_status =
		    x->parent_status ? x->parent_status : x->r.last_status;
		reply.head_only = x->is_head;
		reply.proxy_status_details = strbuf_view(&details);
		if (x->alerted)
			reply.error = "tls_alert_received";
	}
	if (x) {
		strbuf_span(&text, reply.detail);
		message_facts(&text, x, a->why);
		reply.detail = strbuf_view(&text);
	}
	reply_build(out, &reply, clock_wall_ms() / 1000);
	strbuf_free(&details);
	strbuf_free(&text);
}
