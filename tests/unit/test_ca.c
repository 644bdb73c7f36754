/* SPDX-License-Identifier: MIT */
#include "mint_rig.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/ca.h"
#include "edge/mint.h"

/* --- files, in a directory of their own ----------------------------------- */

static const struct rig_ext plain[] = {RIG_CA_EXTS, {0, NULL}};

static int
enter_folder(void **state)
{
	static char dir[64];

	(void)snprintf(dir, sizeof(dir), "/tmp/test_ca.XXXXXX");
	*state = dir;
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int
leave_folder(void **state)
{
	static const char *const names[] = {"key", "cert", "both", "other",
	    "fifo", "huge", "empty", "locked", "link", "text"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(names[i]);
	return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1;
}

static FILE *
create(const char *name, mode_t mode)
{
	FILE *f = fopen(name, "a");

	assert_non_null(f);
	assert_int_equal(fchmod(fileno(f), mode), 0);
	return f;
}

static void
put_key(const char *name, mode_t mode, EVP_PKEY *key)
{
	FILE *f = create(name, mode);

	assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL,
			     NULL),
	    1);
	assert_int_equal(fclose(f), 0);
}

static void
put_cert(const char *name, X509 *cert)
{
	FILE *f = create(name, 0644);

	assert_int_equal(PEM_write_X509(f, cert), 1);
	assert_int_equal(fclose(f), 0);
}

static void
put_text(const char *name, mode_t mode, const char *text)
{
	FILE *f = create(name, mode);

	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void
assert_key_refused(const char *path, const char *expected)
{
	struct ca_problem problem = {""};
	EVP_PKEY *key = NULL;

	assert_int_equal(ca_load_key(path, &key, &problem), -1);
	assert_null(key);
	assert_string_equal(problem.text, expected);
	assert_int_equal(ERR_peek_error(), 0);
}

static void
assert_key_good(const char *path, EVP_PKEY *expected)
{
	struct ca_problem problem = {""};
	EVP_PKEY *key = NULL;

	if (ca_load_key(path, &key, &problem) < 0)
		fail_msg("%s", problem.text);
	assert_int_equal(EVP_PKEY_eq(key, expected), 1);
	EVP_PKEY_free(key);
}

static void
key_when_only_its_owner_reads_it_then_good(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	(void)state;
	put_key("key", 0600, key);
	assert_key_good("key", key);
	assert_int_equal(symlink("key", "link"), 0);
	assert_key_good("link", key);
	assert_int_equal(chmod("key", 0400), 0);
	assert_key_good("key", key);
	EVP_PKEY_free(key);
}

static void
key_when_others_can_use_it_then_refused(void **state)
{
	static const mode_t modes[] = {0604, 0602, 0601, 0660, 0644, 0777};
	EVP_PKEY *key = EVP_EC_gen("P-256");

	(void)state;
	put_key("key", 0600, key);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		char expected[200];

		assert_int_equal(chmod("key", modes[i]), 0);
		(void)snprintf(expected, sizeof(expected),
		    "key: its mode is %04o, so others than its owner can use "
		    "this private key: chmod 600 key",
		    (unsigned)modes[i]);
		assert_key_refused("key", expected);
	}
	EVP_PKEY_free(key);
}

static void
key_when_group_reads_it_then_good_of_root_only(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	(void)state;
	put_key("key", 0640, key);
	if (geteuid() == 0) {
		assert_key_good("key", key);
		assert_int_equal(chown("key", 1, (gid_t)-1), 0);
		assert_int_equal(chmod("key", 0640), 0);
	}
	assert_key_refused("key",
	    "key: its mode is 0640, so others than its owner can use this "
	    "private key: chmod 600 key");
	EVP_PKEY_free(key);
}

