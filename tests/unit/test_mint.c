/* SPDX-License-Identifier: MIT */
#include "mint_rig.h"

#include <pthread.h>
#include <stdio.h>

#include "edge/mint.h"

static const struct rig_ext plain[] = {RIG_CA_EXTS, {0, NULL}};

static struct mint *
good_mint(const struct rig_ca *ca)
{
	const char *why = "";
	struct mint *m = mint_new(ca->cert, ca->key, &why);

	if (!m)
		fail_msg("no mint: %s", why);
	return m;
}

/* --- leaves that verify --------------------------------------------------- */

static const char long_name[] =
    "a-name-that-is-longer-than-the-64-bytes-of-a-common-name."
    "europe-west1.api.example.com";

static void
assert_hosts_verify(const struct rig_ca *ca)
{
	static const struct {
		const char *host;
		bool is_ip;
	} rows[] = {
	    {"api.example.com", false},
	    {"localhost", false},
	    {"my_bucket.s3.example.com", false},
	    {long_name, false},
	    {"127.0.0.1", true},
	    {"::1", true},
	    {"2001:db8::cafe", true},
	};
	struct mint *m = good_mint(ca);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		X509 *leaf = mint_leaf(m, rows[i].host, time(NULL));
		int error;

		assert_non_null(leaf);
		error = rig_verify(ca->cert, leaf, rows[i].host, rows[i].is_ip);
		if (error != X509_V_OK)
			fail_msg("%s: %s", rows[i].host,
			    X509_verify_cert_error_string(error));
		error = rig_verify(ca->cert, leaf, "other.test", false);
		assert_int_equal(error, X509_V_ERR_HOSTNAME_MISMATCH);
		assert_int_equal(X509_check_private_key(leaf, mint_key(m)), 1);
		X509_free(leaf);
	}
	mint_free(m);
}

static void
leaf_when_ca_of_any_key_then_verifies(void **state)
{
	EVP_PKEY *keys[] = {
	    EVP_EC_gen("P-256"),
	    EVP_EC_gen("P-384"),
	    EVP_EC_gen("P-521"),
	    EVP_RSA_gen(2048),
	    EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct rig_ca ca = rig_ca(keys[i], plain);

		assert_hosts_verify(&ca);
		rig_ca_free(&ca);
	}
}

static void
leaf_when_ca_key_is_longer_then_digest_is(void **state)
{
	static const struct {
		const char *curve;
		int nid;
	} rows[] = {
	    {"P-256", NID_ecdsa_with_SHA256},
	    {"P-384", NID_ecdsa_with_SHA384},
	    {"P-521", NID_ecdsa_with_SHA512},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig_ca ca = rig_ca(EVP_EC_gen(rows[i].curve), plain);
		struct mint *m = good_mint(&ca);
		X509 *leaf = mint_leaf(m, "a.test", time(NULL));

		assert_non_null(leaf);
		assert_int_equal(X509_get_signature_nid(leaf), rows[i].nid);
		X509_free(leaf);
		mint_free(m);
		rig_ca_free(&ca);
	}
}

/* --- what a leaf says ----------------------------------------------------- */

static void
leaf_when_made_then_says_what_rfc_5280_wants(void **state)
{
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	struct mint *m = good_mint(&ca);
	X509 *leaf = mint_leaf(m, "api.example.com", time(NULL));
	char cn[80] = "";

	(void)state;
	assert_non_null(leaf);
	assert_int_equal(X509_get_version(leaf), X509_VERSION_3);
	assert_int_equal(X509_check_purpose(leaf, -1, 0), 1);
	assert_int_equal(X509_check_ca(leaf), 0);
	assert_int_equal(X509_get_key_usage(leaf), KU_DIGITAL_SIGNATURE);
	assert_int_equal(X509_get_extended_key_usage(leaf), XKU_SSL_SERVER);
	assert_non_null(X509_get0_subject_key_id(leaf));
	assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(leaf),
			     X509_get0_subject_key_id(ca.cert)),
	    0);
	for (int i = 0; i < X509_get_ext_count(leaf); i++) {
		X509_EXTENSION *e = X509_get_ext(leaf, i);
		int nid = OBJ_obj2nid(X509_EXTENSION_get_object(e));

		assert_int_equal(X509_EXTENSION_get_critical(e),
		    nid == NID_basic_constraints || nid == NID_key_usage);
	}
	assert_int_equal(X509_get_ext_count(leaf), 6);
	assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(leaf),
			NID_commonName, cn, sizeof(cn)) > 0);
	assert_string_equal(cn, "api.example.com");
	X509_free(leaf);
	mint_free(m);
	rig_ca_free(&ca);
}

