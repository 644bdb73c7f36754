/* SPDX-License-Identifier: MIT */
#include "tls_rig.h"

#include <stdio.h>

#include "edge/leaf.h"

#define NOW rig_now()

static struct leafs leafs;
static struct tls_set set;
static const struct hash_key key = {1, 2};

static int
setup(void **state)
{
	struct rig *r;

	if (rig_setup(state) < 0)
		return -1;
	r = *state;
	set = (struct tls_set){.id = 1,
	    .min_version = TLS1_2_VERSION,
	    .mint = r->mint};
	return leafs_init(&leafs);
}

static int
teardown(void **state)
{
	leafs_free(&leafs);
	return rig_teardown(state);
}

static SSL_CTX *
get(const char *host, int64_t now_s)
{
	return leafs_get(&leafs, &set, &key, host, now_s);
}

/* The serial number of the certificate: of 159 random bits, so it tells one
 * minting from another where pointers may be the same again. */
static uint64_t
serial(const char *host, int64_t now_s)
{
	SSL_CTX *ctx = get(host, now_s);
	ASN1_OCTET_STRING *n;
	uint64_t out;

	assert_non_null(ctx);
	n = X509_get_serialNumber(SSL_CTX_get0_certificate(ctx));
	assert_true(n->length >= 8);
	memcpy(&out, n->data + n->length - 8, 8);
	return out;
}

/* --- which are kept --------------------------------------------------------- */

static void
leaf_when_asked_for_again_then_is_the_same(void **state)
{
	uint64_t a = serial("a.test", NOW), b = serial("b.test", NOW);

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(serial("a.test", NOW), a);
	assert_int_equal(serial("b.test", NOW + 60), b);
	assert_int_equal(leafs.n, 2);
}

static void
leaf_when_half_of_its_life_is_over_then_is_made_anew(void **state)
{
	int64_t at = NOW;
	uint64_t a = serial("a.test", at);

	(void)state;
	assert_int_equal(serial("a.test", at + MINT_RENEW_S - 1), a);
	assert_int_not_equal(serial("a.test", at + MINT_RENEW_S), a);
	assert_int_equal(leafs.n, 1);
}

/* Made while the clock was wrong: it may not be valid yet. */
static void
leaf_when_the_clock_went_back_then_is_made_anew(void **state)
{
	int64_t at = NOW + 1000;
	uint64_t a = serial("a.test", at);

	(void)state;
	assert_int_equal(serial("a.test", at), a);
	assert_int_not_equal(serial("a.test", at - 1), a);
	assert_int_equal(leafs.n, 1);
}

static void
leaf_when_the_authority_changed_then_all_are_made_anew(void **state)
{
	uint64_t a = serial("a.test", NOW), b = serial("b.test", NOW);

	(void)state;
	set.id = 2;
	assert_int_not_equal(serial("a.test", NOW), a);
	assert_int_equal(leafs.n, 1);
	assert_int_not_equal(serial("b.test", NOW), b);
}

static void
leaf_when_there_are_too_many_then_the_one_unused_longest_goes(void **state)
{
	int64_t at = NOW;
	uint64_t used = serial("used.test", at), idle = serial("idle.test", at);
	char host[32];

	(void)state;
	for (int i = 0; i < LEAF_MAX - 2; i++) {
		(void)snprintf(host, sizeof(host), "h%d.test", i);
		(void)serial(host, at);
	}
	assert_int_equal(leafs.n, LEAF_MAX);
	assert_int_equal(serial("used.test", at), used);
	(void)serial("new.test", at);
	assert_int_equal(leafs.n, LEAF_MAX);
	assert_int_equal(serial("used.test", at), used);
	assert_int_not_equal(serial("idle.test", at), idle);
	assert_int_equal(leafs.n, LEAF_MAX);
}

static void
leaf_when_no_certificate_can_be_then_is_none(void **state)
{
	(void)state;
	assert_null(get("a b.test", NOW));
	assert_null(get("", NOW));
	assert_null(get("a.test", NOW + INT64_C(20) * 365 * RIG_DAY));
	assert_int_equal(leafs.n, 0);
	assert_non_null(get("a.test", NOW));
}

