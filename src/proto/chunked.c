/* SPDX-License-Identifier: MIT */
/*
 * chunked.c: decodes the chunked coding, strictly.
 *
 * Decides where data begins and ends, and which trailer fields may go on. It
 * refuses to know where the bytes come from and who gets them.
 *
 *     SIZE -> [EXT ...] -> SIZE_LF -> DATA -> DATA_CR -> DATA_LF -> SIZE
 *                             |
 *                             +-- size 0: TRAILER (line by line) -> DONE
 *
 * Every byte of a size line is looked at, those of an extension too: most
 * known attacks on proxies that decode hide a line end in one.
 */
#include "proto/chunked.h"

#include "proto/head.h"
#include "proto/octet.h"

enum state {
	SIZE,      /* hex digits */
	EXT,       /* before ";" or the line end; blanks seen */
	EXT_NAME0, /* after ";" */
	EXT_NAME,
	EXT_EQUALS, /* after a name and blanks: "=", ";" or the line end */
	EXT_VALUE0, /* after "=" */
	EXT_TOKEN,
	EXT_QUOTED,
	EXT_ESCAPED,
	EXT_END, /* right after a quoted string */
	SIZE_LF, /* CR seen */
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,
	DONE,
	BAD,
};

/*
 * Fields that may not come after the body (RFC 9110 6.5.1): who merged them
 * into the head would frame, route, authorise, cache or decode it otherwise
 * than those who acted on the head alone. Hop-by-hop fields likewise.
 */
static const char *const not_in_trailer[] = {
    "age",
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "date",
    "expect",
    "expires",
    "forwarded",
    "host",
    "http2-settings",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "location",
    "max-forwards",
    "pragma",
    "prefer",
    "priority",
    "proxy",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "retry-after",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-real-ip",
};

static bool
may_trail(struct span name)
{
	const size_t n = sizeof(not_in_trailer) / sizeof(not_in_trailer[0]);

	if (span_istarts(name, SPAN("abide-")) ||
	    span_istarts(name, SPAN("x-forwarded-")))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (span_ieq(name, span_of(not_in_trailer[i])))
			return false;
	}
	return true;
}

void
chunked_init(struct chunked *c, bool lenient)
{
	*c = (struct chunked){.state = SIZE, .lenient = lenient};
	strbuf_init(&c->line, CHUNKED_TRAILER_MAX);
	/* "a:b" grows by a blank and a CR when written anew. */
	strbuf_init(&c->trailer, 2 * CHUNKED_TRAILER_MAX);
}

void
chunked_free(struct chunked *c)
{
	strbuf_free(&c->line);
	strbuf_free(&c->trailer);
}

/* The LF of a size line has come. */
static int
size_line_end(struct chunked *c)
{
	c->digits = 0;
	c->ext_bytes = 0;
	if (!c->last)
		return DATA;
	return TRAILER;
}

/* A byte that ends the size line, or none that may stand here. */
static int
line_end(struct chunked *c, char b, const char **why)
{
	if (b == '\r')
		return SIZE_LF;
	if (b == '\n' && c->lenient)
		return size_line_end(c);
	*why = b == '\n' ? "chunk size line ends with a bare LF"
			 : "bad byte in a chunk size line";
	return BAD;
}

static int
size_byte(struct chunked *c, char b, const char **why)
{
	int digit = octet_hex(b);

	if (digit >= 0) {
		if (c->digits == 16 || c->left > INT64_MAX >> 4) {
			*why = "chunk size too large";
			return BAD;
		}
		c->left = c->left << 4 | (unsigned)digit;
		c->digits++;
		c->last = c->left == 0;
		return SIZE;
	}
	if (c->digits == 0) {
		*why = "chunk without a size";
		return BAD;
	}
	if (b == ';')
		return EXT_NAME0;
	return octet_is_blank(b) ? EXT : line_end(c, b, why);
}

/* After a name, a value or the size: blanks, the next ";", or the line end. */
static int
ext_gap(struct chunked *c, char b, bool blank_before, const char **why)
{
	if (b == ';')
		return EXT_NAME0;
	if (blank_before && !c->lenient) {
		*why = "blank before the end of a chunk size line";
		return BAD;
	}
	return line_end(c, b, why);
}

static int
quoted_byte(struct chunked *c, char b, const char **why)
{
	bool escaped = c->state == EXT_ESCAPED;

	if (!octet_is(b, OCTET_TEXT)) {
		*why = "control byte in a quoted chunk extension";
		return BAD;
	}
	if (b == '\\' && !escaped)
		return EXT_ESCAPED;
	return b == '"' && !escaped ? EXT_END : EXT_QUOTED;
}

