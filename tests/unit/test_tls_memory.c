/* SPDX-License-Identifier: MIT */
/*
 * Every few of OpenSSL's own allocations fail, one at a time, in a session of
 * ours: the handshake, new keys, bytes both ways, the end. The peer has what it
 * needs.
 */
#include "tls_rig.h"

#include <stdlib.h>

#define STRIDE 7 /* allocations; there are some 2,500 in a session */
#define BYTES 40000

static unsigned long left; /* until the one that fails; 0: none will */
static bool ours;          /* it is our side that allocates */

static bool
fails(void)
{
	return ours && left > 0 && --left == 0;
}

static void *
lean_alloc(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails() ? NULL : malloc(n);
}

static void *
lean_realloc(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return fails() ? NULL : realloc(p, n);
}

static void
lean_free(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

static int
begin(struct rig *r, bool as_client)
{
	struct span none = {NULL, 0};
	int res;

	rig_peer(r, as_client);
	ours = true;
	res = as_client ? tls_connect(&r->chan, r->client, RIG_HOST, NULL)
			: tls_accept(&r->chan, r->server, none);
	ours = false;
	return res;
}

static int
shake(struct rig *r)
{
	int res = CHAN_AGAIN;

	for (int idle = 0; idle < 3 && res == CHAN_AGAIN;) {
		ours = true;
		res = tls_handshake(r->chan.tls);
		ours = false;
		(void)SSL_do_handshake(r->peer);
		idle = rig_exchange(r, RIG_BYTES) == 0 ? idle + 1 : 0;
	}
	assert_int_not_equal(res, CHAN_AGAIN);
	if (res == 0)
		return 0;
	assert_int_not_equal(tls_fault_of(r->chan.tls), TLS_FAULT_NONE);
	assert_int_not_equal(tls_fault_of(r->chan.tls), TLS_FAULT_LOST);
	/* The peer has nothing to object to. */
	if (SSL_is_server(r->peer))
		assert_int_not_equal(tls_fault_of(r->chan.tls),
		    TLS_FAULT_ALERT);
	assert_string_not_equal(tls_fault_text(r->chan.tls), "");
	return -1;
}

/* What the peer said before; new keys are asked for in the middle of it. */
static int
hear(struct rig *r)
{
	char got[64];
	size_t sum = 0;
	ssize_t n;

	(void)SSL_do_handshake(r->peer);
	rig_peer_says(r, "hello");
	if (SSL_version(r->peer) == TLS1_3_VERSION)
		assert_int_equal(SSL_key_update(r->peer,
				     SSL_KEY_UPDATE_REQUESTED),
		    1);
	rig_peer_says(r, "again");
	(void)rig_exchange(r, RIG_BYTES);
	ours = true;
	while ((n = chan_read(&r->chan, got, sizeof(got))) > 0)
		sum += (size_t)n;
	ours = false;
	if (n == CHAN_AGAIN)
		assert_int_equal(sum, 10);
	return n == CHAN_AGAIN ? 0 : -1;
}

/* All of it arrives, or an error is told. */
static int
say(struct rig *r, struct outbuf *out)
{
	static char bytes[BYTES];
	struct iovec v = {bytes, sizeof(bytes)};
	size_t have = 0, n;
	int err, res;

	ours = true;
	res = outbuf_send(out, &r->chan, &v, 1);
	ours = false;
	while (res == 0) {
		(void)rig_collect(r, RIG_BYTES);
		while ((n = rig_peer_reads(r, r->seen, RIG_BYTES, &err)) > 0)
			have += n;
		if (have == BYTES && outbuf_empty(out))
			return 0;
		assert_true(have < BYTES);
		ours = true;
		res = outbuf_flush(out, &r->chan, &n);
		ours = false;
	}
	return -1;
}

/* True: it was over before the n-th allocation. */
static bool
session(struct rig *r, unsigned long n, bool as_client)
{
	struct outbuf out = {0};
	bool unused;

	left = n;
	if (begin(r, as_client) == 0 && shake(r) == 0 && hear(r) == 0)
		(void)say(r, &out);
	ours = true;
	(void)chan_shutdown(&r->chan);
	chan_close(&r->chan);
	ours = false;
	unused = left > 0;
	left = 0;
	outbuf_free(&out);
	rig_hang_up(r);
	rig_open_chan(r);
	return unused;
}

static void
session_when_memory_fails_then_ends_with_an_error(void **state)
{
	for (int as_client = 0; as_client < 2; as_client++)
		for (unsigned long n = 1; !session(*state, n, as_client);
		     n += STRIDE)
			;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		session_when_memory_fails_then_ends_with_an_error, rig_setup,
		rig_teardown),
	};

	if (!CRYPTO_set_mem_functions(lean_alloc, lean_realloc, lean_free))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