static void
key_when_encrypted_then_says_what_to_do(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	FILE *f = create("locked", 0600);
	FILE *g = create("other", 0600);
	BIO *bio;

	(void)state;
	assert_int_equal(PEM_write_PKCS8PrivateKey(f, key, EVP_aes_128_cbc(),
			     "secret", 6, NULL, NULL),
	    1);
	assert_int_equal(fclose(f), 0);
	assert_key_refused("locked",
	    "locked: the private key is encrypted, and there is nobody to ask "
	    "for its password: openssl pkey -in locked -out NEW, with mode "
	    "0600");
	bio = BIO_new_fp(g, BIO_CLOSE);
	assert_int_equal(PEM_write_bio_PrivateKey_traditional(bio, key,
			     EVP_aes_128_cbc(), (unsigned char *)"secret", 6,
			     NULL, NULL),
	    1);
	assert_int_equal(BIO_free(bio), 1);
	assert_key_refused("other",
	    "other: the private key is encrypted, and there is nobody to ask "
	    "for its password: openssl pkey -in other -out NEW, with mode "
	    "0600");
	EVP_PKEY_free(key);
}

static void
key_when_file_is_no_file_then_says_so(void **state)
{
	(void)state;
	assert_key_refused("nothing", "nothing: No such file or directory");
	assert_key_refused(".", ".: not a regular file");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_key_refused("fifo", "fifo: not a regular file");
	put_text("empty", 0600, "");
	assert_key_refused("empty", "empty: no private key in PEM here");
	put_text("text", 0600,
	    "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n"
	    "-----END PRIVATE KEY-----\n");
	assert_key_refused("text", "text: no private key in PEM here");
	put_text("huge", 0600, "");
	assert_int_equal(truncate("huge", 300000), 0);
	assert_key_refused("huge", "huge: too large");
}

static void
key_when_there_is_no_memory_then_says_so(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");

	(void)state;
	put_key("key", 0600, key);
	mem_fail_at(1, false);
	assert_key_refused("key", "key: out of memory");
	mem_fail_at(0, false);
	EVP_PKEY_free(key);
}

/* --- pairs ---------------------------------------------------------------- */

static void
pair_when_in_one_file_or_two_then_both(void **state)
{
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	static const char *const paths[][2] = {{"cert", "key"},
	    {"both", "both"}};

	(void)state;
	put_key("key", 0600, ca.key);
	put_cert("cert", ca.cert);
	put_key("both", 0600, ca.key);
	put_cert("both", ca.cert);
	assert_int_equal(chmod("both", 0600), 0);
	for (int i = 0; i < 2; i++) {
		struct ca_problem problem = {""};
		X509 *cert = NULL;
		EVP_PKEY *key = NULL;

		if (ca_load(paths[i][0], paths[i][1], &cert, &key, &problem) <
		    0)
			fail_msg("%s", problem.text);
		assert_int_equal(X509_cmp(cert, ca.cert), 0);
		assert_int_equal(EVP_PKEY_eq(key, ca.key), 1);
		X509_free(cert);
		EVP_PKEY_free(key);
	}
	rig_ca_free(&ca);
}

static void
pair_when_one_is_wrong_then_says_which(void **state)
{
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), plain);
	EVP_PKEY *other = EVP_EC_gen("P-256");
	static const struct {
		const char *cert, *key, *why;
	} rows[] = {
	    {"cert", "other", "other: not the key of the certificate in cert"},
	    {"key", "key", "key: no certificate in PEM here"},
	    {"cert", "cert",
		"cert: its mode is 0644, so others than its owner can use "
		"this private key: chmod 600 cert"},
	    {"nothing", "key", "nothing: No such file or directory"},
	};

	(void)state;
	put_key("key", 0600, ca.key);
	put_cert("cert", ca.cert);
	put_key("other", 0600, other);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ca_problem problem = {""};
		X509 *cert = NULL;
		EVP_PKEY *key = NULL;

		assert_int_equal(ca_load(rows[i].cert, rows[i].key, &cert, &key,
				     &problem),
		    -1);
		assert_string_equal(problem.text, rows[i].why);
		assert_true(cert == NULL && key == NULL);
		assert_int_equal(ERR_peek_error(), 0);
	}
	EVP_PKEY_free(other);
	rig_ca_free(&ca);
}

