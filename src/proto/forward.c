/* SPDX-License-Identifier: MIT */
/*
 * forward.c: writes the heads that go on.
 *
 * Decides which fields pass and in which bytes: end-to-end fields as they came,
 * in their order; what concerns one connection only is dropped and, where it
 * is needed, said anew. It refuses to know where the message goes.
 *
 * Neighbouring lines that pass are mostly copied in one piece: a head is
 * forwarded with each request and each response.
 */
#include "proto/forward.h"

#include "proto/httpdate.h"

#define BIT(id) (UINT64_C(1) << FIELD_##id)

/* Never pass, in either direction. */
#define HOP_BITS \
	(BIT(CONNECTION) | BIT(KEEP_ALIVE) | BIT(TE) | BIT(TRAILER) | \
	    BIT(TRANSFER_ENCODING) | BIT(UPGRADE) | BIT(HTTP2_SETTINGS) | \
	    BIT(PROXY_CONNECTION) | BIT(PROXY_AUTHENTICATE) | \
	    BIT(PROXY_AUTHORIZATION) | BIT(PROXY_AUTHENTICATION_INFO))

/* Written anew after the fields, or before them. */
#define REQUEST_ANEW (BIT(HOST) | BIT(CONTENT_LENGTH) | BIT(EXPECT))
#define RESPONSE_ANEW BIT(CONTENT_LENGTH)

/*
 * What a nomination in Connection can't strip (RFC 9110 7.6.1: a sender must
 * not name fields that are meant for all recipients). A client that could
 * would choose what the origin gets to see of another's message.
 */
static const char *const not_nominated[] = {
    "accept-encoding",
    "age",
    "authorization",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-security-policy",
    "content-type",
    "cookie",
    "date",
    "etag",
    "expires",
    "host",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "origin",
    "proxy-status",
    "range",
    "retry-after",
    "set-cookie",
    "strict-transport-security",
    "vary",
    "via",
    "www-authenticate",
};

static bool
may_be_nominated(struct span name)
{
	const size_t n = sizeof(not_nominated) / sizeof(not_nominated[0]);

	for (size_t i = 0; i < n; i++) {
		if (span_ieq(name, span_of(not_nominated[i])))
			return false;
	}
	return true;
}

/* Connection options that name no field which would pass otherwise. */
static bool
is_plain_option(struct span option)
{
	static const struct span plain[] = {
	    {"keep-alive", 10},
	    {"close", 5},
	    {"upgrade", 7},
	    {"te", 2},
	    {"trailer", 7},
	    {"http2-settings", 14},
	    {"", 0},
	};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (span_ieq(option, plain[i]))
			return true;
	}
	return false;
}

bool
forward_names_fields(const struct head *h)
{
	struct span list, option;

	if (!head_has(h, FIELD_CONNECTION))
		return false;
	for (unsigned i = h->first[FIELD_CONNECTION]; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_CONNECTION)
			continue;
		list = h->fields[i].value;
		while (span_cut(&list, ',', &option)) {
			if (!is_plain_option(span_trim(option)))
				return true;
		}
	}
	return false;
}

static bool
is_ours(const struct field *f)
{
	if (f->id == FIELD_PROXY)
		return true;
	return (f->name.p[0] | 0x20) == 'a' &&
	    span_istarts(f->name, SPAN("abide-"));
}

/* forward_is_hop, for who asked forward_names_fields before. */
static bool
is_hop(const struct head *h, const struct field *f, bool nominated)
{
	if (HOP_BITS >> f->id & 1)
		return true;
	if (h->is_request && is_ours(f))
		return true;
	return nominated && head_list_has(h, FIELD_CONNECTION, f->name) &&
	    may_be_nominated(f->name);
}

bool
forward_is_hop(const struct head *h, const struct field *f)
{
	return is_hop(h, f, forward_names_fields(h));
}

/*
 * A head under way: small pieces are gathered here and go to `out` together,
 * for each call there has its price.
 */
struct draft {
	struct strbuf *out; /* borrows */
	size_t n;
	char text[1024]; /* never cleared whole */
};

static void
draft_flush(struct draft *d)
{
	if (d->n > 0)
		strbuf_put(d->out, d->text, d->n);
	d->n = 0;
}

static inline void
draft_put(struct draft *d, const char *p, size_t n)
{
	if (n > sizeof(d->text) - d->n) {
		draft_flush(d);
		if (n > sizeof(d->text)) {
			strbuf_put(d->out, p, n);
			return;
		}
	}
	if (n > 0)
		memcpy(d->text + d->n, p, n);
	d->n += n;
}

