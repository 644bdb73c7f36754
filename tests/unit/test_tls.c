/* SPDX-License-Identifier: MIT */
#include "tls_rig.h"

#include <errno.h>
#include <sys/ioctl.h>

#define SMALL 4608 /* of a socket's buffer: the least there is, and a bit */

#define SWAP(a, b) \
	do { \
		SSL *swap_ = (a); \
		(a) = (b); \
		(b) = swap_; \
	} while (0)

static void
assert_peer_hears(struct rig *r, const char *text)
{
	char got[256];
	size_t n;
	int err;

	(void)rig_exchange(r, RIG_BYTES);
	n = rig_peer_reads(r, got, sizeof(got), &err);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(got, text, n);
}

static void
assert_chan_hears(struct rig *r, const char *text)
{
	char got[256];

	assert_int_equal(chan_read(&r->chan, got, sizeof(got)), strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

/* --- the handshake --------------------------------------------------------- */

static void
handshake_when_bytes_come_one_by_one_then_is_done(void **state)
{
	struct rig *r = *state;

	for (int as_client = 0; as_client < 2; as_client++) {
		rig_begin(r, as_client);
		assert_int_equal(rig_handshake(r, 1), 0);
		assert_int_equal(tls_fault_of(r->chan.tls), TLS_FAULT_NONE);
		assert_int_equal(rig_write(r, "hello", 5), 5);
		assert_peer_hears(r, "hello");
		rig_peer_says(r, "you too");
		while (rig_deliver(r, 1) > 0)
			;
		assert_chan_hears(r, "you too");
		chan_close(&r->chan);
		rig_hang_up(r);
		rig_open_chan(r);
	}
}

static void
handshake_when_bytes_came_early_then_they_are_used(void **state)
{
	struct rig *r = *state;
	struct span early;

	rig_peer(r, false);
	(void)SSL_do_handshake(r->peer);
	early.n = BIO_ctrl_pending(SSL_get_wbio(r->peer)) - 3;
	early.p = r->seen;
	assert_int_equal(BIO_read(SSL_get_wbio(r->peer), r->seen, (int)early.n),
	    early.n);
	assert_int_equal(tls_accept(&r->chan, r->server, early), 0);
	memset(r->seen, 0, early.n);
	assert_true(tls_pending(r->chan.tls));
	assert_int_equal(rig_handshake(r, RIG_BYTES), 0);
}

static void
begin_when_memory_fails_then_chan_is_as_it_was(void **state)
{
	struct rig *r = *state;
	struct span early = SPAN("early");
	int res = -1;

	for (unsigned long n = 1; res < 0; n++) {
		mem_fail_at(n, false);
		res = tls_accept(&r->chan, r->server, early);
		mem_fail_at(0, false);
		assert_int_equal(r->chan.tls != NULL, res == 0);
		assert_int_equal(n > 2, res == 0);
	}
	chan_close(&r->chan);
	rig_hang_up(r);
	rig_open_chan(r);
	mem_fail_at(1, false);
	res = tls_connect(&r->chan, r->client, RIG_HOST, NULL);
	mem_fail_at(0, false);
	assert_int_equal(res, -1);
	assert_null(r->chan.tls);
}

/* No such name can be asked for, or proven. */
static void
begin_when_host_is_no_name_then_fails(void **state)
{
	struct rig *r = *state;
	char host[300];

	memset(host, 'a', sizeof(host));
	host[299] = '\0';
	assert_int_equal(tls_connect(&r->chan, r->client, host, NULL), -1);
	assert_int_equal(tls_connect(&r->chan, r->client, "", NULL), -1);
	assert_int_equal(tls_connect(&r->chan, r->client, ".", NULL), -1);
	assert_null(r->chan.tls);
	assert_int_equal(tls_connect(&r->chan, r->client, "a.test.", NULL), 0);
}

static void
handshake_when_host_is_another_then_certificate_fault(void **state)
{
	struct rig *r = *state;

	rig_peer(r, true);
	assert_int_equal(tls_connect(&r->chan, r->client, "other.test", NULL),
	    0);
	assert_int_equal(rig_handshake(r, RIG_BYTES), CHAN_ERROR);
	assert_int_equal(tls_fault_of(r->chan.tls), TLS_FAULT_CERTIFICATE);
	assert_non_null(strstr(tls_fault_text(r->chan.tls), "ostname"));
}

static void
handshake_when_peer_is_plain_then_protocol_fault(void **state)
{
	static const char *const rows[][2] = {
	    {"HTTP/1.1 400 Bad\r\n\r\n", "does not speak TLS"},
	    {"SSH-2.0-x\r\n", "does not speak TLS"},
	    {"\x16\x03\x01\xff\xff\x01", ""},
	    {"GET / HTTP/1.1\r\n", "plain HTTP"},
	    {"CONNECT a:443 HTTP/1.1\r\n", "plain HTTP"},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	struct rig *r = *state;

	for (size_t i = 0; i < 2 * ROWS; i++) {
		const char *says = rows[i % ROWS][0];

		rig_begin(r, i < ROWS);
		(void)!write(r->wire, says, strlen(says));
		rig_turn(r);
		assert_int_equal(tls_handshake(r->chan.tls), CHAN_ERROR);
		assert_int_equal(tls_fault_of(r->chan.tls),
		    strstr(rows[i % ROWS][1], "HTTP") ? TLS_FAULT_HTTP
						      : TLS_FAULT_PROTOCOL);
		assert_true(strlen(tls_fault_text(r->chan.tls)) > 4);
		if (i >= ROWS)
			assert_non_null(strstr(tls_fault_text(r->chan.tls),
			    rows[i % ROWS][1]));
		assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_ERROR);
		assert_int_equal(rig_write(r, "x", 1), CHAN_ERROR);
		chan_close(&r->chan);
		rig_hang_up(r);
		rig_open_chan(r);
	}
}

static void
handshake_when_peer_leaves_then_lost(void **state)
{
	struct rig *r = *state;

	for (size_t part = 0; part < 300; part += 60) {
		rig_begin(r, true);
		assert_int_equal(tls_handshake(r->chan.tls), CHAN_AGAIN);
		(void)rig_collect(r, RIG_BYTES);
		(void)SSL_do_handshake(r->peer);
		if (part)
			(void)rig_deliver(r, part);
		rig_hang_up(r);
		rig_turn(r);
		assert_int_equal(tls_handshake(r->chan.tls), CHAN_ERROR);
		assert_int_equal(tls_fault_of(r->chan.tls), TLS_FAULT_LOST);
		chan_close(&r->chan);
		rig_open_chan(r);
	}
}

static void
handshake_when_peer_says_why_not_then_alert(void **state)
{
	struct rig *r = *state;

	rig_begin(r, true);
	SSL_set_min_proto_version(r->peer, TLS1_3_VERSION);
	SSL_set_max_proto_version(r->chan.tls ? r->peer : NULL, TLS1_3_VERSION);
	assert_int_equal(tls_handshake(r->chan.tls), CHAN_AGAIN);
	(void)rig_collect(r, RIG_BYTES);
	(void)!write(r->wire, "\x15\x03\x03\x00\x02\x02\x46", 7);
	rig_hang_up(r);
	rig_turn(r);
	assert_int_equal(tls_handshake(r->chan.tls), CHAN_ERROR);
	assert_int_equal(tls_fault_of(r->chan.tls), TLS_FAULT_ALERT);
	assert_int_equal(tls_alert_of(r->chan.tls), SSL_AD_PROTOCOL_VERSION);
}

/* --- reading ---------------------------------------------------------------- */

static void
peek_when_data_is_there_then_it_stays(void **state)
{
	struct rig *r = *state;

	rig_established(r, false);
	rig_peer_says(r, "one");
	rig_peer_says(r, "two");
	(void)rig_deliver(r, RIG_BYTES);
	assert_int_equal(chan_peek(&r->chan), 1);
	assert_int_equal(chan_peek(&r->chan), 1);
	assert_chan_hears(r, "one");
	assert_true(chan_has_input(&r->chan));
	assert_chan_hears(r, "two");
	assert_int_equal(chan_peek(&r->chan), CHAN_AGAIN);
	assert_false(chan_has_input(&r->chan));
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_AGAIN);
}

/* What was buffered hides neither the end of the socket nor a RST. */
static void
peek_when_peer_left_behind_data_then_known(void **state)
{
	struct rig *r = *state;

	rig_established(r, false);
	rig_peer_says(r, "one");
	rig_peer_says(r, "two");
	(void)rig_deliver(r, RIG_BYTES);
	assert_chan_hears(r, "one");
	rig_hang_up(r);
	rig_turn(r);
	assert_int_equal(chan_peek(&r->chan), 1);
	assert_true(r->chan.fin);
	assert_chan_hears(r, "two");
}

static void
read_when_peer_says_goodbye_then_end(void **state)
{
	struct rig *r = *state;

	rig_established(r, false);
	rig_peer_says(r, "one");
	(void)SSL_shutdown(r->peer);
	(void)rig_deliver(r, RIG_BYTES);
	assert_chan_hears(r, "one");
	assert_int_equal(chan_peek(&r->chan), 0);
	assert_int_equal(chan_read(&r->chan, r->seen, 9), 0);
	/* The way there is open still. */
	assert_int_equal(rig_write(r, "still", 5), 5);
	assert_peer_hears(r, "still");
}

static void
read_when_cut_then_error(void **state)
{
	struct rig *r = *state;

	rig_established(r, false);
	rig_peer_says(r, "one");
	(void)rig_deliver(r, RIG_BYTES);
	rig_hang_up(r);
	rig_turn(r);
	assert_chan_hears(r, "one");
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_ERROR);
	assert_int_equal(chan_peek(&r->chan), CHAN_ERROR);
}