static void
leaf_when_name_is_no_common_name_then_only_san(void **state)
{
	static const char *const hosts[] = {long_name, "10.1.2.3", "fd00::1"};
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	struct mint *m = good_mint(&ca);

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		X509 *leaf = mint_leaf(m, hosts[i], time(NULL));
		X509_NAME *subject;
		int at;

		assert_non_null(leaf);
		subject = X509_get_subject_name(leaf);
		assert_int_equal(X509_NAME_entry_count(subject), 0);
		at = X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1);
		assert_true(at >= 0);
		assert_int_equal(X509_EXTENSION_get_critical(
				     X509_get_ext(leaf, at)),
		    1);
		X509_free(leaf);
	}
	mint_free(m);
	rig_ca_free(&ca);
}

static void
leaf_when_made_twice_then_serials_differ(void **state)
{
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	struct mint *m = good_mint(&ca);
	ASN1_INTEGER *last = NULL;

	(void)state;
	for (int i = 0; i < 20; i++) {
		X509 *leaf = mint_leaf(m, "a.test", time(NULL));
		const ASN1_INTEGER *serial;

		assert_non_null(leaf);
		serial = X509_get0_serialNumber(leaf);
		assert_int_equal(ASN1_STRING_type(serial), V_ASN1_INTEGER);
		assert_int_equal(ASN1_STRING_length(serial), 20);
		/* A first bit of 1 would need a byte more. */
		assert_true(ASN1_STRING_get0_data(serial)[0] < 0x80);
		if (last)
			assert_int_not_equal(ASN1_INTEGER_cmp(last, serial), 0);
		ASN1_INTEGER_free(last);
		last = ASN1_INTEGER_dup(serial);
		X509_free(leaf);
	}
	ASN1_INTEGER_free(last);
	mint_free(m);
	rig_ca_free(&ca);
}

/* --- validity ------------------------------------------------------------- */

static void
assert_valid(X509 *leaf, int64_t from_s, int64_t until_s)
{
	assert_non_null(leaf);
	assert_int_equal(ASN1_TIME_cmp_time_t(X509_get0_notBefore(leaf),
			     (time_t)from_s),
	    0);
	assert_int_equal(ASN1_TIME_cmp_time_t(X509_get0_notAfter(leaf),
			     (time_t)until_s),
	    0);
	X509_free(leaf);
}

static void
leaf_when_ca_is_long_lived_then_a_week(void **state)
{
	struct rig_ca ca = rig_ca_valid(EVP_EC_gen("P-256"), plain,
	    -9L * RIG_DAY, 99L * RIG_DAY);
	struct mint *m = good_mint(&ca);
	int64_t now_s = time(NULL);

	(void)state;
	assert_valid(mint_leaf(m, "a.test", now_s), now_s - RIG_DAY,
	    now_s + 7 * RIG_DAY);
	mint_free(m);
	rig_ca_free(&ca);
}

static void
leaf_when_ca_is_short_lived_then_within_it(void **state)
{
	struct rig_ca ca =
	    rig_ca_valid(EVP_EC_gen("P-256"), plain, -3600, 2L * RIG_DAY);
	struct mint *m = good_mint(&ca);
	X509 *last = mint_leaf(m, "a.test", time(NULL));

	(void)state;
	assert_non_null(last);
	assert_int_equal(ASN1_TIME_compare(X509_get0_notBefore(last),
			     X509_get0_notBefore(ca.cert)),
	    0);
	assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(last),
			     X509_get0_notAfter(ca.cert)),
	    0);
	X509_free(last);
	assert_null(mint_leaf(m, "a.test", time(NULL) + 3 * RIG_DAY));
	assert_null(mint_leaf(m, "a.test", time(NULL) - 2 * 3600));
	mint_free(m);
	rig_ca_free(&ca);
}