#define draft_lit(d, lit) draft_put((d), (lit), sizeof(lit) - 1)

static void
draft_span(struct draft *d, struct span s)
{
	draft_put(d, s.p, s.n);
}

static void
draft_number(struct draft *d, uint64_t v)
{
	char digits[20]; /* UINT64_MAX has 20 */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	draft_put(d, digits + at, sizeof(digits) - at);
}

static void
draft_line(struct draft *d, struct span name, struct span value)
{
	draft_span(d, name);
	draft_lit(d, ": ");
	draft_span(d, value);
	draft_lit(d, "\r\n");
}

/* The line stands there as we would write it: one SP, no blanks, CRLF. */
static bool
is_plain(const struct field *f)
{
	const char *end = f->value.p + f->value.n;

	return f->value.p == f->name.p + f->name.n + 2 &&
	    f->value.p[-1] == ' ' && end[0] == '\r' && end[1] == '\n';
}

/*
 * Lines that pass and lie behind one another in the buffer they came in:
 * `run` grows by f, or goes to the draft first.
 */
static void
add_field(struct draft *d, struct span *run, const struct field *f)
{
	bool plain = is_plain(f);

	if (!plain || run->n == 0 || run->p + run->n != f->name.p) {
		draft_span(d, *run);
		*run = (struct span){f->name.p, 0};
	}
	if (plain)
		run->n += f->name.n + f->value.n + 4;
	else
		draft_line(d, f->name, f->value);
}

typedef void rewriter(const struct rewrite *rw, struct span value,
    struct strbuf *out);

/* What says anew where a response came from; NULL: it need not be. */
static rewriter *
rewriter_of(const struct field *f)
{
	if (f->id != FIELD_OTHER)
		return NULL;
	if (span_ieq(f->name, SPAN("set-cookie")))
		return rewrite_set_cookie;
	if (span_ieq(f->name, SPAN("location")) ||
	    span_ieq(f->name, SPAN("content-location")))
		return rewrite_location;
	return NULL;
}

static void
put_rewritten(struct draft *d, const struct field *f, const struct rewrite *rw,
    rewriter *how)
{
	draft_span(d, f->name);
	draft_lit(d, ": ");
	draft_flush(d);
	how(rw, f->value, d->out);
	draft_lit(d, "\r\n");
}

/* All fields that pass, but those of `anew` (bits by field id). rw: or NULL. */
static void
put_fields(struct draft *d, const struct head *h, uint64_t anew,
    const struct rewrite *rw)
{
	const uint64_t drop = anew | HOP_BITS;
	struct span run = {0};
	bool nominated = forward_names_fields(h);

	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *f = &h->fields[i];
		rewriter *how;

		if (drop >> f->id & 1 || is_hop(h, f, nominated))
			continue;
		how = rw ? rewriter_of(f) : NULL;
		if (how == NULL) {
			add_field(d, &run, f);
			continue;
		}
		draft_span(d, run);
		run.n = 0;
		put_rewritten(d, f, rw, how);
	}
	draft_span(d, run);
}

static void
put_via(struct draft *d, const struct head *h, struct span pseudonym)
{
	if (pseudonym.n == 0)
		return;
	if (h->minor == 0)
		draft_lit(d, "Via: 1.0 ");
	else
		draft_lit(d, "Via: 1.1 ");
	draft_span(d, pseudonym);
	draft_lit(d, "\r\n");
}

static void
put_framing(struct draft *d, const struct framing *f)
{
	if (f->kind == FRAMING_LENGTH) {
		draft_lit(d, "Content-Length: ");
		draft_number(d, f->length);
		draft_lit(d, "\r\n");
	} else if (f->kind == FRAMING_CHUNKED) {
		draft_lit(d, "Transfer-Encoding: chunked\r\n");
	}
}

static bool
is_h2c(struct span protocol)
{
	return span_ieq(protocol, SPAN("h2c")) ||
	    span_istarts(protocol, SPAN("h2c/"));
}

/*
 * Goes through the protocols of all Upgrade lines but h2c. With a draft writes
 * them as one list; returns whether there is any.
 */
