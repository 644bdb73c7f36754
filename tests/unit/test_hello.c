/* SPDX-License-Identifier: MIT */
/* ClientHellos: OpenSSL's own, and such as nobody sends in good faith. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/ssl.h>

#include "proto/hello.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NAME50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa."
#define LABEL63 \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* Bytes that grow, with lengths that are set when their end is known. */
struct bytes {
	size_t n;
	uint8_t p[HELLO_BYTES_MAX + 4096];
};

static struct bytes msg, wire;
static struct hello hello;

static void
put(struct bytes *b, const void *p, size_t n)
{
	assert_true(n <= sizeof(b->p) - b->n);
	if (n > 0)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void
put_number(struct bytes *b, size_t bytes, size_t v)
{
	while (bytes-- > 0) {
		uint8_t c = (uint8_t)(bytes < sizeof(v) ? v >> 8 * bytes : 0);

		put(b, &c, 1);
	}
}

/* Room for a length of `bytes` bytes; close_length fills it in. */
static size_t
open_length(struct bytes *b, size_t bytes)
{
	put_number(b, bytes, 0);
	return b->n;
}

static void
close_length(struct bytes *b, size_t at, size_t bytes)
{
	size_t end = b->n, v = end - at;

	b->n = at - bytes;
	put_number(b, bytes, v);
	b->n = end;
}

static void
put_extension(struct bytes *b, size_t type, const void *p, size_t n)
{
	put_number(b, 2, type);
	put_number(b, 2, n);
	put(b, p, n);
}

static void
put_server_name(struct bytes *b, size_t type, const void *p, size_t n)
{
	put_number(b, 2, 0);
	put_number(b, 2, n + 5);
	put_number(b, 2, n + 3);
	put_number(b, 1, type);
	put_number(b, 2, n);
	put(b, p, n);
}

/* Of hellos to come. */
static size_t session_bytes, suites_bytes = 4, methods_bytes = 1;

/* Begins a ClientHello without its extensions. */
static void
begin(void)
{
	static const char session[40] = "session";

	msg.n = 0;
	put_number(&msg, 1, 1);
	(void)open_length(&msg, 3);
	put_number(&msg, 2, 0x0303);
	put(&msg, "0123456789abcdef0123456789abcdef", 32);
	put_number(&msg, 1, session_bytes);
	put(&msg, session, session_bytes);
	put_number(&msg, 2, suites_bytes);
	put(&msg, "\x13\1\x13\2", suites_bytes);
	put_number(&msg, 1, methods_bytes);
	put_number(&msg, methods_bytes, 0);
}

static size_t
begin_extensions(void)
{
	begin();
	return open_length(&msg, 2);
}

static void
end(size_t extensions)
{
	if (extensions > 0)
		close_length(&msg, extensions, 2);
	close_length(&msg, 4, 3);
}

/* The message in records of at most `step` bytes. */
static void
pack(size_t step)
{
	wire.n = 0;
	for (size_t at = 0; at < msg.n;) {
		size_t n = step < msg.n - at ? step : msg.n - at;

		put_number(&wire, 1, 22);
		put_number(&wire, 2, 0x0301);
		put_number(&wire, 2, n);
		put(&wire, msg.p + at, n);
		at += n;
	}
}

static enum hello_result
parse(size_t n)
{
	return hello_parse((const char *)wire.p, n, &hello);
}

/* A hello with this name alone. */
static void
make_named(const void *p, size_t n)
{
	size_t at = begin_extensions();

	put_server_name(&msg, 0, p, n);
	end(at);
	pack(HELLO_MAX);
}

static void
assert_ok(const char *sni)
{
	enum hello_result r = parse(wire.n);

	if (r != HELLO_OK)
		fail_msg("%d: %s", (int)r, hello.why ? hello.why : "");
	assert_string_equal(hello.sni, sni);
}

static void
assert_bad(const char *why)
{
	enum hello_result r = parse(wire.n);

	if (r != HELLO_BAD)
		fail_msg("%d, not bad: %s", (int)r, why);
	assert_non_null(strstr(hello.why, why));
}

/* No prefix says anything else but that there is more to come. */
static void
assert_prefixes_wait(void)
{
	for (size_t n = 0; n < wire.n; n++) {
		if (parse(n) != HELLO_AGAIN)
			fail_msg("after %zu of %zu bytes: %s", n, wire.n,
			    hello.why ? hello.why : "");
	}
}

/* What OpenSSL sends, in `wire`. */
static void
make_real(int version, const char *name, bool alpn)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	int n;

	assert_true(ssl && in && out);
	SSL_set_security_level(ssl, 0);
	assert_int_equal(SSL_set_min_proto_version(ssl, version), 1);
	assert_int_equal(SSL_set_max_proto_version(ssl, version), 1);
	assert_int_equal(SSL_set_cipher_list(ssl, "ALL"), 1);
	if (name)
		assert_int_equal(SSL_set_tlsext_host_name(ssl, name), 1);
	if (alpn)
		assert_int_equal(SSL_set_alpn_protos(ssl,
				     (const uint8_t *)"\2h2\10http/1.1", 12),
		    0);
	SSL_set_bio(ssl, in, out);
	SSL_set_connect_state(ssl);
	assert_int_equal(SSL_do_handshake(ssl), -1);
	n = BIO_read(out, wire.p, sizeof(wire.p));
	assert_true(n > 0);
	wire.n = (size_t)n;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

static void
hello_when_from_openssl_then_name_and_protocols(void **state)
{
	static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION,
	    TLS1_2_VERSION, TLS1_3_VERSION};

	(void)state;
	for (size_t i = 0; i < COUNT(versions); i++) {
		make_real(versions[i], "Api.Example.COM", true);
		assert_ok("api.example.com");
		assert_true(hello_offers(&hello, SPAN("http/1.1")));
		assert_true(hello_offers(&hello, SPAN("h2")));
		assert_false(hello_offers(&hello, SPAN("http/1.")));
		assert_false(hello_offers(&hello, SPAN("")));
		assert_false(hello.alpn_cut);
		assert_false(hello.encrypted);
		assert_prefixes_wait();
		make_real(versions[i], NULL, false);
		assert_ok("");
		assert_int_equal(hello.alpn_bytes, 0);
		assert_false(hello_offers(&hello, SPAN("http/1.1")));
	}
}

