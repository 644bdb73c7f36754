/* SPDX-License-Identifier: MIT */
/*
 * forward.c: writes the heads that go on.
 *
 * Decides which fields pass and in which bytes: end-to-end fields as they came,
 * in their order; what concerns one connection only is dropped and, where it
 * is needed, said anew. It refuses to know where the message goes.
 *
 * Neighbouring lines that pass are mostly copied in one piece (struct run): a
 * head is forwarded with each request and each response.
 */
#include "proto/forward.h"

#include "proto/httpdate.h"
#include "proto/octet.h"

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

/* Connection says something beyond the options that name no field we pass. */
static bool
nominates(const struct head *h)
{
	struct span list, item;

	if (!head_has(h, FIELD_CONNECTION))
		return false;
	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_CONNECTION)
			continue;
		list = h->fields[i].value;
		while (span_cut(&list, ',', &item)) {
			item = span_trim(item);
			if (!span_ieq(item, SPAN("keep-alive")) &&
			    !span_ieq(item, SPAN("close")))
				return true;
		}
	}
	return false;
}

static bool
is_ours(const struct field *f)
{
	return f->id == FIELD_PROXY || span_istarts(f->name, SPAN("abide-"));
}

/* forward_is_hop, for who asked nominates() before. */
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
	return is_hop(h, f, nominates(h));
}

/* Lines that pass and lie behind one another in the buffer they came in. */
struct run {
	struct strbuf *out; /* borrows */
	const char *p;      /* borrows; NULL while empty */
	size_t n;
};

static void
run_flush(struct run *run)
{
	strbuf_put(run->out, run->p, run->n);
	run->p = NULL;
	run->n = 0;
}

/* The line stands there as we would write it: one SP, no blanks, CRLF. */
static bool
is_plain(const struct field *f)
{
	const char *end = f->value.p + f->value.n;

	return f->value.p == f->name.p + f->name.n + 2 &&
	    f->value.p[-1] == ' ' && end[0] == '\r' && end[1] == '\n';
}

static void
run_add(struct run *run, const struct field *f)
{
	if (!is_plain(f)) {
		run_flush(run);
		strbuf_span(run->out, f->name);
		strbuf_lit(run->out, ": ");
		strbuf_span(run->out, f->value);
		strbuf_lit(run->out, "\r\n");
		return;
	}
	if (run->p != NULL && run->p + run->n != f->name.p)
		run_flush(run);
	if (run->p == NULL)
		run->p = f->name.p;
	run->n += f->name.n + f->value.n + 4;
}

static void
put_line(struct strbuf *out, struct span name, struct span value)
{
	strbuf_span(out, name);
	strbuf_lit(out, ": ");
	strbuf_span(out, value);
	strbuf_lit(out, "\r\n");
}

static void
put_number(struct strbuf *out, struct span name, uint64_t value)
{
	strbuf_span(out, name);
	strbuf_lit(out, ": ");
	strbuf_u64(out, value);
	strbuf_lit(out, "\r\n");
}

/* All fields that pass, but those of `anew` (bits by field id). */
static void
put_fields(struct strbuf *out, const struct head *h, uint64_t anew)
{
	struct run run = {.out = out};
	bool nominated = nominates(h);

	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *f = &h->fields[i];

		if (!(anew >> f->id & 1) && !is_hop(h, f, nominated))
			run_add(&run, f);
	}
	run_flush(&run);
}

static void
put_via(struct strbuf *out, const struct head *h, struct span pseudonym)
{
	if (pseudonym.n == 0)
		return;
	if (h->minor == 0)
		strbuf_lit(out, "Via: 1.0 ");
	else
		strbuf_lit(out, "Via: 1.1 ");
	strbuf_span(out, pseudonym);
	strbuf_lit(out, "\r\n");
}

static void
put_framing(struct strbuf *out, const struct framing *f)
{
	if (f->kind == FRAMING_LENGTH)
		put_number(out, SPAN("Content-Length"), f->length);
	else if (f->kind == FRAMING_CHUNKED)
		strbuf_lit(out, "Transfer-Encoding: chunked\r\n");
}

static bool
is_h2c(struct span protocol)
{
	return span_ieq(protocol, SPAN("h2c")) ||
	    span_istarts(protocol, SPAN("h2c/"));
}

/*
 * Goes through the protocols of all Upgrade lines but h2c. With `out` writes
 * them as one list; returns whether there is any.
 */
static bool
each_protocol(struct strbuf *out, const struct head *h)
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
			if (out != NULL && any)
				strbuf_lit(out, ", ");
			if (out != NULL)
				strbuf_span(out, item);
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

bool
forward_names_fields(const struct head *h)
{
	static const struct span plain[] = {
	    {"close", 5}, {"keep-alive", 10}, {"upgrade", 7}, {"te", 2},
	    {"trailer", 7}, {"http2-settings", 14},
	};
	struct span rest, item;
	unsigned i, k;

	for (i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_CONNECTION)
			continue;
		rest = h->fields[i].value;
		while (span_next_item(&rest, &item)) {
			for (k = 0; k < sizeof(plain) / sizeof(plain[0]); k++)
				if (span_ieq(item, plain[k]))
					break;
			if (k == sizeof(plain) / sizeof(plain[0]))
				return true;
		}
	}
	return false;
}

