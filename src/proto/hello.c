/* SPDX-License-Identifier: MIT */
/*
 * hello.c: takes a ClientHello apart.
 *
 * Decides whether a stream begins with TLS, and which name its client asks for.
 * It refuses to know certificates, ciphers and what becomes of the connection:
 * whoever answers the handshake checks it anew.
 *
 *     record   16 03 xx LEN16 | fragment ...             (one or more)
 *     message  01 LEN24 | version random session-id suites compression
 *              [ LEN16 | extension: TYPE16 LEN16 data ... ]
 */
#include "proto/hello.h"

#include "proto/octet.h"

#define RECORD_HEADER 5
#define RECORD_HANDSHAKE 0x16
#define RECORD_MAX (1 << 14) /* of plaintext, RFC 8446 5.1 */
#define MESSAGE_HEADER 4
#define CLIENT_HELLO 1
#define RANDOM_BYTES 32
#define SESSION_ID_MAX 32
#define LABEL_MAX 63 /* RFC 1035 2.3.4 */

enum extension {
	EXT_SERVER_NAME = 0,
	EXT_ALPN = 16,
	EXT_ENCRYPTED = 0xfe0d,
};

/* Bytes that are taken off the front; a piece that isn't there fails. */
struct reader {
	const uint8_t *p;
	size_t n;
};

static bool
take(struct reader *r, size_t n, struct reader *ret)
{
	if (n > r->n)
		return false;
	*ret = (struct reader){r->p, n};
	r->p += n;
	r->n -= n;
	return true;
}

/* A number of `bytes` bytes, most significant first. */
static bool
take_number(struct reader *r, size_t bytes, size_t *ret)
{
	struct reader raw;
	size_t v = 0;

	if (!take(r, bytes, &raw))
		return false;
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | raw.p[i];
	*ret = v;
	return true;
}

/* opaque vector: a length of `bytes` bytes, and as much. */
static bool
take_vector(struct reader *r, size_t bytes, struct reader *ret)
{
	size_t n;

	return take_number(r, bytes, &n) && take(r, n, ret);
}

static enum hello_result
bad(struct hello *ret, const char *why)
{
	ret->why = why;
	return HELLO_BAD;
}

/* All digits, or "0x" and hex digits: some resolver reads it as an address. */
static bool
is_number(struct span label)
{
	size_t i = 0;

	if (span_istarts(label, SPAN("0x"))) {
		for (i = 2; i < label.n && octet_hex(label.p[i]) >= 0;)
			i++;
		return i == label.n;
	}
	while (i < label.n && octet_is_digit(label.p[i]))
		i++;
	return i == label.n;
}

static bool
is_label(struct span label)
{
	if (label.n == 0 || label.n > LABEL_MAX)
		return false;
	for (size_t i = 0; i < label.n; i++) {
		char c = label.p[i], low = (char)(c | 0x20);

		if (!octet_is_digit(c) && c != '-' && c != '_' &&
		    (low < 'a' || low > 'z'))
			return false;
	}
	return true;
}

static bool
is_name(struct span name)
{
	struct span label = {0};

	if (name.n == 0 || name.n > HELLO_NAME_MAX)
		return false;
	while (span_cut(&name, '.', &label)) {
		if (!is_label(label))
			return false;
	}
	return !is_number(label);
}

/*
 * "10.0.0.1" or "2001:db8::1": not allowed there (RFC 6066 3), but some clients
 * send what they were told to connect to. It names nobody.
 */
static bool
is_address(struct span s)
{
	struct span label, rest = s;
	size_t colons = 0, numbers = 0;

	for (size_t i = 0; i < s.n; i++) {
		colons += s.p[i] == ':';
		if (s.p[i] != '.' && s.p[i] != ':' && octet_hex(s.p[i]) < 0)
			return false;
	}
	while (span_cut(&rest, '.', &label)) {
		uint64_t n;

		if (label.n > 3 || span_u64(label, &n) != 0)
			return colons >= 2;
		numbers++;
	}
	return numbers == 4;
}

static void
keep_name(struct span name, struct hello *ret)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		ret->sni[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
	}
	ret->sni[name.n] = '\0';
}

/* ServerNameList, RFC 6066 3. */
static enum hello_result
read_server_name(struct reader data, struct hello *ret)
{
	struct reader list, name;
	struct span text;
	size_t type;

	if (!take_vector(&data, 2, &list) || data.n > 0 || list.n == 0)
		return bad(ret, "server_name with a wrong length");
	while (list.n > 0) {
		if (!take_number(&list, 1, &type) ||
		    !take_vector(&list, 2, &name))
			return bad(ret, "server_name with a wrong length");
		if (type != 0)
			continue;
		if (ret->sni[0] != '\0')
			return bad(ret, "more than one name in server_name");
		text = (struct span){(const char *)name.p, name.n};
		if (text.n > 1 && text.p[text.n - 1] == '.')
			text.n--;
		if (is_address(text))
			continue;
		if (!is_name(text))
			return bad(ret, "server_name that is no host name");
		keep_name(text, ret);
	}
	return HELLO_OK;
}