static void
hello_when_record_version_is_3_0_to_3_4_then_ok(void **state)
{
	(void)state;
	make_named("a.test", 6);
	for (wire.p[2] = 0; wire.p[2] <= 4; wire.p[2]++)
		assert_ok("a.test");
	assert_int_equal(parse(wire.n), HELLO_NOT_TLS);
	assert_false(hello.looks_http);
	wire.p[2] = 1;
	wire.p[1] = 2;
	assert_int_equal(parse(2), HELLO_NOT_TLS);
}

static void
hello_when_split_over_records_then_the_same(void **state)
{
	size_t at;

	(void)state;
	at = begin_extensions();
	put_server_name(&msg, 0, "split.example.com", 17);
	put_extension(&msg, 16, "\0\11\10http/1.1", 11);
	end(at);
	for (size_t step = 1; step <= msg.n; step++) {
		pack(step);
		assert_ok("split.example.com");
		assert_true(hello_offers(&hello, SPAN("http/1.1")));
		assert_prefixes_wait();
	}
}

static void
hello_when_more_follows_then_it_is_not_read(void **state)
{
	(void)state;
	make_named("a.test", 6);
	put(&wire, "GET / HTTP/1.1\r\n", 16);
	assert_ok("a.test");
	/* In the same record. */
	put(&msg, "\xff\xff\xff\xff\xff", 5);
	pack(HELLO_MAX);
	assert_ok("a.test");
}

static void
hello_when_no_extensions_then_no_name(void **state)
{
	(void)state;
	begin();
	end(0);
	pack(HELLO_MAX);
	assert_ok("");
	end(begin_extensions());
	pack(HELLO_MAX);
	assert_ok("");
	put(&msg, "x", 1);
	end(0);
	pack(HELLO_MAX);
	assert_bad("ClientHello with a wrong length");
}