/* One byte of the extensions (RFC 9112 7.1.1); returns the next state. */
static int
ext_byte(struct chunked *c, char b, const char **why)
{
	bool blank = octet_is_blank(b), token = octet_is(b, OCTET_TOKEN);

	switch (c->state) {
	case EXT:
		return blank ? EXT : ext_gap(c, b, true, why);
	case EXT_NAME0:
		if (blank || token)
			return blank ? EXT_NAME0 : EXT_NAME;
		break;
	case EXT_NAME:
		if (token || b == '=')
			return token ? EXT_NAME : EXT_VALUE0;
		return blank ? EXT_EQUALS : ext_gap(c, b, false, why);
	case EXT_EQUALS:
		if (blank || b == '=')
			return blank ? EXT_EQUALS : EXT_VALUE0;
		return ext_gap(c, b, true, why);
	case EXT_VALUE0:
		if (blank || token)
			return blank ? EXT_VALUE0 : EXT_TOKEN;
		if (b == '"')
			return EXT_QUOTED;
		break;
	case EXT_TOKEN:
		if (token || blank)
			return token ? EXT_TOKEN : EXT;
		return ext_gap(c, b, false, why);
	case EXT_END:
		return blank ? EXT : ext_gap(c, b, false, why);
	default:
		return quoted_byte(c, b, why);
	}
	*why = "chunk extension without a name or value";
	return BAD;
}

/* The byte at the end of a line: LF, and before it CR where one must be. */
static int
data_end_byte(struct chunked *c, char b, const char **why)
{
	if (c->state == DATA_CR && b == '\r')
		return DATA_LF;
	if (b == '\n' && (c->state == DATA_LF || c->lenient))
		return SIZE;
	*why = "chunk data is not followed by a line end";
	return BAD;
}

static int
frame_byte(struct chunked *c, char b, const char **why)
{
	switch (c->state) {
	case SIZE:
		return size_byte(c, b, why);
	case SIZE_LF:
		if (b == '\n')
			return size_line_end(c);
		*why = "CR that does not end a chunk size line";
		return BAD;
	case DATA_CR:
	case DATA_LF:
		return data_end_byte(c, b, why);
	default:
		if (++c->ext_bytes > CHUNKED_EXT_MAX) {
			*why = "chunk extensions too long";
			return BAD;
		}
		return ext_byte(c, b, why);
	}
}

/* A whole trailer line is in c->line, its LF not. */
static int
trailer_line(struct chunked *c, const char **why)
{
	struct span line = strbuf_view(&c->line);
	struct field f;

	if (line.n > 0 && line.p[line.n - 1] == '\r') {
		line.n--;
	} else if (!c->lenient) {
		*why = "trailer line ends with a bare LF";
		return BAD;
	}
	if (line.n == 0)
		return DONE;
	if (head_field_line(line, &f, why) != 0)
		return BAD;
	if (may_trail(f.name)) {
		strbuf_span(&c->trailer, f.name);
		strbuf_lit(&c->trailer, ": ");
		strbuf_span(&c->trailer, f.value);
		strbuf_lit(&c->trailer, "\r\n");
	}
	strbuf_clear(&c->line);
	return TRAILER;
}

/* No use waiting for the LF then. */
static bool
cr_inside(struct span line)
{
	return line.n > 1 && memchr(line.p, '\r', line.n - 1) != NULL;
}

/* Takes up to and with the next LF. Returns how many bytes. */
static size_t
take_trailer(struct chunked *c, const char *p, size_t n, const char **why)
{
	const char *lf = memchr(p, '\n', n);
	size_t take = lf ? (size_t)(lf - p) + 1 : n;

	/* The byte over the limit decides, wherever the pieces were cut. */
	if (take > CHUNKED_TRAILER_MAX - c->trailer_bytes) {
		*why = "trailer section too large";
		c->state = BAD;
		return take;
	}
	c->trailer_bytes += take;
	strbuf_put(&c->line, p, lf ? take - 1 : take);
	if (lf != NULL) {
		c->state = trailer_line(c, why);
	} else if (cr_inside(strbuf_view(&c->line))) {
		*why = "CR that does not end a trailer line";
		c->state = BAD;
	}
	if (chunked_no_memory(c)) {
		*why = "out of memory";
		c->state = BAD;
	}
	return take;
}

/* At least one byte of data is there. */
static enum chunked_result
take_data(struct chunked *c, const char *p, size_t n, struct span *ret_data)
{
	size_t take = n < c->left ? n : (size_t)c->left;

	*ret_data = (struct span){p, take};
	c->left -= take;
	if (c->left == 0)
		c->state = DATA_CR;
	return CHUNKED_DATA;
}

enum chunked_result
chunked_next(struct chunked *c, const char *p, size_t n, size_t *ret_used,
    struct span *ret_data, const char **ret_why)
{
	const char *why = "body was refused before";
	size_t i = 0;

	while (i < n && c->state != DONE && c->state != BAD) {
		if (c->state == DATA) {
			enum chunked_result r =
			    take_data(c, p + i, n - i, ret_data);

			*ret_used = i + ret_data->n;
			return r;
		}
		if (c->state == TRAILER)
			i += take_trailer(c, p + i, n - i, &why);
		else
			c->state = frame_byte(c, p[i++], &why);
	}
	if (c->state == BAD) {
		*ret_why = why;
		return CHUNKED_BAD;
	}
	*ret_used = i;
	return c->state == DONE ? CHUNKED_DONE : CHUNKED_MORE;
}