static void
read_when_cut_within_record_then_error(void **state)
{
	struct rig *r = *state;

	rig_established(r, true);
	rig_peer_says(r, "one");
	(void)rig_deliver(r, 9);
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_AGAIN);
	rig_hang_up(r);
	rig_turn(r);
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_ERROR);
}

/* What bears no data is no reason to stay with one connection for ever. */
static void
read_when_keys_change_all_the_time_then_ends_for_now(void **state)
{
	struct rig *r = *state;
	int queued = 0;
	unsigned turns = 0;

	rig_established(r, false);
	for (int i = 0; i < 4000; i++) {
		assert_int_equal(SSL_key_update(r->peer,
				     SSL_KEY_UPDATE_NOT_REQUESTED),
		    1);
		assert_int_equal(SSL_do_handshake(r->peer), 1);
	}
	rig_peer_says(r, "at last");
	while (rig_deliver(r, RIG_BYTES) > 0)
		;
	assert_int_equal(ioctl(r->chan.fd, FIONREAD, &queued), 0);
	assert_true(queued > 80000);
	r->chan.later = rig_ready;
	r->calls = 0;
	while (chan_peek(&r->chan) == CHAN_AGAIN)
		assert_int_equal(r->calls, ++turns);
	assert_true(turns > 0);
	assert_chan_hears(r, "at last");
	assert_int_equal(chan_peek(&r->chan), CHAN_AGAIN);
	assert_int_equal(r->calls, turns);
}