static void
hello_when_other_extensions_then_passed_over(void **state)
{
	size_t at;

	(void)state;
	at = begin_extensions();
	put_extension(&msg, 0x1a1a, NULL, 0);
	put_extension(&msg, 0xfe0d, "\0\1\2\3", 4);
	put_server_name(&msg, 0, "outer.test", 10);
	put_extension(&msg, 0xaaaa, "\0", 1);
	put_extension(&msg, 0xffff, "x", 1);
	end(at);
	pack(HELLO_MAX);
	assert_ok("outer.test");
	assert_true(hello.encrypted);
}

static void
hello_when_names_of_other_types_then_skipped(void **state)
{
	static const uint8_t both[] = "\0\21\7\0\2\xff\xff\0\0\6a.test\1\0\0";
	size_t at;

	(void)state;
	at = begin_extensions();
	put_extension(&msg, 0, both, 2 + 17);
	end(at);
	pack(HELLO_MAX);
	assert_ok("a.test");

	at = begin_extensions();
	put_server_name(&msg, 1, "a.test", 6);
	end(at);
	pack(HELLO_MAX);
	assert_ok("");
}

static void
name_when_allowed_then_lower_case(void **state)
{
	static const struct {
		const char *name, *want;
	} t[] = {
	    {"localhost", "localhost"},
	    {"API.Example.Com", "api.example.com"},
	    {"_dmarc.a_b.test", "_dmarc.a_b.test"},
	    {"xn--mnchen-3ya.de", "xn--mnchen-3ya.de"},
	    {"1.2.3.4.in-addr.arpa", "1.2.3.4.in-addr.arpa"},
	    {"r3---sn-4g5e.test", "r3---sn-4g5e.test"},
	    {"3com", "3com"},
	    {"0xyz", "0xyz"},
	    {"1.0x1g", "1.0x1g"},
	    {"a.test.", "a.test"},
	    {"10.0.0.1", ""},
	    {"::1", ""},
	    {"2001:DB8::7", ""},
	    {"::ffff:10.0.0.1", ""},
	    {LABEL63 ".test", LABEL63 ".test"},
	    {NAME50 NAME50 NAME50 NAME50 NAME50 "tes",
		NAME50 NAME50 NAME50 NAME50 NAME50 "tes"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		make_named(t[i].name, strlen(t[i].name));
		assert_ok(t[i].want);
	}
}

static void
name_when_forbidden_then_bad(void **state)
{
	static const struct span t[] = {
	    {"", 0},
	    {"a.test..", 8},
	    {".", 1},
	    {".test", 5},
	    {"a..test", 7},
	    {"a.test\0", 7},
	    {"a\0.test", 7},
	    {"\0", 1},
	    {"a b.test", 8},
	    {"a/b", 3},
	    {"a:443", 5},
	    {"*.test", 6},
	    {"a@b.test", 8},
	    {"m\xc3\xbcnchen.de", 11},
	    {"a\r\n.test", 8},
	    {"10..0.1", 7},
	    {"127.1", 5},
	    {"2130706433", 10},
	    {"0x7f000001", 10},
	    {"0X7F.0x1", 8},
	    {"a.0x", 4},
	    {"017700000001", 12},
	    {"[::1]", 5},
	    {"fe80::1%eth0", 12},
	    {LABEL63 "b.test", 69},
	    {NAME50 NAME50 NAME50 NAME50 NAME50 "test", 254},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		make_named(t[i].p, t[i].n);
		if (parse(wire.n) != HELLO_BAD)
			fail_msg("taken: %.*s", SPAN_ARG(t[i]));
		assert_string_equal(hello.why,
		    "server_name that is no host name");
	}
}

static void
name_when_it_fills_the_message_then_bad(void **state)
{
	static char name[16000];

	(void)state;
	memset(name, 'a', sizeof(name));
	make_named(name, sizeof(name));
	assert_bad("no host name");
}

static void
server_name_when_lengths_differ_then_bad(void **state)
{
	static const struct {
		struct span data;
		const char *why;
	} t[] = {
	    {{"", 0}, "wrong length"},
	    {{"\0", 1}, "wrong length"},
	    {{"\0\0", 2}, "wrong length"},
	    {{"\0\1\0", 3}, "wrong length"},
	    {{"\0\3\0\0\1", 5}, "wrong length"},
	    {{"\0\4\0\0\2a", 6}, "wrong length"},
	    {{"\0\4\0\0\1ab", 7}, "wrong length"},
	    {{"\0\5\0\0\1ab", 7}, "wrong length"},
	    {{"\0\5\0\0\1a", 6}, "wrong length"},
	    {{"\0\4\1\0\2a", 6}, "wrong length"},
	    {{"\0\10\0\0\1a\0\0\1b", 10}, "more than one"},
	    {{"\0\10\0\0\1a\0\0\1a", 10}, "more than one"},
	};
	size_t at;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		at = begin_extensions();
		put_extension(&msg, 0, t[i].data.p, t[i].data.n);
		end(at);
		pack(HELLO_MAX);
		assert_bad(t[i].why);
	}
}