static bool
each_protocol(struct draft *d, const struct head *h)
{
	struct span list, item;
	bool any = false;

	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_UPGRADE)
			continue;
		list = h->fields[i].value;
		while (span_cut(&list, ',', &item)) {
			item = span_trim(item);
			if (item.n == 0 || is_h2c(item))
				continue;
			if (d != NULL && any)
				draft_lit(d, ", ");
			if (d != NULL)
				draft_span(d, item);
			any = true;
		}
	}
	return any;
}

bool
forward_wants_upgrade(const struct head *h)
{
	return h->minor >= 1 && head_has(h, FIELD_UPGRADE) &&
	    head_list_has(h, FIELD_CONNECTION, SPAN("upgrade")) &&
	    each_protocol(NULL, h);
}

/*
 * In absolute-form for a proxy. OPTIONS for a whole server has no path there:
 * the last proxy makes "*" of it (RFC 9112 3.2.4).
 */
static void
put_target(struct draft *d, const struct forward_request *how)
{
	if (how->absolute) {
		draft_lit(d, "http://");
		draft_span(d, how->host);
		if (span_eq(how->path, SPAN("*")))
			return;
	}
	if (how->add_slash)
		draft_lit(d, "/");
	draft_span(d, how->path);
}

void
forward_request_head(struct strbuf *out, const struct head *h,
    const struct forward_request *how)
{
	uint64_t anew = REQUEST_ANEW;
	struct draft d;

	d.out = out;
	d.n = 0;
	draft_span(&d, h->method);
	draft_lit(&d, " ");
	put_target(&d, how);
	draft_lit(&d, " HTTP/1.1\r\nHost: ");
	draft_span(&d, how->host);
	draft_lit(&d, "\r\n");
	if (how->max_forwards >= 0 && head_has(h, FIELD_MAX_FORWARDS)) {
		anew |= BIT(MAX_FORWARDS);
		draft_lit(&d, "Max-Forwards: ");
		draft_number(&d, (uint64_t)how->max_forwards);
		draft_lit(&d, "\r\n");
	}
	put_fields(&d, h, anew, NULL);
	put_via(&d, h, how->via);
	if (how->proxy_auth.n > 0)
		draft_line(&d, SPAN("Proxy-Authorization"), how->proxy_auth);
	put_framing(&d, &how->framing);
	if (how->expect)
		draft_lit(&d, "Expect: 100-continue\r\n");
	if (how->upgrade && forward_wants_upgrade(h)) {
		draft_lit(&d, "Connection: upgrade\r\nUpgrade: ");
		(void)each_protocol(&d, h);
		draft_lit(&d, "\r\n");
	}
	draft_lit(&d, "\r\n");
	draft_flush(&d);
}

static void
put_status_line(struct draft *d, const struct head *h)
{
	draft_lit(d, "HTTP/1.1 ");
	draft_number(d, (uint64_t)h->status);
	draft_lit(d, " ");
	draft_span(d, h->reason);
	draft_lit(d, "\r\n");
}

static void
put_date(struct draft *d, const struct head *h, int64_t now_s)
{
	char date[HTTPDATE_LEN + 1];

	if (head_has(h, FIELD_DATE) || h->status < 200 || now_s < 0)
		return;
	httpdate_format(now_s, date);
	draft_line(d, SPAN("Date"), (struct span){date, HTTPDATE_LEN});
}

static void
put_response_connection(struct draft *d, const struct forward_response *how)
{
	if (how->upgrade.n > 0) {
		draft_lit(d, "Connection: upgrade\r\n");
		draft_line(d, SPAN("Upgrade"), how->upgrade);
	} else if (how->close) {
		draft_lit(d, "Connection: close\r\n");
	} else if (how->keep_alive_10) {
		draft_lit(d, "Connection: keep-alive\r\n");
	}
}

void
forward_response_head(struct strbuf *out, const struct head *h,
    const struct forward_response *how, int64_t now_s)
{
	struct framing framing = how->framing;
	struct draft d;

	d.out = out;
	d.n = 0;
	if (framing.kind == FRAMING_NONE && how->has_length &&
	    framing_length(h, &framing.length) == 0)
		framing.kind = FRAMING_LENGTH;
	put_status_line(&d, h);
	put_fields(&d, h, RESPONSE_ANEW, how->rewrite);
	put_date(&d, h, now_s);
	put_via(&d, h, how->via);
	if (how->proxy_status.n > 0)
		draft_line(&d, SPAN("Proxy-Status"), how->proxy_status);
	put_framing(&d, &framing);
	put_response_connection(&d, how);
	draft_lit(&d, "\r\n");
	draft_flush(&d);
}