/* --- writing ---------------------------------------------------------------- */

static void
fill_bytes(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 7 + i / 251);
}

static void
shrink_buffers(const struct rig *r)
{
	int n = SMALL / 2;

	assert_int_equal(setsockopt(r->chan.fd, SOL_SOCKET, SO_SNDBUF, &n,
			     sizeof(n)),
	    0);
}

/* The peer reads on until nothing comes; bytes that it has. */
static size_t
peer_reads_all(struct rig *r, struct outbuf *out, char *to, size_t cap)
{
	size_t have = 0, moved, n;
	int err, idle = 0;

	while (idle < 3) {
		n = rig_collect(r, 700);
		idle = n ? 0 : idle + 1;
		assert_int_equal(outbuf_flush(out, &r->chan, &moved), 0);
		while ((n = rig_peer_reads(r, to + have, cap - have, &err)))
			have += n;
	}
	return have;
}

static void
write_when_socket_is_small_then_all_arrives_in_order(void **state)
{
	enum { BYTES = 300 * 1000 };
	struct rig *r = *state;
	char *sent = mem_must_zalloc(BYTES), *got = mem_must_zalloc(BYTES + 1);
	struct outbuf out = {0};
	size_t at = 0, part = 1, have = 0;

	rig_established(r, false);
	shrink_buffers(r);
	fill_bytes(sent, BYTES);
	while (at < BYTES) {
		size_t n = part < BYTES - at ? part : BYTES - at;
		struct iovec v[3] = {{sent + at, n / 3},
		    {sent + at + n / 3, n / 3},
		    {sent + at + n / 3 * 2, n - n / 3 * 2}};

		assert_int_equal(outbuf_send(&out, &r->chan, v, 3), 0);
		at += n;
		part = part * 3 % 70001 + 1;
		have += peer_reads_all(r, &out, got + have, BYTES + 1 - have);
	}
	assert_true(outbuf_empty(&out));
	assert_int_equal(have, BYTES);
	assert_memory_equal(sent, got, BYTES);
	mem_free(sent);
	mem_free(got);
	outbuf_free(&out);
}