static void
alpn_when_lengths_differ_then_bad(void **state)
{
	static const struct span t[] = {
	    {"", 0},
	    {"\0\0", 2},
	    {"\0\1\0", 3},
	    {"\0\3\2h", 4},
	    {"\0\3\3h2", 5},
	    {"\0\3\2h2x", 6},
	    {"\0\4\2h2\0", 6},
	};
	size_t at;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		at = begin_extensions();
		put_extension(&msg, 16, t[i].p, t[i].n);
		end(at);
		pack(HELLO_MAX);
		assert_bad("ALPN with a wrong length");
	}
}

static void
alpn_when_long_then_cut_between_names(void **state)
{
	size_t at, data, list;

	(void)state;
	for (size_t over = 0; over <= 1; over++) {
		at = begin_extensions();
		put_number(&msg, 2, 16);
		data = open_length(&msg, 2);
		list = open_length(&msg, 2);
		put(&msg, "\10http/1.1", 9);
		put_number(&msg, 1, 245 + over);
		put_number(&msg, 245 + over, 0);
		put(&msg, "\2h2", 3);
		close_length(&msg, list, 2);
		close_length(&msg, data, 2);
		end(at);
		pack(HELLO_MAX);
		assert_ok("");
		assert_int_equal(hello.alpn_bytes, over ? 9 : HELLO_ALPN_MAX);
		assert_true(hello.alpn_cut);
		assert_true(hello_offers(&hello, SPAN("http/1.1")));
		assert_false(hello_offers(&hello, SPAN("h2")));
	}
}

static void
extension_when_twice_then_bad(void **state)
{
	static const size_t types[] = {0, 16, 63, 64, 0x1a1a, 0xfe0d, 65535};
	size_t at;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		for (int times = 1; times <= 2; times++) {
			at = begin_extensions();
			for (int j = 0; j < times; j++)
				put_extension(&msg, types[i],
				    types[i] == 0 ? "\0\4\0\0\1a" : "\0\4\3abc",
				    6);
			end(at);
			pack(HELLO_MAX);
			if (times == 1)
				assert_ok(types[i] == 0 ? "a" : "");
			else
				assert_bad("an extension is there twice");
		}
	}
}