static void
leaf_when_memory_fails_then_is_none_and_later_is(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 50; n++) {
		SSL_CTX *ctx;

		mem_fail_at(n, false);
		ctx = get("a.test", NOW);
		mem_fail_at(0, false);
		assert_int_equal(leafs.n, ctx != NULL);
		assert_non_null(get("a.test", NOW));
		set.id++;
	}
}

/* --- who may have one --------------------------------------------------------- */

/* A handshake of a client that asks for `sni` with us as `host`. */
static int
shake(struct rig *r, const char *host, const char *sni)
{
	struct span none = {NULL, 0};
	SSL_CTX *ctx = get(host, NOW);
	int res;

	assert_non_null(ctx);
	rig_peer(r, false);
	assert_int_equal(SSL_set1_host(r->peer, NULL), 1);
	assert_int_equal(SSL_set_tlsext_host_name(r->peer, sni), 1);
	assert_int_equal(tls_accept(&r->chan, ctx, none), 0);
	tls_set_owner(r->chan.tls, (void *)host);
	res = rig_handshake(r, RIG_BYTES);
	chan_close(&r->chan);
	rig_hang_up(r);
	rig_open_chan(r);
	return res;
}

static void
sni_when_of_that_host_then_is_served(void **state)
{
	static const char *const rows[][2] = {
	    {"api.test", "api.test"},
	    {"api.test", "API.Test"},
	    {"api.test", "api.test."},
	    {"api.test", NULL},
	    {"127.0.0.1", NULL},
	    {"::1", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(shake(*state, rows[i][0], rows[i][1]), 0);
}

static void
sni_when_of_another_host_then_is_refused(void **state)
{
	static const char *const names[] = {"www.test", "api.test.evil",
	    "api.tesx", "api.tes", "xapi.test", "pi.test", "api.test..", "."};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(shake(*state, "api.test", names[i]),
		    CHAN_ERROR);
}

/* A context that is thrown out meanwhile serves the handshake to its end. */
static void
handshake_when_its_leaf_is_thrown_out_then_goes_on(void **state)
{
	struct rig *r = *state;
	struct span none = {NULL, 0};
	char host[] = RIG_HOST;

	rig_peer(r, false);
	assert_int_equal(tls_accept(&r->chan, get(host, NOW), none), 0);
	tls_set_owner(r->chan.tls, host);
	(void)SSL_do_handshake(r->peer);
	(void)rig_deliver(r, 60);
	assert_int_equal(tls_handshake(r->chan.tls), CHAN_AGAIN);
	leafs_free(&leafs);
	assert_int_equal(leafs_init(&leafs), 0);
	assert_int_equal(rig_handshake(r, RIG_BYTES), 0);
	assert_int_equal(X509_check_host(SSL_get0_peer_certificate(r->peer),
			     RIG_HOST, 0, 0, NULL),
	    1);
}

/* --- tickets ----------------------------------------------------------------- */

static SSL_SESSION *got_ticket;

static int
keep_ticket(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl;
	SSL_SESSION_free(got_ticket);
	got_ticket = s;
	return 1;
}

static bool
resumes(struct rig *r, struct leafs *l, const char *host, int version)
{
	struct span none = {NULL, 0};
	SSL_CTX *ctx = leafs_get(l, &set, &key, host, NOW);
	bool again;
	int err;

	SSL_CTX_set_session_cache_mode(r->client,
	    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(r->client, keep_ticket);
	rig_peer(r, false);
	assert_int_equal(SSL_set1_host(r->peer, NULL), 1);
	assert_int_equal(SSL_set_tlsext_host_name(r->peer, host), 1);
	assert_int_equal(SSL_set_max_proto_version(r->peer, version), 1);
	if (got_ticket)
		assert_int_equal(SSL_set_session(r->peer, got_ticket), 1);
	assert_int_equal(tls_accept(&r->chan, ctx, none), 0);
	tls_set_owner(r->chan.tls, (void *)host);
	assert_int_equal(rig_handshake(r, RIG_BYTES), 0);
	(void)rig_peer_reads(r, r->seen, 9, &err);
	/* Else OpenSSL takes the session for a bad one. */
	SSL_set_shutdown(r->peer, SSL_SENT_SHUTDOWN);
	again = tls_resumed(r->chan.tls);
	chan_close(&r->chan);
	rig_hang_up(r);
	rig_open_chan(r);
	return again;
}

static void
ticket_when_of_that_host_then_any_worker_takes_it(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	struct leafs other;

	assert_int_equal(leafs_init(&other), 0);
	for (int i = 0; i < 2; i++) {
		assert_false(resumes(*state, &leafs, "a.test", versions[i]));
		assert_non_null(got_ticket);
		assert_true(resumes(*state, &other, "a.test", versions[i]));
		assert_true(resumes(*state, &leafs, "a.test", versions[i]));
		SSL_SESSION_free(got_ticket);
		got_ticket = NULL;
	}
	leafs_free(&other);
}

static void
ticket_when_of_another_host_then_is_none(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	for (int i = 0; i < 2; i++) {
		assert_false(resumes(*state, &leafs, "a.test", versions[i]));
		assert_non_null(got_ticket);
		assert_false(resumes(*state, &leafs, "b.test", versions[i]));
		SSL_SESSION_free(got_ticket);
		got_ticket = NULL;
	}
}

/* --- the chain --------------------------------------------------------------- */

/* Clients have a root; a CA below one must be shown to them. */
static void
chain_when_the_authority_is_a_root_then_is_empty(void **state)
{
	STACK_OF(X509) *chain = NULL;

	(void)state;
	SSL_CTX_get0_chain_certs(get("a.test", NOW), &chain);
	assert_int_equal(sk_X509_num(chain) <= 0, 1);
}

static void
chain_when_the_authority_is_below_one_then_has_it(void **state)
{
	static const struct rig_ext exts[] = {RIG_CA_EXTS, {0, NULL}};
	struct rig_ca below = rig_ca(EVP_EC_gen("P-256"), exts);
	X509_NAME *issuer = X509_NAME_new();
	STACK_OF(X509) *chain = NULL;
	const char *why = "";

	(void)state;
	assert_int_equal(X509_NAME_add_entry_by_txt(issuer, "CN", MBSTRING_ASC,
			     (const unsigned char *)"a root", -1, -1, 0),
	    1);
	assert_int_equal(X509_set_issuer_name(below.cert, issuer), 1);
	set.mint = mint_new(below.cert, below.key, &why);
	assert_non_null(set.mint);
	SSL_CTX_get0_chain_certs(get("a.test", NOW), &chain);
	assert_int_equal(sk_X509_num(chain), 1);
	assert_int_equal(X509_cmp(sk_X509_value(chain, 0), below.cert), 0);
	mint_free(set.mint);
	X509_NAME_free(issuer);
	rig_ca_free(&below);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    T(leaf_when_asked_for_again_then_is_the_same),
	    T(leaf_when_half_of_its_life_is_over_then_is_made_anew),
	    T(leaf_when_the_clock_went_back_then_is_made_anew),
	    T(leaf_when_the_authority_changed_then_all_are_made_anew),
	    T(leaf_when_there_are_too_many_then_the_one_unused_longest_goes),
	    T(leaf_when_no_certificate_can_be_then_is_none),
	    T(leaf_when_memory_fails_then_is_none_and_later_is),
	    T(sni_when_of_that_host_then_is_served),
	    T(sni_when_of_another_host_then_is_refused),
	    T(handshake_when_its_leaf_is_thrown_out_then_goes_on),
	    T(ticket_when_of_that_host_then_any_worker_takes_it),
	    T(ticket_when_of_another_host_then_is_none),
	    T(chain_when_the_authority_is_a_root_then_is_empty),
	    T(chain_when_the_authority_is_below_one_then_has_it),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