/* A server that refuses an upload answers, and closes: what it said counts. */
static void
write_when_peer_has_gone_then_its_words_are_read(void **state)
{
	struct rig *r = *state;

	rig_established(r, true);
	rig_peer_says(r, "too large");
	(void)rig_deliver(r, RIG_BYTES);
	rig_hang_up(r);
	rig_turn(r);
	errno = 0;
	assert_int_equal(rig_write(r, "more", 4), CHAN_ERROR);
	assert_int_not_equal(errno, ENOMEM);
	assert_chan_hears(r, "too large");
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_ERROR);
	assert_int_equal(rig_write(r, "more", 4), CHAN_ERROR);
}

/* Makes tickets long: they hold what their server wants to know again. */
static int
stuff_ticket(SSL *ssl, void *arg)
{
	static const char stuff[2000];

	(void)arg;
	return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), stuff,
	    sizeof(stuff));
}

/* A message of the handshake's kind may span records; until it is whole, no
 * record of ours can be made. */
static void
write_when_ticket_comes_in_pieces_then_waits(void **state)
{
	struct rig *r = *state;
	size_t n;

	SSL_CTX_set_max_send_fragment(r->server, 512);
	assert_int_equal(SSL_CTX_set_session_ticket_cb(r->server, stuff_ticket,
			     NULL, NULL),
	    1);
	rig_established(r, true);
	assert_int_equal(SSL_new_session_ticket(r->peer), 1);
	SSL_set_mode(r->peer, SSL_MODE_ENABLE_PARTIAL_WRITE);
	rig_peer_says(r, "you");
	n = BIO_ctrl_pending(SSL_get_wbio(r->peer));
	assert_true(n > 700);
	(void)rig_deliver(r, 600);
	assert_int_equal(chan_read(&r->chan, r->seen, 9), CHAN_AGAIN);
	assert_int_equal(rig_write(r, "me", 2), 0);
	(void)rig_deliver(r, RIG_BYTES);
	assert_int_equal(rig_write(r, "me", 2), 2);
	assert_chan_hears(r, "you");
	assert_peer_hears(r, "me");
}

/* --- the end ---------------------------------------------------------------- */

static void
shutdown_when_socket_has_room_then_peer_sees_end(void **state)
{
	struct rig *r = *state;
	int err;

	rig_established(r, false);
	assert_int_equal(rig_write(r, "bye", 3), 3);
	chan_shutdown(&r->chan);
	assert_peer_hears(r, "bye");
	assert_int_equal(rig_peer_reads(r, r->seen, 9, &err), 0);
	assert_int_equal(err, SSL_ERROR_ZERO_RETURN);
	assert_int_equal(recv(r->wire, r->seen, 9, 0), 0);
	rig_peer_says(r, "and you");
	(void)rig_deliver(r, RIG_BYTES);
	assert_chan_hears(r, "and you");
}

/* Fills the socket to the brim, with whole records. */
static size_t
fill_socket(struct rig *r)
{
	size_t sum = 0;

	shrink_buffers(r);
	for (int i = 0; i < 1000 && r->chan.writable; i++) {
		ssize_t n = rig_write(r, "0123456789", 10);

		assert_true(n >= 0);
		sum += (size_t)n;
	}
	assert_false(r->chan.writable);
	return sum;
}

static void
shutdown_when_socket_is_full_then_goodbye_follows(void **state)
{
	struct rig *r = *state;
	size_t sent;
	int err;

	rig_established(r, false);
	sent = fill_socket(r) + 10;
	/* Room for the record that found none, and no more. */
	while (!r->chan.writable)
		assert_true(rig_collect(r, 32) > 0);
	assert_int_equal(rig_write(r, "0123456789", 10), 10);
	r->chan.writable = false; /* as if that had just filled it */
	assert_false(chan_shutdown(&r->chan));
	assert_false(chan_shutdown(&r->chan));
	(void)rig_exchange(r, RIG_BYTES);
	while (sent > 0) {
		size_t n = rig_peer_reads(r, r->seen, sizeof(r->seen), &err);

		assert_true(n > 0);
		sent -= n;
		(void)rig_exchange(r, RIG_BYTES);
	}
	assert_int_equal(rig_peer_reads(r, r->seen, 9, &err), 0);
	assert_int_equal(err, SSL_ERROR_ZERO_RETURN);
	assert_int_equal(recv(r->wire, r->seen, 9, 0), 0);
}

