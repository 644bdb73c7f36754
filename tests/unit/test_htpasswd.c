/* SPDX-License-Identifier: MIT */
#include "auth_rig.h"

#include "base/mem.h"
#include "edge/htpasswd.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define SHA "$6$saltstring$" SHA_SUM
/* Drepper, "Unix crypt using SHA-256 and SHA-512": "Hello world!". */
#define SHA_SUM \
	"svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJu" \
	"esI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
#define BCRYPT_53 "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ0123."
#define TEXT_43 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"

static int
parse(struct htpasswd *h, struct span text, struct conf_problems *p)
{
	char *copy = mem_dup(text);

	assert_non_null(copy);
	return htpasswd_parse(h, "users", copy, text.n, p);
}

static void
expect_problems(struct span text, const char *expected)
{
	struct conf_problems p = {.n = 0};
	struct htpasswd h;
	char *got;

	assert_int_equal(parse(&h, text, &p), -1);
	got = rig_problems_text(&p);
	assert_string_equal(got, expected);
	assert_null(h.v);
	assert_null(h.text);
	free(got);
	conf_problems_free(&p);
}

static void
lines_when_good_are_found_by_name(void **state)
{
	static const char text[] = "# people\n"
				   "\n"
				   "zoe:" SHA "\r\n"
				   "  \t \r\n"
				   "  # more\n"
				   "al:" SHA "\n"
				   "m\xc3\xbcller:" SHA "\n"
				   "with space:" SHA "\n"
				   "alan:" SHA;
	struct conf_problems p = {.n = 0};
	struct htpasswd h;

	(void)state;
	assert_int_equal(parse(&h, SPAN(text), &p), 0);
	assert_int_equal(h.n, 5);
	assert_string_equal(htpasswd_find(&h, SPAN("zoe"))->hash, SHA);
	assert_int_equal(htpasswd_find(&h, SPAN("zoe"))->line, 3);
	assert_int_equal(htpasswd_find(&h, SPAN("al"))->line, 6);
	assert_int_equal(htpasswd_find(&h, SPAN("alan"))->line, 9);
	assert_non_null(htpasswd_find(&h, SPAN("m\xc3\xbcller")));
	assert_non_null(htpasswd_find(&h, SPAN("with space")));
	assert_null(htpasswd_find(&h, SPAN("a")));
	assert_null(htpasswd_find(&h, SPAN("ala")));
	assert_null(htpasswd_find(&h, SPAN("zo")));
	assert_null(htpasswd_find(&h, SPAN("zoe ")));
	assert_null(htpasswd_find(&h, SPAN("Zoe")));
	assert_null(htpasswd_find(&h, SPAN("al\0an")));
	assert_null(htpasswd_find(&h, SPAN("")));
	assert_null(htpasswd_find(&h, (struct span){NULL, 0}));
	htpasswd_free(&h);
	htpasswd_free(&h);
}

static void
file_when_empty_has_no_users(void **state)
{
	static const char *const texts[] = {"", "\n\n", "# nobody"};
	struct conf_problems p = {.n = 0};
	struct htpasswd h;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(parse(&h, span_of(texts[i]), &p), 0);
		assert_int_equal(h.n, 0);
		assert_null(htpasswd_find(&h, SPAN("x")));
		htpasswd_free(&h);
	}
}

static void
lines_when_bad_are_all_told_without_their_hashes(void **state)
{
	(void)state;
	expect_problems(SPAN("bob:" SHA "\n"
			     "nohash\n"
			     ":" SHA "\n"
			     "x\x01:" SHA "\n"
			     "\xff:" SHA "\n"
			     "ann:$apr1$abcdefgh$0123456789012345678901\n"
			     "bob:" SHA "\n"
			     "n\0n:" SHA "\n"
			     "bob:" SHA "\n"),
	    "users:2: a line must be NAME:HASH; make it with `htpasswd -B` or "
	    "`mkpasswd -m sha-512`\n"
	    "users:3: there is no name before ':'\n"
	    "users:4: a control character; take it out\n"
	    "users:5: bytes that are no UTF-8; save the file as UTF-8\n"
	    "users:6: an MD5 hash, which is guessed quickly; make it with "
	    "`htpasswd -B` or `mkpasswd -m sha-512`\n"
	    "users:7: user 'bob' is in line 1 already; take one of them out\n"
	    "users:8: a NUL byte; take it out\n"
	    "users:9: user 'bob' is in line 7 already; take one of them out\n");
}

static void
name_when_longer_than_a_client_may_send_is_refused(void **state)
{
	char text[512];
	struct conf_problems p = {.n = 0};
	struct htpasswd h;

	(void)state;
	memset(text, 'n', 256);
	(void)snprintf(text + 255, sizeof(text) - 255, ":" SHA);
	assert_int_equal(parse(&h, span_of(text), &p), 0);
	htpasswd_free(&h);
	(void)snprintf(text + 256, sizeof(text) - 256, ":" SHA);
	text[255] = 'n';
	expect_problems(span_of(text), "users:1: a name can have 255 bytes\n");
}