static void
leaf_when_after_2050_then_generalized_time(void **state)
{
	struct rig_ca ca = rig_ca_valid(EVP_EC_gen("P-256"), plain, -RIG_DAY,
	    40L * 365 * RIG_DAY);
	struct mint *m = good_mint(&ca);
	X509 *leaf = mint_leaf(m, "a.test", INT64_C(2556144000)); /* 2051 */

	(void)state;
	assert_non_null(leaf);
	assert_int_equal(ASN1_STRING_type(X509_get0_notAfter(leaf)),
	    V_ASN1_GENERALIZEDTIME);
	assert_valid(leaf, INT64_C(2556144000) - RIG_DAY,
	    INT64_C(2556144000) + 7 * RIG_DAY);
	mint_free(m);
	rig_ca_free(&ca);
}

/* --- hosts ---------------------------------------------------------------- */

static void
leaf_when_host_is_no_host_then_none(void **state)
{
	char label[80] = "", name[300] = "";
	const char *const bad[] = {"", ".", "a..b", ".a", "a.", "*", "*.a.test",
	    "a b", "a/b", "[::1]", "::1%lo", "a:80", "a\n", "caf\xc3\xa9.test",
	    label, name};
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	struct mint *m = good_mint(&ca);

	(void)state;
	memset(label, 'a', 64);
	for (size_t i = 0; i < 127; i++)
		memcpy(name + 2 * i, "a.", 2); /* 254 with its end */
	name[253] = 'b';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (mint_leaf(m, bad[i], time(NULL)))
			fail_msg("\"%s\" has a leaf", bad[i]);
		assert_false(mint_permits(m, bad[i]));
	}
	label[63] = '\0';
	name[253] = '\0';
	name[252] = 'b';
	assert_true(mint_permits(m, label));
	assert_true(mint_permits(m, name));
	mint_free(m);
	rig_ca_free(&ca);
}

static void
permits_when_names_are_constrained_then_only_those(void **state)
{
	static const struct rig_ext exts[] = {RIG_CA_EXTS,
	    {NID_name_constraints,
		"critical,permitted;DNS:api.example.com,"
		"permitted;IP:10.0.0.1/255.255.255.255,"
		"excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0"},
	    {0, NULL}};
	static const struct {
		const char *host;
		bool yes, is_ip;
	} rows[] = {
	    {"api.example.com", true, false},
	    {"eu.api.example.com", true, false},
	    {"API.Example.COM", true, false},
	    {"example.com", false, false},
	    {"xapi.example.com", false, false},
	    {"api.example.com.evil.test", false, false},
	    {"10.0.0.1", true, true},
	    {"10.0.0.2", false, true},
	    {"::1", false, true},
	};
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), exts);
	struct mint *m = good_mint(&ca);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *host = rows[i].host;
		X509 *leaf = mint_leaf(m, host, time(NULL));
		int error;

		assert_non_null(leaf);
		error = rig_verify(ca.cert, leaf, host, rows[i].is_ip);
		if (mint_permits(m, host) != rows[i].yes)
			fail_msg("%s: %d", host, rows[i].yes);
		if ((error == X509_V_OK) != rows[i].yes)
			fail_msg("%s: %s", host,
			    X509_verify_cert_error_string(error));
		X509_free(leaf);
	}
	mint_free(m);
	rig_ca_free(&ca);
}

/* --- CAs that are none ---------------------------------------------------- */

static void
assert_refused(struct rig_ca ca, EVP_PKEY *key, const char *expected)
{
	const char *why = "";

	assert_null(mint_new(ca.cert, key, &why));
	assert_string_equal(why, expected);
	assert_int_equal(ERR_peek_error(), 0);
	rig_ca_free(&ca);
}