/* Changes one byte of a good hello. */
static void
message_when_a_byte_is_wrong_then_bad(void **state)
{
	static const struct {
		size_t at; /* in wire; 5 + the place in the message */
		uint8_t v;
		const char *why;
	} t[] = {
	    {3, 0x41, "record too long"},
	    {5, 2, "no ClientHello"},
	    {5, 0, "no ClientHello"},
	    {6, 1, "too long"},
	    {9, 2, "unknown version"},
	    {9, 4, "unknown version"},
	    {43, 255, "cut short"},
	    {45, 3, "wrong length"},
	    {44, 1, "cut short"},
	    {50, 200, "cut short"},
	    {53, 14, "wrong length"}, /* extensions */
	    {53, 16, "wrong length"},
	    {52, 1, "wrong length"},
	    {57, 12, "extension with a wrong length"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		make_named("a.test", 6);
		wire.p[t[i].at] = t[i].v;
		if (parse(wire.n) != HELLO_BAD ||
		    strstr(hello.why, t[i].why) == NULL)
			fail_msg("byte %zu = %u: %s", t[i].at, t[i].v,
			    hello.why ? hello.why : "not bad");
	}
}

static void
lists_when_out_of_bounds_then_bad(void **state)
{
	static const struct {
		size_t session, suites, methods;
		bool ok;
	} t[] = {
	    {32, 4, 1, true},
	    {0, 2, 2, true},
	    {33, 4, 1, false},
	    {0, 3, 1, false},
	    {0, 0, 1, false},
	    {0, 4, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		session_bytes = t[i].session;
		suites_bytes = t[i].suites;
		methods_bytes = t[i].methods;
		make_named("a.test", 6);
		if (t[i].ok)
			assert_ok("a.test");
		else
			assert_bad("ClientHello with a wrong length");
	}
	session_bytes = 0;
	suites_bytes = 4;
	methods_bytes = 1;
}

static void
record_when_empty_then_bad(void **state)
{
	static const uint8_t empty[] = {22, 3, 1, 0, 0};

	(void)state;
	make_named("a.test", 6);
	memmove(wire.p + 5, wire.p, wire.n);
	memcpy(wire.p, empty, 5);
	assert_int_equal(parse(4), HELLO_AGAIN);
	assert_int_equal(parse(5), HELLO_BAD);
	assert_string_equal(hello.why, "empty TLS record");
	/* Between two pieces of the message, too. */
	pack(40);
	memmove(wire.p + 50, wire.p + 45, wire.n - 45);
	memcpy(wire.p + 45, empty, 5);
	assert_int_equal(parse(49), HELLO_AGAIN);
	assert_int_equal(parse(50), HELLO_BAD);
}

static void
record_when_of_another_kind_inside_then_bad(void **state)
{
	(void)state;
	make_named("a.test", 6);
	pack(40);
	wire.p[45] = 21;
	assert_int_equal(parse(45), HELLO_AGAIN);
	assert_int_equal(parse(46), HELLO_BAD);
	assert_string_equal(hello.why, "another record inside ClientHello");
	wire.p[45] = 22;
	wire.p[46] = 2;
	assert_int_equal(parse(47), HELLO_BAD);
	wire.p[46] = 3;
	wire.p[47] = 5;
	assert_int_equal(parse(48), HELLO_BAD);
}

static void
message_when_longest_then_ok_and_one_more_is_bad(void **state)
{
	static char zeros[HELLO_MAX];
	size_t at, used;

	(void)state;
	for (size_t over = 0; over <= 1; over++) {
		at = begin_extensions();
		put_server_name(&msg, 0, "a.test", 6);
		used = msg.n + 4;
		put_extension(&msg, 21, zeros, HELLO_MAX - used + over);
		end(at);
		assert_int_equal(msg.n, HELLO_MAX + over);
		pack(HELLO_MAX);
		if (over) {
			assert_bad("too long");
			assert_int_equal(parse(9), HELLO_BAD);
		} else {
			assert_ok("a.test");
			assert_int_equal(parse(wire.n - 1), HELLO_AGAIN);
			pack(17);
			assert_ok("a.test");
			assert_int_equal(parse(wire.n - 1), HELLO_AGAIN);
		}
	}
}

/* A peer can't make the caller wait for more than HELLO_BYTES_MAX. */
static void
message_when_in_too_many_records_then_bad(void **state)
{
	static char zeros[2000];
	size_t at;

	(void)state;
	at = begin_extensions();
	put_extension(&msg, 21, zeros, sizeof(zeros));
	end(at);
	pack(2);
	assert_int_equal(parse(HELLO_RECORDS * 7 - 1), HELLO_AGAIN);
	assert_int_equal(parse(HELLO_RECORDS * 7), HELLO_BAD);
	assert_string_equal(hello.why, "ClientHello in too many records");
	pack(3);
	assert_ok("");
}

static void
stream_when_not_tls_then_says_whether_http(void **state)
{
	static const struct {
		struct span text;
		bool http;
	} t[] = {
	    {{"GET / HTTP/1.1\r\n", 16}, true}, {{"POST /", 6}, true},
	    {{"OPTIONS * HTTP/1.1\r\n", 20}, true}, {{"GET http://", 11}, true},
	    {{"GET HTTPS://a.test/ HTTP/1.1\r\n", 30}, true},
	    {{"\r\nGET /", 7}, true}, {{"my-Method. /", 12}, true},
	    {{"ABCDEFGHIJKLMNOPQRSTUVWXYZ01234 /", 33}, true},
	    {{"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345 /", 34}, false},
	    {{"SSH-2.0-x y\r\n", 13}, false},
	    {{"SSH-2.0-OpenSSH\r", 16}, false},
	    {{"EHLO a.test\r\n", 13}, false},
	    {{"EHLO home.test\r\n", 16}, false}, {{"USER httpd", 10}, false},
	    {{"CONNECT a.test:443 HTTP/1.1\r\n", 29}, false},
	    {{"GET  /", 6}, false}, {{" /", 2}, false}, {{"GET\t/", 5}, false},
	    {{"\r\n /", 4}, false}, {{"\r\n\r\nGET /", 9}, false},
	    {{"\rG", 2}, false}, {{"\n", 1}, false},
	    {{"\0\0\0\10\4\xd2\x16\x2f", 8}, false},
	    {{"\x80\x2e\1\0\2", 5}, false}, /* ClientHello of SSL 2 */
	    {{"\x80\x2e\1\3\1", 5}, false}, /* the same, offering TLS 1.0 */
	    {{"\x15\3\1\0\2", 5}, false},   /* an alert */
	    {{"\x17\3\3\0\1", 5}, false}, {{"\x16\1\3\0\1", 5}, false},
	    {{"\x16\xfe\xff\0\0", 5}, false}, /* DTLS */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++) {
		enum hello_result r = HELLO_AGAIN;
		size_t n = 0;

		while (r == HELLO_AGAIN && n < t[i].text.n)
			r = hello_parse(t[i].text.p, ++n, &hello);
		if (r != HELLO_NOT_TLS || hello.looks_http != t[i].http)
			fail_msg("%.*s, %zu bytes", SPAN_ARG(t[i].text), n);
	}
	assert_int_equal(hello_parse("GET htt", 7, &hello), HELLO_AGAIN);
	assert_int_equal(hello_parse(NULL, 0, &hello), HELLO_AGAIN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hello_when_from_openssl_then_name_and_protocols),
	    cmocka_unit_test(hello_when_record_version_is_3_0_to_3_4_then_ok),
	    cmocka_unit_test(hello_when_split_over_records_then_the_same),
	    cmocka_unit_test(hello_when_more_follows_then_it_is_not_read),
	    cmocka_unit_test(hello_when_no_extensions_then_no_name),
	    cmocka_unit_test(hello_when_other_extensions_then_passed_over),
	    cmocka_unit_test(hello_when_names_of_other_types_then_skipped),
	    cmocka_unit_test(name_when_allowed_then_lower_case),
	    cmocka_unit_test(name_when_forbidden_then_bad),
	    cmocka_unit_test(name_when_it_fills_the_message_then_bad),
	    cmocka_unit_test(server_name_when_lengths_differ_then_bad),
	    cmocka_unit_test(alpn_when_lengths_differ_then_bad),
	    cmocka_unit_test(alpn_when_long_then_cut_between_names),
	    cmocka_unit_test(extension_when_twice_then_bad),
	    cmocka_unit_test(message_when_a_byte_is_wrong_then_bad),
	    cmocka_unit_test(lists_when_out_of_bounds_then_bad),
	    cmocka_unit_test(record_when_empty_then_bad),
	    cmocka_unit_test(record_when_of_another_kind_inside_then_bad),
	    cmocka_unit_test(message_when_longest_then_ok_and_one_more_is_bad),
	    cmocka_unit_test(message_when_in_too_many_records_then_bad),
	    cmocka_unit_test(stream_when_not_tls_then_says_whether_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
