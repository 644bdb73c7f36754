/* SPDX-License-Identifier: MIT */
/*
 * reply.c: writes the answers that abided makes itself.
 *
 * Decides their form, for programs (problem+json, Proxy-Status, Retry-After)
 * and for people (title, detail). It refuses to know why there is one: status,
 * reason and texts are the caller's. What a peer sent reaches the body only as
 * a JSON string and the head only as a structured field string.
 */
#include "proto/reply.h"

#include "proto/httpdate.h"

#define BODY_MAX 16384 /* bytes; more would be a mistake of the caller */

/* clang-format off */
static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{100, "Continue"},
	{101, "Switching Protocols"},
	{102, "Processing"},
	{103, "Early Hints"},
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{203, "Non-Authoritative Information"},
	{204, "No Content"},
	{205, "Reset Content"},
	{206, "Partial Content"},
	{300, "Multiple Choices"},
	{301, "Moved Permanently"},
	{302, "Found"},
	{303, "See Other"},
	{304, "Not Modified"},
	{305, "Use Proxy"},
	{307, "Temporary Redirect"},
	{308, "Permanent Redirect"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{402, "Payment Required"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{407, "Proxy Authentication Required"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{410, "Gone"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Content Too Large"},
	{414, "URI Too Long"},
	{415, "Unsupported Media Type"},
	{416, "Range Not Satisfiable"},
	{417, "Expectation Failed"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Content"},
	{425, "Too Early"},
	{426, "Upgrade Required"},
	{428, "Precondition Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{451, "Unavailable For Legal Reasons"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
	{508, "Loop Detected"},
	{511, "Network Authentication Required"},
};
/* clang-format on */

const char *
reply_reason_phrase(int status)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (phrases[i].status == status)
			return phrases[i].phrase;
	}
	return "Unknown";
}

/* sf-string (RFC 8941 3.3.3): printable ASCII; other bytes become "?". */
static void
put_sf_string(struct strbuf *out, struct span s)
{
	strbuf_char(out, '"');
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '"' || c == '\\')
			strbuf_char(out, '\\');
		strbuf_char(out, c >= 0x20 && c < 0x7f ? c : '?');
	}
	strbuf_char(out, '"');
}

void
reply_proxy_status(struct strbuf *out, const char *error, int received_status,
    struct span details)
{
	strbuf_lit(out, "abided");
	if (error != NULL) {
		strbuf_lit(out, "; error=");
		strbuf_span(out, span_of(error));
	}
	if (received_status != 0) {
		strbuf_lit(out, "; received-status=");
		strbuf_u64(out, (uint64_t)received_status);
	}
	if (details.n > 0) {
		strbuf_lit(out, "; details=");
		put_sf_string(out, details);
	}
}

/* Whole seconds, rounded up: never less than the true wait. */
static uint64_t
whole_seconds(int64_t ms)
{
	return (uint64_t)ms / 1000 + (ms % 1000 != 0);
}

static void
put_member(struct strbuf *body, const char *name, struct span value)
{
	strbuf_fmt(body, ",\"%s\":", name);
	strbuf_json(body, value);
}

/* RFC 9457; the type is about:blank, so the title is the status' own. */
static void
put_problem(struct strbuf *body, const struct reply *r)
{
	strbuf_fmt(body, "{\"status\":%d", r->status);
	put_member(body, "title", span_of(reply_reason_phrase(r->status)));
	if (r->detail.n > 0)
		put_member(body, "detail", r->detail);
	if (r->reason != NULL)
		put_member(body, "reason", span_of(r->reason));
	if (r->service.n > 0)
		put_member(body, "service", r->service);
	if (r->received_status != 0)
		strbuf_fmt(body, ",\"received_status\":%d", r->received_status);
	if (r->retry_after_ms >= 0)
		strbuf_fmt(body, ",\"retry_after_s\":%llu",
		    (unsigned long long)whole_seconds(r->retry_after_ms));
	strbuf_lit(body, "}\n");
}

static void
put_connection(struct strbuf *out, const struct reply *r)
{
	if (r->close)
		strbuf_lit(out, "Connection: close\r\n");
	else if (r->keep_alive_10)
		strbuf_lit(out, "Connection: keep-alive\r\n");
}

/* All lines but those that are about the body. */
static void
put_head(struct strbuf *out, const struct reply *r, int64_t now_s)
{
	char date[HTTPDATE_LEN + 1];

	strbuf_fmt(out, "HTTP/1.1 %d %s\r\n", r->status,
	    reply_reason_phrase(r->status));
	if (r->status >= 200) {
		httpdate_format(now_s, date);
		strbuf_fmt(out, "Date: %s\r\n", date);
	}
	if (r->status >= 400) {
		strbuf_lit(out, "Cache-Control: no-store\r\nProxy-Status: ");
		reply_proxy_status(out, r->error, r->received_status,
		    r->proxy_status_details);
		strbuf_lit(out, "\r\n");
	}
	if (r->retry_after_ms >= 0) {
		strbuf_lit(out, "Retry-After: ");
		strbuf_u64(out, whole_seconds(r->retry_after_ms));
		strbuf_lit(out, "\r\n");
	}
	put_connection(out, r);
	strbuf_span(out, r->extra);
}

void
reply_build(struct strbuf *out, const struct reply *r, int64_t now_s)
{
	struct strbuf body;

	strbuf_init(&body, BODY_MAX);
	put_head(out, r, now_s);
	if (r->status >= 400) {
		put_problem(&body, r);
		strbuf_lit(out, "Content-Type: application/problem+json\r\n");
	}
	if (r->status >= 200 && r->status != 204 && r->status != 304)
		strbuf_fmt(out, "Content-Length: %zu\r\n", body.n);
	strbuf_lit(out, "\r\n");
	if (!r->head_only)
		strbuf_span(out, strbuf_view(&body));
	out->failed |= body.failed;
	strbuf_free(&body);
}