/* ProtocolNameList, RFC 7301 3.1: 1..255 bytes each. */
static enum hello_result
read_alpn(struct reader data, struct hello *ret)
{
	struct reader list, name;

	if (!take_vector(&data, 2, &list) || data.n > 0 || list.n == 0)
		return bad(ret, "ALPN with a wrong length");
	while (list.n > 0) {
		if (!take_vector(&list, 1, &name) || name.n == 0)
			return bad(ret, "ALPN with a wrong length");
		if (ret->alpn_cut ||
		    name.n + 1 > HELLO_ALPN_MAX - ret->alpn_bytes) {
			ret->alpn_cut = true;
			continue;
		}
		memcpy(ret->alpn + ret->alpn_bytes, name.p - 1, name.n + 1);
		ret->alpn_bytes += name.n + 1;
	}
	return HELLO_OK;
}

static enum hello_result
read_extension(size_t type, struct reader data, struct hello *ret)
{
	switch (type) {
	case EXT_SERVER_NAME:
		return read_server_name(data, ret);
	case EXT_ALPN:
		return read_alpn(data, ret);
	case EXT_ENCRYPTED:
		ret->encrypted = true;
		return HELLO_OK;
	default:
		return HELLO_OK;
	}
}

static enum hello_result
read_extensions(struct reader list, struct hello *ret)
{
	uint64_t seen[65536 / 64] = {0}; /* a bit for each type */
	enum hello_result r = HELLO_OK;
	struct reader data;
	size_t type;

	while (list.n > 0 && r == HELLO_OK) {
		if (!take_number(&list, 2, &type) ||
		    !take_vector(&list, 2, &data))
			return bad(ret, "extension with a wrong length");
		if (seen[type / 64] >> type % 64 & 1)
			return bad(ret, "an extension is there twice");
		seen[type / 64] |= UINT64_C(1) << type % 64;
		r = read_extension(type, data, ret);
	}
	return r;
}

/* The message behind its header. */
static enum hello_result
read_body(struct reader r, struct hello *ret)
{
	struct reader random, session, suites, compression, extensions;
	size_t version;

	if (!take_number(&r, 2, &version) || !take(&r, RANDOM_BYTES, &random) ||
	    !take_vector(&r, 1, &session) || !take_vector(&r, 2, &suites) ||
	    !take_vector(&r, 1, &compression))
		return bad(ret, "ClientHello is cut short");
	if (version >> 8 != 3)
		return bad(ret, "ClientHello of an unknown version");
	if (session.n > SESSION_ID_MAX || suites.n == 0 || suites.n % 2 != 0 ||
	    compression.n == 0)
		return bad(ret, "ClientHello with a wrong length");
	if (r.n == 0) /* as before TLS 1.2 it may be */
		return HELLO_OK;
	if (!take_vector(&r, 2, &extensions) || r.n > 0)
		return bad(ret, "ClientHello with a wrong length");
	return read_extensions(extensions, ret);
}

/*
 * The records at the front of the stream as one run of bytes: of the message
 * the caller looks at a piece at a time.
 */
struct records {
	struct reader rest;     /* what has not been looked at */
	struct reader fragment; /* what is there of the record at hand */
	unsigned count;
	bool partial; /* that record goes on beyond the bytes */
};

/*
 * The next record. HELLO_OK; HELLO_AGAIN where its header, or the first byte
 * behind it, is not there yet.
 */
static enum hello_result
next_record(struct records *all, struct hello *ret)
{
	struct reader r = all->rest;
	size_t length;

	if (r.n > 0 && r.p[0] != RECORD_HANDSHAKE)
		return bad(ret, "another record inside ClientHello");
	if ((r.n > 1 && r.p[1] != 3) || (r.n > 2 && r.p[2] > 4))
		return bad(ret, "TLS record of an unknown version");
	if (all->count == HELLO_RECORDS)
		return bad(ret, "ClientHello in too many records");
	if (r.n < RECORD_HEADER)
		return HELLO_AGAIN;
	length = (size_t)r.p[3] << 8 | r.p[4];
	if (length == 0)
		return bad(ret, "empty TLS record");
	if (length > RECORD_MAX)
		return bad(ret, "TLS record too long");
	r.p += RECORD_HEADER;
	r.n -= RECORD_HEADER;
	all->count++;
	all->partial = length > r.n;
	(void)take(&r, all->partial ? r.n : length, &all->fragment);
	all->rest = r;
	return HELLO_OK;
}

/*
 * Copies the first `want` bytes of the message to `ret_bytes` (NULL: only sees
 * whether they are there).
 */