/* --- a CA that is made ---------------------------------------------------- */

#define MAX_HOSTS 4

static X509 *
make(const char *const hosts[MAX_HOSTS], EVP_PKEY *key)
{
	struct ca_spec spec = {.name = "abided CA (test)",
	    .hosts = hosts,
	    .days = 3650};
	struct ca_problem problem = {""};
	X509 *cert;

	while (spec.nhosts < MAX_HOSTS && hosts[spec.nhosts])
		spec.nhosts++;
	cert = ca_make(&spec, key, time(NULL), &problem);
	if (!cert)
		fail_msg("%s", problem.text);
	return cert;
}

static void
assert_ext(X509 *cert, int nid, const unsigned char *der, int n)
{
	int at = X509_get_ext_by_NID(cert, nid, -1);
	const ASN1_OCTET_STRING *data;
	X509_EXTENSION *e;

	assert_true(at >= 0);
	e = X509_get_ext(cert, at);
	data = X509_EXTENSION_get_data(e);
	assert_int_equal(X509_EXTENSION_get_critical(e), 1);
	assert_int_equal(ASN1_STRING_length(data), n);
	assert_memory_equal(ASN1_STRING_get0_data(data), der, (size_t)n);
}

static void
ca_when_made_then_der_is_strict(void **state)
{
	/* CA TRUE is ff: some clients take no other; path length 0. */
	static const unsigned char basic[] = {0x30, 6, 1, 1, 0xff, 2, 1, 0};
	/* keyCertSign and cRLSign, one unused bit */
	static const unsigned char usage[] = {3, 2, 1, 6};
	static const char *const hosts[MAX_HOSTS] = {"a.test"};
	EVP_PKEY *key = ca_make_key();
	X509 *cert = make(hosts, key);
	char line[100] = "";

	(void)state;
	assert_ext(cert, NID_basic_constraints, basic, sizeof(basic));
	assert_ext(cert, NID_key_usage, usage, sizeof(usage));
	assert_int_equal(X509_get_signature_nid(cert), NID_ecdsa_with_SHA256);
	assert_non_null(X509_get0_subject_key_id(cert));
	assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(cert),
			     X509_get0_subject_key_id(cert)),
	    0);
	X509_NAME_oneline(X509_get_subject_name(cert), line, sizeof(line));
	assert_string_equal(line, "/O=abided/CN=abided CA (test)");
	assert_int_equal(X509_self_signed(cert, 1), 1);
	assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(cert)), 20);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void