int64_t
forward_max_forwards(const struct head *h)
{
	uint64_t v;

	if (!head_has(h, FIELD_MAX_FORWARDS) ||
	    (!span_eq(h->method, SPAN("OPTIONS")) &&
		!span_eq(h->method, SPAN("TRACE"))))
		return -1;
	if (span_u64(head_get(h, FIELD_MAX_FORWARDS), &v) != 0)
		return -1;
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

void
forward_request_head(struct strbuf *out, const struct head *h,
    const struct forward_request *how)
{
	uint64_t anew = REQUEST_ANEW;

	strbuf_span(out, h->method);
	strbuf_lit(out, " ");
	if (how->add_slash)
		strbuf_lit(out, "/");
	strbuf_span(out, how->path);
	strbuf_lit(out, " HTTP/1.1\r\n");
	put_line(out, SPAN("Host"), how->host);
	if (how->max_forwards >= 0 && head_has(h, FIELD_MAX_FORWARDS)) {
		anew |= BIT(MAX_FORWARDS);
		put_number(out, SPAN("Max-Forwards"),
		    (uint64_t)how->max_forwards);
	}
	put_fields(out, h, anew);
	put_via(out, h, how->via);
	put_framing(out, &how->framing);
	if (how->expect)
		strbuf_lit(out, "Expect: 100-continue\r\n");
	if (how->upgrade && forward_wants_upgrade(h)) {
		strbuf_lit(out, "Connection: upgrade\r\nUpgrade: ");
		(void)each_protocol(out, h);
		strbuf_lit(out, "\r\n");
	}
	strbuf_lit(out, "\r\n");
}

static void
put_status_line(struct strbuf *out, const struct head *h)
{
	strbuf_lit(out, "HTTP/1.1 ");
	strbuf_u64(out, (uint64_t)h->status);
	strbuf_lit(out, " ");
	strbuf_span(out, h->reason);
	strbuf_lit(out, "\r\n");
}

static void
put_date(struct strbuf *out, const struct head *h, int64_t now_s)
{
	char date[HTTPDATE_LEN + 1];

	if (head_has(h, FIELD_DATE) || h->status < 200 || now_s < 0)
		return;
	httpdate_format(now_s, date);
	put_line(out, SPAN("Date"), (struct span){date, HTTPDATE_LEN});
}

static void
put_response_connection(struct strbuf *out, const struct forward_response *how)
{
	if (how->upgrade.n > 0) {
		strbuf_lit(out, "Connection: upgrade\r\n");
		put_line(out, SPAN("Upgrade"), how->upgrade);
	} else if (how->close) {
		strbuf_lit(out, "Connection: close\r\n");
	} else if (how->keep_alive_10) {
		strbuf_lit(out, "Connection: keep-alive\r\n");
	}
}

void
forward_response_head(struct strbuf *out, const struct head *h,
    const struct forward_response *how, int64_t now_s)
{
	struct framing framing = how->framing;

	if (framing.kind == FRAMING_NONE && how->has_length &&
	    framing_length(h, &framing.length) == 0)
		framing.kind = FRAMING_LENGTH;
	put_status_line(out, h);
	put_fields(out, h, RESPONSE_ANEW);
	put_date(out, h, now_s);
	put_via(out, h, how->via);
	if (how->proxy_status.n > 0)
		put_line(out, SPAN("Proxy-Status"), how->proxy_status);
	put_framing(out, &framing);
	put_response_connection(out, how);
	strbuf_lit(out, "\r\n");
}

void
forward_trailer(struct strbuf *out, const struct head *h, struct span trailer)
{
	bool nominated = nominates(h);
	struct span line;
	struct field f;
	const char *why;

	while (span_cut(&trailer, '\n', &line)) {
		if (line.n > 0 && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n > 0 && head_field_line(line, &f, &why) == 0 &&
		    !is_hop(h, &f, nominated))
			put_line(out, f.name, f.value);
	}
}

/*
 * Takes the next element off a Via value. Commas inside a comment, which may
 * nest, do not separate (RFC 9110 7.6.3, 5.6.5).
 */
static bool
next_hop(struct span *rest, struct span *ret_hop)
{
	unsigned depth = 0;
	size_t i;

	if (rest->n == 0)
		return false;
	for (i = 0; i < rest->n; i++) {
		char c = rest->p[i];

		if (c == ',' && depth == 0)
			break;
		if (c == '\\' && depth > 0 && i + 1 < rest->n)
			i++;
		else if (c == '(')
			depth++;
		else if (c == ')' && depth > 0)
			depth--;
	}
	*ret_hop = span_trim((struct span){rest->p, i});
	i += i < rest->n;
	*rest = (struct span){rest->p + i, rest->n - i};
	return true;
}

/* The second word of: received-protocol RWS received-by [ RWS comment ] */
static struct span
received_by(struct span hop)
{
	size_t at = 0, end;

	while (at < hop.n && !octet_is_blank(hop.p[at]))
		at++;
	while (at < hop.n && octet_is_blank(hop.p[at]))
		at++;
	for (end = at; end < hop.n; end++) {
		if (octet_is_blank(hop.p[end]) || hop.p[end] == '(')
			break;
	}
	return (struct span){hop.p + at, end - at};
}

bool
forward_via_has(const struct head *h, struct span pseudonym)
{
	struct span rest, hop;

	if (!head_has(h, FIELD_VIA) || pseudonym.n == 0)
		return false;
	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_VIA)
			continue;
		rest = h->fields[i].value;
		while (next_hop(&rest, &hop)) {
			if (span_ieq(received_by(hop), pseudonym))
				return true;
		}
	}
	return false;
}
