/* SPDX-License-Identifier: MIT */
#include "mint_rig.h"

#include "conf_rig.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/tls_set.h"

/* Files of one directory, which a text names with @. */
static char dir[] = "/tmp/abided-tls-set-XXXXXX";
static const char *const names[] = {"ca.pem", "ca.key", "old.pem", "old.key",
    "few.pem", "few.key", "ec.pem", "ec.key", "other.key", "rsa.key",
    "open.key", "locked.key", "noise", "empty", "both.pem"};

static const char *
path_of(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static FILE *
create(const char *name, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, mode);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	assert_non_null(f);
	return f;
}

static void
write_text(const char *name, const char *text)
{
	FILE *f = create(name, 0644);

	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void
write_key(const char *name, EVP_PKEY *key, mode_t mode, const char *password)
{
	FILE *f = create(name, mode);

	assert_int_equal(PEM_write_PKCS8PrivateKey(f, key,
			     password ? EVP_aes_128_cbc() : NULL, NULL, 0, NULL,
			     (void *)password),
	    1);
	assert_int_equal(fclose(f), 0);
}

static void
write_pair(const char *cert, const char *key, const struct rig_ca *ca)
{
	FILE *f = create(cert, 0644);

	assert_int_equal(PEM_write_X509(f, ca->cert), 1);
	assert_int_equal(fclose(f), 0);
	if (key)
		write_key(key, ca->key, 0600, NULL);
}

static int
group_setup(void **state)
{
	static const struct rig_ext ca_exts[] = {RIG_CA_EXTS, {0, NULL}};
	static const struct rig_ext few_exts[] = {RIG_CA_EXTS,
	    {NID_name_constraints, "critical,permitted;DNS:few.test"},
	    {0, NULL}};
	static const struct rig_ext leaf_exts[] = {{0, NULL}};
	struct rig_ca ca = rig_ca(EVP_EC_gen("P-256"), ca_exts);
	struct rig_ca old = rig_ca_valid(EVP_EC_gen("P-256"), ca_exts,
	    -30L * RIG_DAY, -RIG_DAY);
	struct rig_ca few = rig_ca(EVP_EC_gen("P-256"), few_exts);
	struct rig_ca ec = rig_ca(EVP_EC_gen("P-256"), leaf_exts);
	EVP_PKEY *other = EVP_EC_gen("P-256"), *rsa = EVP_RSA_gen(2048);
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_pair("ca.pem", "ca.key", &ca);
	write_pair("old.pem", "old.key", &old);
	write_pair("few.pem", "few.key", &few);
	write_pair("ec.pem", "ec.key", &ec);
	write_key("other.key", other, 0600, NULL);
	write_key("rsa.key", rsa, 0600, NULL);
	write_key("open.key", ec.key, 0644, NULL);
	assert_int_equal(chmod(path_of("open.key"), 0644), 0);
	write_key("locked.key", ec.key, 0600, "secret");
	write_text("noise", "this is no PEM\n");
	write_text("empty", "");
	f = create("both.pem", 0600);
	assert_int_equal(PEM_write_X509(f, ec.cert), 1);
	assert_int_equal(PEM_write_PKCS8PrivateKey(f, ec.key, NULL, NULL, 0,
			     NULL, NULL),
	    1);
	assert_int_equal(fclose(f), 0);
	rig_ca_free(&ca);
	rig_ca_free(&old);
	rig_ca_free(&few);
	rig_ca_free(&ec);
	EVP_PKEY_free(other);
	EVP_PKEY_free(rsa);
	return 0;
}

static int
group_teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlink(path_of(names[i]));
	return rmdir(dir);
}

/* The text with the directory for each @. */
static char *
expand(const char *text)
{
	struct strbuf b;

	strbuf_init(&b, 8192);
	for (; *text; text++)
		if (*text == '@')
			strbuf_span(&b, span_of(dir));
		else
			strbuf_char(&b, *text);
	strbuf_char(&b, '\0');
	assert_false(b.failed);
	return b.p;
}

static struct conf *
load(const char *text, struct conf_problems *p, int *ret_res)
{
	char *full = expand(text);
	struct conf *c = rig_good(full);

	mem_free(full);
	*ret_res = tls_set_load(c, p);
	return c;
}

static struct conf *
good(const char *text)
{
	struct conf_problems p = {.n = 0};
	int res;
	struct conf *c = load(text, &p, &res);

	if (p.n > 0)
		print_error("%s\n", p.v[0]);
	assert_int_equal(res, 0);
	assert_int_equal(p.n, 0);
	conf_problems_free(&p);
	return c;
}

/* --- what is wrong with a file ---------------------------------------------- */

struct wrong {
	const char *text;
	const char *says[3]; /* of the one problem */
};