static void
close_when_something_is_unsent_then_no_goodbye(void **state)
{
	struct rig *r = *state;
	int err = SSL_ERROR_NONE;

	rig_established(r, false);
	(void)fill_socket(r);
	chan_close(&r->chan);
	while (rig_collect(r, RIG_BYTES) > 0)
		while (rig_peer_reads(r, r->seen, sizeof(r->seen), &err) > 0)
			;
	assert_int_equal(err, SSL_ERROR_WANT_READ);
	BIO_set_mem_eof_return(SSL_get_rbio(r->peer), 0);
	assert_int_equal(rig_peer_reads(r, r->seen, 9, &err), 0);
	assert_int_equal(err, SSL_ERROR_SSL);
}

/* HTTPS of a host, through a proxy that is spoken to over TLS itself. */
static void
close_when_within_another_session_then_both_end(void **state)
{
	struct rig *r = *state;
	struct span none = {NULL, 0};
	SSL *outer;
	int err;

	rig_established(r, false);
	outer = r->peer;
	r->peer = NULL;
	rig_peer(r, false);
	assert_int_equal(tls_accept(&r->chan, r->server, none), 0);
	for (int i = 0; i < 8; i++) {
		BIO *in = SSL_get_rbio(r->peer), *out = SSL_get_wbio(r->peer);
		size_t n, done;
		int got;

		(void)SSL_do_handshake(r->peer);
		while ((got = BIO_read(out, r->seen, sizeof(r->seen))) > 0)
			assert_int_equal(SSL_write_ex(outer, r->seen,
					     (size_t)got, &done),
			    1);
		SWAP(r->peer, outer);
		(void)rig_exchange(r, RIG_BYTES);
		assert_true(tls_handshake(r->chan.tls) != CHAN_ERROR);
		(void)rig_exchange(r, RIG_BYTES);
		while ((n = rig_peer_reads(r, r->seen, sizeof(r->seen), &err)))
			assert_int_equal(BIO_write(in, r->seen, (int)n), n);
		SWAP(r->peer, outer);
	}
	assert_true(SSL_is_init_finished(r->peer));
	assert_int_equal(chan_peek(&r->chan), CHAN_AGAIN);
	chan_close(&r->chan);
	SWAP(r->peer, outer);
	(void)rig_exchange(r, RIG_BYTES);
	{
		size_t n = rig_peer_reads(r, r->seen, sizeof(r->seen), &err);

		assert_int_equal(BIO_write(SSL_get_rbio(outer), r->seen,
				     (int)n),
		    n);
	}
	assert_int_equal(rig_peer_reads(r, r->seen, 9, &err), 0);
	assert_int_equal(err, SSL_ERROR_ZERO_RETURN);
	SWAP(r->peer, outer);
	while (rig_peer_reads(r, r->seen, 9, &err) > 0)
		;
	assert_int_equal(err, SSL_ERROR_ZERO_RETURN);
	SSL_free(outer);
}

static void
reset_when_open_then_no_goodbye(void **state)
{
	struct rig *r = *state;

	rig_established(r, false);
	chan_reset(&r->chan);
	assert_int_equal(recv(r->wire, r->seen, 9, 0), 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
	    T(handshake_when_bytes_come_one_by_one_then_is_done),
	    T(handshake_when_bytes_came_early_then_they_are_used),
	    T(begin_when_memory_fails_then_chan_is_as_it_was),
	    T(begin_when_host_is_no_name_then_fails),
	    T(handshake_when_host_is_another_then_certificate_fault),
	    T(handshake_when_peer_is_plain_then_protocol_fault),
	    T(handshake_when_peer_leaves_then_lost),
	    T(handshake_when_peer_says_why_not_then_alert),
	    T(peek_when_data_is_there_then_it_stays),
	    T(peek_when_peer_left_behind_data_then_known),
	    T(read_when_peer_says_goodbye_then_end),
	    T(read_when_cut_then_error),
	    T(read_when_cut_within_record_then_error),
	    T(read_when_keys_change_all_the_time_then_ends_for_now),
	    T(write_when_socket_is_small_then_all_arrives_in_order),
	    T(write_when_peer_has_gone_then_its_words_are_read),
	    T(write_when_ticket_comes_in_pieces_then_waits),
	    T(shutdown_when_socket_has_room_then_peer_sees_end),
	    T(shutdown_when_socket_is_full_then_goodbye_follows),
	    T(close_when_something_is_unsent_then_no_goodbye),
	    T(close_when_within_another_session_then_both_end),
	    T(reset_when_open_then_no_goodbye),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