static void
mint_when_ca_is_unfit_then_says_why(void **state)
{
	static const struct rig_ext none[] = {{0, NULL}};
	static const struct rig_ext leaf[] = {{NID_basic_constraints,
						  "critical,CA:FALSE"},
	    {0, NULL}};
	static const struct rig_ext usage[] = {{NID_basic_constraints,
						   "critical,CA:TRUE"},
	    {NID_key_usage, "critical,digitalSignature"}, {0, NULL}};
	static const struct rig_ext bare[] = {{NID_basic_constraints,
						  "CA:TRUE"},
	    {0, NULL}};
	const char *no_ca = "the certificate is not a CA's (basicConstraints)";
	EVP_PKEY *other = EVP_EC_gen("P-256"), *key;
	struct rig_ca ca;

	(void)state;
	ca = rig_ca(EVP_EC_gen("P-256"), none);
	assert_refused(ca, ca.key, no_ca);
	ca = rig_ca(EVP_EC_gen("P-256"), leaf);
	assert_refused(ca, ca.key, no_ca);
	ca = rig_ca(EVP_EC_gen("P-256"), usage);
	assert_refused(ca, ca.key,
	    "the CA may not sign certificates (keyUsage)");
	ca = rig_ca(EVP_EC_gen("P-256"), plain);
	assert_refused(ca, other,
	    "the key does not belong to the CA's certificate");
	key = EVP_EC_gen("P-256");
	ca = rig_ca_valid(key, plain, 3600, 7200);
	assert_refused(ca, key, "the CA's certificate is not valid yet");
	key = EVP_EC_gen("P-256");
	ca = rig_ca_valid(key, plain, -7200, -3600);
	assert_refused(ca, key, "the CA's certificate has expired");
	ca = rig_ca(EVP_EC_gen("P-256"), bare); /* no keyUsage: all uses */
	mint_free(good_mint(&ca));
	rig_ca_free(&ca);
	EVP_PKEY_free(other);
}

static void
mint_when_freed_then_ca_and_leaf_live_on(void **state)
{
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	struct mint *m = good_mint(&ca);
	X509 *leaf = mint_leaf(m, "a.test", time(NULL));

	(void)state;
	assert_ptr_equal(mint_ca(m), ca.cert);
	mint_free(m);
	mint_free(NULL);
	assert_int_equal(rig_verify(ca.cert, leaf, "a.test", false), X509_V_OK);
	X509_free(leaf);
	rig_ca_free(&ca);
}

/* --- threads -------------------------------------------------------------- */

#define THREADS 4

static void *
mint_some(void *m)
{
	size_t good = 0;

	for (int i = 0; i < 50; i++) {
		char host[32];
		X509 *leaf;

		(void)snprintf(host, sizeof(host), "h%d.test", i);
		leaf = mint_leaf(m, host, time(NULL));
		good += leaf != NULL && mint_permits(m, host);
		X509_free(leaf);
	}
	return (void *)good;
}

static void
mint_when_shared_by_threads_then_all_have_leaves(void **state)
{
	static const struct rig_ext exts[] = {RIG_CA_EXTS,
	    {NID_name_constraints, "critical,permitted;DNS:test"}, {0, NULL}};
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), exts);
	struct mint *m = good_mint(&ca);
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mint_some,
				     m),
		    0);
	for (int i = 0; i < THREADS; i++) {
		void *good;

		assert_int_equal(pthread_join(threads[i], &good), 0);
		assert_int_equal((size_t)good, 50);
	}
	mint_free(m);
	rig_ca_free(&ca);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(leaf_when_ca_of_any_key_then_verifies),
	    cmocka_unit_test(leaf_when_ca_key_is_longer_then_digest_is),
	    cmocka_unit_test(leaf_when_made_then_says_what_rfc_5280_wants),
	    cmocka_unit_test(leaf_when_name_is_no_common_name_then_only_san),
	    cmocka_unit_test(leaf_when_made_twice_then_serials_differ),
	    cmocka_unit_test(leaf_when_ca_is_long_lived_then_a_week),
	    cmocka_unit_test(leaf_when_ca_is_short_lived_then_within_it),
	    cmocka_unit_test(leaf_when_after_2050_then_generalized_time),
	    cmocka_unit_test(leaf_when_host_is_no_host_then_none),
	    cmocka_unit_test(
		permits_when_names_are_constrained_then_only_those),
	    cmocka_unit_test(mint_when_ca_is_unfit_then_says_why),
	    cmocka_unit_test(mint_when_freed_then_ca_and_leaf_live_on),
	    cmocka_unit_test(mint_when_shared_by_threads_then_all_have_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