assert_permits(const char *const hosts[MAX_HOSTS], const char *const *yes,
    const char *const *no)
{
	EVP_PKEY *key = ca_make_key();
	X509 *cert = make(hosts, key);
	const char *why = "";
	struct mint *m = mint_new(cert, key, &why);

	if (!m)
		fail_msg("%s", why);
	for (int good = 0; good < 2; good++) {
		for (const char *const *h = good ? yes : no; *h; h++) {
			X509 *leaf = mint_leaf(m, *h, time(NULL));
			bool is_ip = strchr(*h, ':') || (*h)[0] == '1';
			int error = rig_verify(cert, leaf, *h, is_ip);

			if (mint_permits(m, *h) != (bool)good)
				fail_msg("%s: permits %d", *h, !good);
			if ((error == X509_V_OK) != (bool)good)
				fail_msg("%s: %s", *h,
				    X509_verify_cert_error_string(error));
			X509_free(leaf);
		}
	}
	mint_free(m);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void
ca_when_made_for_hosts_then_permits_no_others(void **state)
{
	static const struct {
		const char *const hosts[MAX_HOSTS];
		const char *const yes[8], *const no[8];
	} rows[] = {
	    {{"API.Example.com"},
		{"api.example.com", "API.example.COM", "eu.api.example.com"},
		{"example.com", "xapi.example.com", "other.test", "localhost",
		    "127.0.0.1", "::1"}},
	    {{"*.example.com:8443", "localhost"},
		{"a.example.com", "a.b.example.com", "localhost"},
		{"example.org", "127.0.0.1", "::1"}},
	    {{"127.0.0.1"}, {"127.0.0.1"},
		{"127.0.0.2", "::1", "::ffff:127.0.0.1", "localhost",
		    "a.test"}},
	    {{"[2001:DB8:0::1]:443"}, {"2001:db8::1"},
		{"2001:db8::2", "127.0.0.1", "localhost"}},
	    {{"127.0.0.1", "[::1]", "a.test"}, {"127.0.0.1", "::1", "a.test"},
		{"127.0.0.2", "::2", "b.test"}},
	    {{"*"}, {"127.0.0.1", "::1", "any.example.com", "com"}, {NULL}},
	    {{"a.test", "*"}, {"b.test", "10.0.0.1"}, {NULL}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_permits(rows[i].hosts, rows[i].yes, rows[i].no);
}

static void
ca_when_asked_about_patterns_then_permits_what_they_are_about(void **state)
{
	static const struct {
		const char *pattern;
		bool some, any; /* for a CA of some hosts, and of all */
	} rows[] = {
	    {"api.test", true, true},
	    {"x.API.test:443", true, true},
	    {"*.api.test", true, true},
	    {"10.0.0.1:8443", true, true},
	    {"[fd00::1]:443", true, true},
	    {"test", false, true},
	    {"*.test", false, true},
	    {"10.0.0.2", false, true},
	    {"[fd00::2]", false, true},
	    {"*", false, true},
	    {"a..b", false, false},
	};
	static const char *const some[MAX_HOSTS] = {"api.test", "10.0.0.1",
	    "[fd00::1]"};
	static const char *const any[MAX_HOSTS] = {"*"};
	EVP_PKEY *key = ca_make_key();

	(void)state;
	for (int all = 0; all < 2; all++) {
		X509 *cert = make(all ? any : some, key);
		const char *why = "";
		struct mint *m = mint_new(cert, key, &why);

		assert_non_null(m);
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			if (mint_permits_pattern(m, rows[i].pattern) !=
			    (all ? rows[i].any : rows[i].some))
				fail_msg("%s", rows[i].pattern);
		}
		mint_free(m);
		X509_free(cert);
	}
	EVP_PKEY_free(key);
}

static void
ca_when_hosts_repeat_then_each_is_permitted_once(void **state)
{
	static const char *const hosts[MAX_HOSTS] = {"eu.api.test",
	    "*.API.test", "api.test", "xapi.test:80"};
	EVP_PKEY *key = ca_make_key();
	X509 *cert = make(hosts, key);
	NAME_CONSTRAINTS *nc =
	    X509_get_ext_d2i(cert, NID_name_constraints, NULL, NULL);

	(void)state;
	assert_non_null(nc);
	assert_int_equal(sk_GENERAL_SUBTREE_num(nc->permittedSubtrees), 2);
	for (int i = 0; i < 2; i++) {
		GENERAL_SUBTREE *tree =
		    sk_GENERAL_SUBTREE_value(nc->permittedSubtrees, i);
		const char *expected = i == 0 ? "api.test" : "xapi.test";

		assert_int_equal(tree->base->type, GEN_DNS);
		assert_int_equal(ASN1_STRING_length(tree->base->d.dNSName),
		    strlen(expected));
		assert_memory_equal(ASN1_STRING_get0_data(
					tree->base->d.dNSName),
		    expected, strlen(expected));
	}
	NAME_CONSTRAINTS_free(nc);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void
assert_no_ca(struct ca_spec spec, EVP_PKEY *key, const char *expected)
{
	struct ca_problem problem = {""};

	assert_null(ca_make(&spec, key, time(NULL), &problem));
	assert_string_equal(problem.text, expected);
	assert_int_equal(ERR_peek_error(), 0);
}

static void
ca_when_asked_for_nonsense_then_says_what_is_wrong(void **state)
{
	static const char *const good[] = {"a.test"};
	static const char *const bad[] = {"a.test", "a..test"};
	EVP_PKEY *key = ca_make_key();
	struct ca_spec spec = {.name = "x",
	    .hosts = good,
	    .nhosts = 1,
	    .days = 1};
	struct ca_spec s = spec;
	char name[66] = "";

	(void)state;
	s.nhosts = 0;
	assert_no_ca(s, key, "a CA needs hosts that it may sign for");
	s = spec;
	s.days = 0;
	assert_no_ca(s, key, "a CA is valid for 1 to 36500 days");
	s.days = CA_DAYS_MAX + 1;
	assert_no_ca(s, key, "a CA is valid for 1 to 36500 days");
	s = spec;
	s.name = "";
	assert_no_ca(s, key, "the name of a CA has 1 to 64 bytes");
	memset(name, 'n', 65);
	s.name = name;
	assert_no_ca(s, key, "the name of a CA has 1 to 64 bytes");
	s.name = "\xff\xfe";
	assert_no_ca(s, key,
	    "the certificate could not be made: out of memory, or its name is "
	    "no UTF-8");
	s = spec;
	s.hosts = bad;
	s.nhosts = 2;
	assert_no_ca(s, key, "host 'a..test': empty label in the host name");
	mem_fail_at(1, false);
	assert_no_ca(spec, key,
	    "the certificate could not be made: out of memory, or its name is "
	    "no UTF-8");
	mem_fail_at(0, false);
	EVP_PKEY_free(key);
}

static void
ca_when_renewed_then_same_subject_and_old_leaves_verify(void **state)
{
	static const char *const hosts[MAX_HOSTS] = {"a.test", "b.test"};
	struct rig_ca old = rig_ca(EVP_RSA_gen(2048), plain);
	struct ca_spec spec = {.subject = X509_get_subject_name(old.cert),
	    .hosts = hosts,
	    .nhosts = 2,
	    .days = 30};
	struct ca_problem problem = {""};
	X509 *fresh = ca_make(&spec, old.key, time(NULL), &problem);
	const char *why = "";
	struct mint *m = mint_new(old.cert, old.key, &why);
	X509 *leaf;

	(void)state;
	assert_non_null(fresh);
	assert_non_null(m);
	leaf = mint_leaf(m, "a.test", time(NULL));
	assert_int_equal(X509_NAME_cmp(X509_get_subject_name(fresh),
			     X509_get_subject_name(old.cert)),
	    0);
	assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(fresh),
				 X509_get0_serialNumber(old.cert)),
	    0);
	assert_int_equal(rig_verify(fresh, leaf, "a.test", false), X509_V_OK);
	X509_free(leaf);
	mint_free(m);
	X509_free(fresh);
	rig_ca_free(&old);
}

#define in_folder(f) \
	cmocka_unit_test_setup_teardown(f, enter_folder, leave_folder)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    in_folder(key_when_only_its_owner_reads_it_then_good),
	    in_folder(key_when_others_can_use_it_then_refused),
	    in_folder(key_when_group_reads_it_then_good_of_root_only),
	    in_folder(key_when_encrypted_then_says_what_to_do),
	    in_folder(key_when_file_is_no_file_then_says_so),
	    in_folder(key_when_there_is_no_memory_then_says_so),
	    in_folder(pair_when_in_one_file_or_two_then_both),
	    in_folder(pair_when_one_is_wrong_then_says_which),
	    cmocka_unit_test(ca_when_made_then_der_is_strict),
	    cmocka_unit_test(ca_when_made_for_hosts_then_permits_no_others),
	    cmocka_unit_test(
		ca_when_asked_about_patterns_then_permits_what_they_are_about),
	    cmocka_unit_test(ca_when_hosts_repeat_then_each_is_permitted_once),
	    cmocka_unit_test(
		ca_when_asked_for_nonsense_then_says_what_is_wrong),
	    cmocka_unit_test(
		ca_when_renewed_then_same_subject_and_old_leaves_verify),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
