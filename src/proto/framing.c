/* SPDX-License-Identifier: MIT */
/*
 * framing.c: decides how long a body is, once, for everybody.
 *
 * What two recipients could frame in two ways is refused, in requests and in
 * responses: that is the ground all request smuggling grows on. It refuses to
 * know how a body is read or written.
 */
#include "proto/framing.h"

static int
fault(const char **ret_why, int answer, const char *why)
{
	*ret_why = why;
	return answer;
}

/* 1*DIGIT up to INT64_MAX; 0 or -1. */
static int
read_length(struct span s, uint64_t *ret)
{
	uint64_t v;

	if (span_u64(s, &v) != 0 || v > INT64_MAX)
		return -1;
	*ret = v;
	return 0;
}

/* The only coding is "chunked", in one line and with nothing around it. */
static bool
only_chunked(const struct head *h)
{
	return !head_repeats(h, FIELD_TRANSFER_ENCODING) &&
	    span_ieq(head_get(h, FIELD_TRANSFER_ENCODING), SPAN("chunked"));
}

/*
 * Codings by name, of which only the last is "chunked": such a body has an end
 * that can be found, only what is in it can't be read.
 */
static bool
unknown_then_chunked(const struct head *h)
{
	bool chunked = false;
	struct span list, item;

	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_TRANSFER_ENCODING)
			continue;
		list = h->fields[i].value;
		while (span_cut(&list, ',', &item)) {
			item = span_trim(item);
			if (chunked || !head_is_token(item))
				return false;
			chunked = span_ieq(item, SPAN("chunked"));
		}
	}
	return chunked;
}

static int
request_codings(const struct head *h, struct framing *ret, const char **ret_why)
{
	if (h->minor == 0)
		return fault(ret_why, 400, "Transfer-Encoding in HTTP/1.0");
	if (head_has(h, FIELD_CONTENT_LENGTH))
		return fault(ret_why, 400,
		    "both Transfer-Encoding and Content-Length");
	if (only_chunked(h)) {
		*ret = (struct framing){.kind = FRAMING_CHUNKED};
		return 0;
	}
	if (unknown_then_chunked(h))
		return fault(ret_why, 501,
		    "transfer coding other than chunked");
	return fault(ret_why, 400,
	    "Transfer-Encoding is not exactly \"chunked\"");
}

static bool
takes_no_body(struct span method)
{
	return span_eq(method, SPAN("CONNECT")) ||
	    span_eq(method, SPAN("TRACE"));
}

int
framing_request(const struct head *h, struct framing *ret, const char **ret_why)
{
	struct framing f = {.kind = FRAMING_NONE};

	if (head_has(h, FIELD_TRANSFER_ENCODING)) {
		int answer = request_codings(h, &f, ret_why);

		if (answer != 0)
			return answer;
	} else if (head_has(h, FIELD_CONTENT_LENGTH)) {
		if (head_repeats(h, FIELD_CONTENT_LENGTH))
			return fault(ret_why, 400,
			    "more than one Content-Length");
		if (read_length(head_get(h, FIELD_CONTENT_LENGTH), &f.length) !=
		    0)
			return fault(ret_why, 400,
			    "Content-Length is not a number");
		f.kind = FRAMING_LENGTH;
	}
	if (takes_no_body(h->method) && f.kind != FRAMING_NONE) {
		if (f.kind == FRAMING_CHUNKED || f.length > 0)
			return fault(ret_why, 400,
			    "CONNECT or TRACE with a body");
		f.kind = FRAMING_NONE;
	}
	*ret = f;
	return 0;
}

int
framing_length(const struct head *h, uint64_t *ret)
{
	bool any = false;
	uint64_t first = 0, v;
	struct span list, item;

	if (!head_has(h, FIELD_CONTENT_LENGTH))
		return -1;
	if (!head_repeats(h, FIELD_CONTENT_LENGTH) &&
	    read_length(head_get(h, FIELD_CONTENT_LENGTH), ret) == 0)
		return 0;
	for (unsigned i = 0; i < h->nfields; i++) {
		if (h->fields[i].id != FIELD_CONTENT_LENGTH)
			continue;
		list = h->fields[i].value;
		while (span_cut(&list, ',', &item)) {
			if (read_length(span_trim(item), &v) != 0)
				return -1;
			if (any && v != first)
				return -1;
			first = v;
			any = true;
		}
	}
	if (!any)
		return -1;
	*ret = first;
	return 0;
}

static int
response_codings(const struct head *h, struct framing *ret,
    const char **ret_why)
{
	if (h->minor == 0)
		return fault(ret_why, -1, "Transfer-Encoding in HTTP/1.0");
	if (head_has(h, FIELD_CONTENT_LENGTH))
		return fault(ret_why, -1,
		    "both Transfer-Encoding and Content-Length");
	if (!only_chunked(h))
		return fault(ret_why, -1,
		    "Transfer-Encoding is not exactly \"chunked\"");
	*ret = (struct framing){.kind = FRAMING_CHUNKED};
	return 0;
}

int
framing_response(const struct head *h, struct span method, struct framing *ret,
    const char **ret_why)
{
	struct framing f = {.kind = FRAMING_CLOSE};

	if (h->status == 101 ||
	    (h->status / 100 == 2 && span_eq(method, SPAN("CONNECT")))) {
		*ret = (struct framing){.kind = FRAMING_TUNNEL};
		return 0;
	}
	if (h->status < 200 || h->status == 204 || h->status == 304 ||
	    span_eq(method, SPAN("HEAD"))) {
		*ret = (struct framing){.kind = FRAMING_NONE};
		return 0;
	}
	if (head_has(h, FIELD_TRANSFER_ENCODING))
		return response_codings(h, ret, ret_why);
	if (head_has(h, FIELD_CONTENT_LENGTH)) {
		if (framing_length(h, &f.length) != 0)
			return fault(ret_why, -1,
			    "Content-Length is unreadable or ambiguous");
		f.kind = FRAMING_LENGTH;
	}
	*ret = f;
	return 0;
}