/* --- kinds ---------------------------------------------------------------- */

static void
hash_when_strong_is_accepted(void **state)
{
	static const char *const good[] = {
	    SHA,
	    "$6$rounds=1000$s$" SHA_SUM,
	    "$6$rounds=2000000$0123456789abcdef$" SHA_SUM,
	    "$5$saltstring$" TEXT_43,
	    "$5$rounds=5000$saltstring$" TEXT_43,
	    "$2y$05$" BCRYPT_53,
	    "$2b$04$" BCRYPT_53,
	    "$2a$14$" BCRYPT_53,
	    "$y$j9T$abcdefghijklmnop$" TEXT_43,
	    "$y$j75$a$" TEXT_43,
	    "$y$jCT$abcdefghijklmnop$" TEXT_43,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		if (htpasswd_hash_flaw(good[i]))
			fail_msg("%s: %s", good[i],
			    htpasswd_hash_flaw(good[i]));
}

static void
hash_when_weak_cut_or_costly_is_refused_by_what_it_is(void **state)
{
	static const struct {
		const char *hash, *says;
	} bad[] = {
	    {"", "no hash behind the name"},
	    {"secret", "no hash of a kind"},
	    {"$apr1$abcdefgh$0123456789012345678901", "MD5"},
	    {"$1$abcdefgh$0123456789012345678901", "MD5"},
	    {"$md5$abc", "MD5"},
	    {"{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "SHA-1"},
	    {"{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", "SHA-1"},
	    {"$sha1$1$a$b", "SHA-1"},
	    {"rl.3StKT.4T8M", "DES"},
	    {"$2x$05$" BCRYPT_53, "faulty bcrypt"},
	    {"$2$05$" BCRYPT_53, "no hash of a kind"},
	    {"$7$CU..../....abc$def", "no hash of a kind"},
	    {"$gy$j9T$abc$" TEXT_43, "no hash of a kind"},
	    {"!", "locked"},
	    {"*", "locked"},
	    {"!$6$saltstring$" SHA_SUM, "locked"},
	    {"$2y$05$" BCRYPT_53 "x", "damaged"},
	    {"$2y$05$abc", "damaged"},
	    {"$2y$5$" BCRYPT_53, "damaged"},
	    {"$2y$03$" BCRYPT_53, "damaged"},
	    {"$2y$32$" BCRYPT_53, "damaged"},
	    {"$2y$0x$" BCRYPT_53, "damaged"},
	    {"$2y$", "damaged"},
	    {"$2y$15$" BCRYPT_53, "lower cost"},
	    {"$6$", "damaged"},
	    {"$6$salt", "damaged"},
	    {"$6$$" SHA_SUM, "damaged"},
	    {"$6$0123456789abcdefg$" SHA_SUM, "damaged"},
	    {"$6$salt$" TEXT_43, "damaged"},
	    {"$6$salt$" SHA_SUM " ", "damaged"},
	    {"$6$salt$" SHA_SUM ":0:0:", "damaged"},
	    {"$5$salt$" SHA_SUM, "damaged"},
	    {"$6$rounds=999$salt$" SHA_SUM, "damaged"},
	    {"$6$rounds=x$salt$" SHA_SUM, "damaged"},
	    {"$6$rounds=5000", "damaged"},
	    {"$6$rounds=2000001$salt$" SHA_SUM, "lower cost"},
	    {"$6$rounds=99999999999999999999$salt$" SHA_SUM, "lower cost"},
	    {"$y$j9T$salt", "damaged"},
	    {"$y$j9T$$" TEXT_43, "damaged"},
	    {"$y$$salt$" TEXT_43, "damaged"},
	    {"$y$j9T$salt$" TEXT_43 "x", "damaged"},
	    {"$y$jDT$salt$" TEXT_43, "lower cost"},
	    {"$y$jFT$salt$" TEXT_43, "lower cost"},
	    {"$y$j9T5$salt$" TEXT_43, "lower cost"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *flaw = htpasswd_hash_flaw(bad[i].hash);

		if (!flaw || !strstr(flaw, bad[i].says))
			fail_msg("%s: %s", bad[i].hash, flaw);
	}
}

static void
password_when_of_each_kind_matches_its_hash_alone(void **state)
{
	static const struct {
		const char *prefix;
		unsigned long cost;
	} kinds[] = {{"$2a$", 4}, {"$2b$", 4}, {"$2y$", 4}, {"$5$", 1000},
	    {"$6$", 1000}, {"$y$", 1}};
	static const char password[] = "p\xc3\xa4ss:w\xc3\xb6rd";
	static struct crypt_data data;

	(void)state;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		const char *hash =
		    rig_hash(kinds[i].prefix, kinds[i].cost, password);

		if (htpasswd_hash_flaw(hash))
			fail_msg("%s: %s", hash, htpasswd_hash_flaw(hash));
		assert_int_equal(htpasswd_matches(hash, password, &data), 1);
		assert_int_equal(htpasswd_matches(hash, "", &data), 0);
		assert_int_equal(htpasswd_matches(hash, "p\xc3\xa4ss", &data),
		    0);
		assert_int_equal(htpasswd_matches(hash, password + 1, &data),
		    0);
	}
	assert_int_equal(htpasswd_matches(SHA, "Hello world!", &data), 1);
	assert_int_equal(htpasswd_matches(SHA, "Hello World!", &data), 0);
}

static void
password_when_longer_than_crypt_takes_is_wrong(void **state)
{
	static struct crypt_data data;
	char password[600];

	(void)state;
	memset(password, 'x', sizeof(password));
	password[sizeof(password) - 1] = '\0';
	assert_int_equal(htpasswd_matches(SHA, password, &data), 0);
}

static void
scratch_when_done_holds_no_password(void **state)
{
	static struct crypt_data data;

	(void)state;
	assert_int_equal(htpasswd_matches(SHA, "Hello world!", &data), 1);
	assert_null(memmem(&data, sizeof(data), "Hello", 5));
	assert_null(memmem(&data, sizeof(data), "svn8", 4));
}

/* --- files ---------------------------------------------------------------- */

static void
expect_unread(const char *path, const char *says)
{
	struct conf_problems p = {.n = 0};
	struct conf_where where = {.file = "a.conf:7"};
	struct htpasswd h = {.n = 0};
	char expected[256];
	char *got;

	(void)snprintf(expected, sizeof(expected), "a.conf:7: auth file %s%s\n",
	    path, says);
	assert_int_equal(htpasswd_read(&h, path, where, &p), -1);
	got = rig_problems_text(&p);
	assert_string_equal(got, expected);
	free(got);
	conf_problems_free(&p);
}

static void
file_when_others_can_use_it_is_refused(void **state)
{
	static const mode_t bad[] = {0644, 0604, 0602, 0601, 0666};
	static const mode_t good[] = {0600, 0640, 0440, 0400, 0660};
	struct conf_where where = {.file = "a.conf:7"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		const char *path = rig_file("a:" SHA "\n", bad[i]);

		expect_unread(path,
		    " can be read or written by everybody; chmod o= it (a "
		    "mounted secret: defaultMode 0440)");
		assert_int_equal(unlink(path), 0);
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		const char *path = rig_file("a:" SHA "\n", good[i]);
		struct conf_problems p = {.n = 0};
		struct htpasswd h;

		assert_int_equal(htpasswd_read(&h, path, where, &p), 0);
		assert_int_equal(h.n, 1);
		htpasswd_free(&h);
		assert_int_equal(unlink(path), 0);
	}
}

static void
file_when_missing_or_none_is_refused(void **state)
{
	char dir[] = "/tmp/abided-auth-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/x", dir);
	expect_unread(path,
	    ": No such file or directory; make it with `htpasswd -B` or "
	    "`mkpasswd -m sha-512`");
	expect_unread(dir, ": not a regular file");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_unread(path, ": not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
file_when_memory_runs_out_is_a_problem_and_no_leak(void **state)
{
	const char *path = rig_file("a:" SHA "\nb:" SHA "\n", 0600);
	struct conf_where where = {.file = "a.conf:7"};
	struct htpasswd h;
	unsigned long n = 0;
	int res;

	(void)state;
	do {
		struct conf_problems p = {.n = 0};

		h = (struct htpasswd){.n = 0};
		mem_fail_at(++n, true);
		res = htpasswd_read(&h, path, where, &p);
		mem_fail_at(0, false);
		assert_true(res == 0 || p.n > 0);
		conf_problems_free(&p);
	} while (res < 0 && n < 100);
	assert_true(n > 2);
	assert_int_equal(h.n, 2);
	htpasswd_free(&h);
	assert_int_equal(unlink(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_when_good_are_found_by_name),
	    cmocka_unit_test(file_when_empty_has_no_users),
	    cmocka_unit_test(lines_when_bad_are_all_told_without_their_hashes),
	    cmocka_unit_test(
		name_when_longer_than_a_client_may_send_is_refused),
	    cmocka_unit_test(hash_when_strong_is_accepted),
	    cmocka_unit_test(
		hash_when_weak_cut_or_costly_is_refused_by_what_it_is),
	    cmocka_unit_test(password_when_of_each_kind_matches_its_hash_alone),
	    cmocka_unit_test(password_when_longer_than_crypt_takes_is_wrong),
	    cmocka_unit_test(scratch_when_done_holds_no_password),
	    cmocka_unit_test(file_when_others_can_use_it_is_refused),
	    cmocka_unit_test(file_when_missing_or_none_is_refused),
	    cmocka_unit_test(
		file_when_memory_runs_out_is_a_problem_and_no_leak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