static enum hello_result
gather(struct reader stream, size_t want, uint8_t *ret_bytes, struct hello *ret)
{
	struct records all = {.rest = stream};
	enum hello_result r;
	size_t have = 0, n;

	while (have < want) {
		r = next_record(&all, ret);
		if (r != HELLO_OK)
			return r;
		n = all.fragment.n < want - have ? all.fragment.n : want - have;
		if (ret_bytes != NULL)
			memcpy(ret_bytes + have, all.fragment.p, n);
		have += n;
		if (all.partial && have < want)
			return HELLO_AGAIN;
	}
	return HELLO_OK;
}

/* A message in several records, put together. */
static __attribute__((noinline)) enum hello_result
read_split(struct reader stream, size_t bytes, struct hello *ret)
{
	uint8_t message[HELLO_MAX];
	enum hello_result r = gather(stream, bytes, message, ret);

	if (r != HELLO_OK)
		return r;
	return read_body((struct reader){message + MESSAGE_HEADER,
			     bytes - MESSAGE_HEADER},
	    ret);
}

/* Is this no TLS record, by what is there of its header? */
static bool
is_other(struct reader r)
{
	return r.p[0] != RECORD_HANDSHAKE || (r.n > 1 && r.p[1] != 3) ||
	    (r.n > 2 && r.p[2] > 4);
}

static enum hello_result
read_stream(struct reader stream, struct hello *ret)
{
	uint8_t head[MESSAGE_HEADER] = {0};
	enum hello_result r;
	size_t bytes, first;

	/* The type is known before the rest of the header is. */
	r = gather(stream, 1, head, ret);
	if (r != HELLO_OK)
		return r;
	if (head[0] != CLIENT_HELLO)
		return bad(ret, "first TLS message is no ClientHello");
	r = gather(stream, MESSAGE_HEADER, head, ret);
	if (r != HELLO_OK)
		return r;
	bytes = MESSAGE_HEADER +
	    ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
	if (bytes > HELLO_MAX)
		return bad(ret, "ClientHello too long");
	first = (size_t)stream.p[3] << 8 | stream.p[4];
	if (first < bytes)
		return read_split(stream, bytes, ret);
	r = gather(stream, bytes, NULL, ret);
	if (r != HELLO_OK)
		return r;
	stream.p += RECORD_HEADER + MESSAGE_HEADER;
	stream.n = bytes - MESSAGE_HEADER;
	return read_body(stream, ret);
}

/* Is `text` what s begins with, any case, as far as s goes? */
static bool
may_begin(struct span s, struct span text)
{
	if (s.n < text.n)
		text.n = s.n;
	return span_istarts(s, text);
}

/*
 * Bytes that are not TLS: a request line, method SP request-target, after one
 * empty line at most (RFC 9112 2.2, 3). Greetings of other protocols begin with
 * a word as well ("SSH-2.0-x", "EHLO x"), but go on otherwise.
 */
static enum hello_result
read_request(struct span s, struct hello *ret)
{
	static const struct span urls[] = {{"http://", 7}, {"https://", 8}};
	size_t n = 0;

	if (s.p[0] == '\r') {
		if (s.n > 1 && s.p[1] != '\n')
			return HELLO_NOT_TLS;
		n = s.n > 1 ? 2 : 1;
	}
	s = (struct span){s.p + n, s.n - n};
	for (n = 0; n < s.n && n < HELLO_METHOD_MAX; n++) {
		if (!octet_is(s.p[n], OCTET_TOKEN))
			break;
	}
	if (n == s.n)
		return HELLO_AGAIN;
	if (n == 0 || s.p[n] != ' ')
		return HELLO_NOT_TLS;
	s = (struct span){s.p + n + 1, s.n - n - 1};
	if (s.n == 0)
		return HELLO_AGAIN;
	ret->looks_http = s.p[0] == '/' || s.p[0] == '*';
	for (size_t i = 0; i < 2 && !ret->looks_http; i++) {
		if (!may_begin(s, urls[i]))
			continue;
		if (s.n < urls[i].n)
			return HELLO_AGAIN;
		ret->looks_http = true;
	}
	return HELLO_NOT_TLS;
}

enum hello_result
hello_parse(const char *p, size_t n, struct hello *ret)
{
	struct reader stream = {(const uint8_t *)p, n};

	*ret = (struct hello){.why = NULL};
	if (n == 0)
		return HELLO_AGAIN;
	if (is_other(stream))
		return read_request((struct span){p, n}, ret);
	return read_stream(stream, ret);
}

bool
hello_offers(const struct hello *h, struct span protocol)
{
	struct reader list = {h->alpn, h->alpn_bytes}, name;

	while (list.n > 0 && take_vector(&list, 1, &name)) {
		if (span_eq(protocol,
			(struct span){(const char *)name.p, name.n}))
			return true;
	}
	return false;
}