static void
assert_wrong(const struct wrong *w)
{
	struct conf_problems p = {.n = 0};
	int res;
	struct conf *c = load(w->text, &p, &res);

	if (res == 0 || p.n != 1)
		fail_msg("%s: %d, %zu problems", w->text, res, p.n);
	for (size_t i = 0; i < 3 && w->says[i]; i++) {
		char *says = expand(w->says[i]);

		if (!strstr(p.v[0], says))
			fail_msg("not '%s': %s", says, p.v[0]);
		mem_free(says);
	}
	assert_null(strchr(p.v[0], '\n'));
	conf_problems_free(&p);
	conf_unref(c);
}

#define CA(cert, key) "[tls]\nca_cert = @/" cert "\nca_key = @/" key "\n"
#define LISTEN(cert, key) \
	"[tls]\nlisten_cert = @/" cert "\nlisten_key = @/" key "\n"
#define CLIENT(cert, key) \
	"[service a]\nhosts = a.test\nupstream_cert = @/" cert "\n" \
	"upstream_key = @/" key "\n"

static void
file_when_it_is_no_good_then_one_problem_says_why(void **state)
{
	static const struct wrong rows[] = {
	    {CA("gone", "ca.key"), {"f:2: ca_cert", "@/gone: No such file"}},
	    {CA("ca.pem", "gone"), {"ca_key", "@/gone: No such file"}},
	    {CA("noise", "ca.key"), {"@/noise: no certificate in PEM"}},
	    {CA("ca.pem", "noise"), {"@/noise: ", "0644", "chmod 600"}},
	    {CA("ca.pem", "empty"), {"@/empty"}},
	    {CA("ca.pem", "other.key"), {"@/other.key: not the key"}},
	    {CA("ca.pem", "rsa.key"), {"@/rsa.key: not the key"}},
	    {CA("ca.pem", "open.key"), {"@/open.key: its mode is 0644"}},
	    {CA("ca.pem", "."), {"not a regular file"}},
	    {CA("ec.pem", "ec.key"), {"@/ec.pem", "not a CA", "ca init"}},
	    {CA("old.pem", "old.key"), {"@/old.pem", "expired"}},
	    {CA("few.pem", "few.key") "[service a]\nhosts = few.test, a.test\n"
				      "tls = intercept\n",
		{"@/few.pem: its name constraints", "a.test", "ca renew"}},
	    {LISTEN("gone", "ec.key"), {"f:2: listen_cert", "No such file"}},
	    {LISTEN("noise", "ec.key"), {"listen_cert: @/noise"}},
	    {LISTEN("ec.pem", "gone"), {"f:3: listen_key: @/gone"}},
	    {LISTEN("ec.pem", "other.key"), {"listen_key: @/other.key"}},
	    {LISTEN("ec.pem", "rsa.key"), {"listen_key: @/rsa.key"}},
	    {LISTEN("ec.pem", "open.key"), {"chmod 600 @/open.key"}},
	    {LISTEN("ec.pem", "locked.key"), {"@/locked.key", "encrypted"}},
	    {CLIENT("gone", "ec.key"), {"f:3: upstream_cert: @/gone"}},
	    {CLIENT("ec.pem", "other.key"),
		{"f:4: upstream_key: @/other.key", "not the key"}},
	    {CLIENT("ec.pem", "rsa.key"),
		{"f:4: upstream_key: @/rsa.key", "not the key"}},
	    {CLIENT("ec.pem", "open.key"), {"chmod 600 @/open.key"}},
	    {"[tls]\nupstream_ca = @/gone\n",
		{"f:2: upstream_ca: @/gone", "No such file"}},
	    {"[tls]\nupstream_ca = @/noise\n", {"upstream_ca: @/noise"}},
	    {"[tls]\nupstream_ca = @/empty\n", {"upstream_ca: @/empty"}},
	    {"[tls]\nupstream_ca = @\n", {"upstream_ca: "}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_wrong(&rows[i]);
}

static void
files_when_several_are_no_good_then_each_is_told(void **state)
{
	struct conf_problems p = {.n = 0};
	int res;
	struct conf *c = load(
	    CA("gone",
		"ca.key") "upstream_ca = @/noise\n"
			  "[service a]\nhosts = a.test\nupstream_ca = @/empty\n",
	    &p, &res);

	(void)state;
	assert_int_equal(res, -1);
	assert_int_equal(p.n, 3);
	conf_problems_free(&p);
	conf_unref(c);
}

/* --- what comes out ---------------------------------------------------------- */

static void
set_when_nothing_is_named_then_holds_no_secret(void **state)
{
	struct conf *c = good("[service a]\nhosts = a.test\n");

	(void)state;
	assert_false(c->tls->secrets);
	assert_null(c->tls->mint);
	assert_null(c->tls->listen);
	assert_int_equal(c->tls->nupstream, 1);
	assert_ptr_equal(c->services[0]->tls_upstream,
	    c->defaults.tls_upstream);
	assert_non_null(tls_upstream_context(c->defaults.tls_upstream));
	assert_ptr_equal(tls_upstream_context(c->defaults.tls_upstream),
	    tls_upstream_context(c->defaults.tls_upstream));
	conf_unref(c);
}

static void
set_when_a_key_is_named_then_is_secret(void **state)
{
	static const char *const texts[] = {CA("ca.pem", "ca.key"),
	    LISTEN("ec.pem", "ec.key"), LISTEN("both.pem", "both.pem"),
	    CLIENT("ec.pem", "ec.key")};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct conf *c = good(texts[i]);

		assert_true(c->tls->secrets);
		assert_int_equal(c->tls->mint != NULL, i == 0);
		assert_int_equal(c->tls->listen != NULL, i == 1 || i == 2);
		conf_unref(c);
	}
}

static void
services_when_their_files_are_the_same_then_share(void **state)
{
	struct conf *c =
	    good("[tls]\nupstream_ca = @/ca.pem\n"
		 "[service a]\nhosts = a.test\n"
		 "[service b]\nhosts = b.test\nupstream_ca = @/ca.pem\n"
		 "[service c]\nhosts = c.test\nupstream_ca = @/few.pem\n"
		 "[service d]\nhosts = d.test\nupstream_cert = @/ec.pem\n"
		 "upstream_key = @/ec.key\n"
		 "[service e]\nhosts = e.test\nupstream_cert = @/ec.pem\n"
		 "upstream_key = @/ec.key\n");
	const struct tls_upstream *of[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		of[i] = c->services[i]->tls_upstream;
	assert_int_equal(c->tls->nupstream, 3);
	assert_ptr_equal(of[0], c->defaults.tls_upstream);
	assert_ptr_equal(of[1], of[0]);
	assert_ptr_not_equal(of[2], of[0]);
	assert_ptr_not_equal(of[3], of[0]);
	assert_ptr_equal(of[4], of[3]);
	assert_true(of[0]->id != of[2]->id && of[2]->id != of[3]->id);
	conf_unref(c);
}

/* Sessions and leaves are kept by them: what was trusted before a reload is
 * nothing to one after it. */
static void
ids_when_loaded_again_then_are_new(void **state)
{
	struct conf *a = good(""), *b;
	uint64_t set = a->tls->id, up = a->defaults.tls_upstream->id;

	(void)state;
	conf_unref(a);
	b = good("");
	assert_int_not_equal(b->tls->id, set);
	assert_int_not_equal(b->defaults.tls_upstream->id, up);
	conf_unref(b);
}

static void
min_version_when_set_then_holds_both_ways(void **state)
{
	struct conf *c = good(LISTEN("ec.pem", "ec.key") "min_version = 1.3\n");

	(void)state;
	assert_int_equal(SSL_CTX_get_min_proto_version(c->tls->listen),
	    TLS1_3_VERSION);
	assert_int_equal(SSL_CTX_get_min_proto_version(
			     tls_upstream_context(c->defaults.tls_upstream)),
	    TLS1_3_VERSION);
	conf_unref(c);
	c = good(LISTEN("ec.pem", "ec.key"));
	assert_int_equal(SSL_CTX_get_min_proto_version(c->tls->listen),
	    TLS1_2_VERSION);
	conf_unref(c);
}

static void
load_when_memory_fails_then_says_so(void **state)
{
	static const char text[] = CA("ca.pem",
	    "ca.key") "upstream_ca = @/few.pem\nlisten_cert = @/ec.pem\n"
		      "listen_key = @/ec.key\n";
	char *full = expand(text);
	int res = -1;

	(void)state;
	for (unsigned long n = 1; res < 0; n++) {
		struct conf_problems p = {.n = 0};
		struct conf *c = rig_good(full);

		mem_fail_at(n, true);
		res = tls_set_load(c, &p);
		mem_fail_at(0, false);
		assert_true(n < 100);
		conf_problems_free(&p);
		conf_unref(c);
	}
	mem_free(full);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(file_when_it_is_no_good_then_one_problem_says_why),
	    cmocka_unit_test(files_when_several_are_no_good_then_each_is_told),
	    cmocka_unit_test(set_when_nothing_is_named_then_holds_no_secret),
	    cmocka_unit_test(set_when_a_key_is_named_then_is_secret),
	    cmocka_unit_test(services_when_their_files_are_the_same_then_share),
	    cmocka_unit_test(ids_when_loaded_again_then_are_new),
	    cmocka_unit_test(min_version_when_set_then_holds_both_ways),
	    cmocka_unit_test(load_when_memory_fails_then_says_so),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
