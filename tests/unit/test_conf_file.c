/* SPDX-License-Identifier: MIT */
/* Lines, files and includes. Files live in a directory made for each test. */
#include "conf_rig.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- lines --------------------------------------------------------------- */

static void
line_that_can_t_be_read_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"workers = 1\n[proxy]\n",
		"f:1: a setting stands before the first [section]\n"},
	    {"[proxy]\nworkers\n",
		"f:2: there is no '='; a setting is KEY = VALUE\n"},
	    {"[proxy]\nworkers: 2\n",
		"f:2: there is no '='; a setting is KEY = VALUE\n"},
	    {"[proxy]\nworkers : x = 2\n",
		"f:2: a ':' stands before the '='; a setting is KEY = VALUE\n"},
	    {"[proxy]\n= 2\n", "f:2: there is no key before the '='\n"},
	    {"[proxy\nworkers = x\n", "f:1: the ']' is missing\n"},
	    {"[proxy] workers = 1\n",
		"f:1: text follows the ']'; a comment begins with \" ;\"\n"},
	    {"[proxy]\nworkers = 2 # two\n",
		"f:2: a comment behind a value begins with \" ;\", '#' only "
		"begins a line\n"},
	    {"[proxy]\n workers = 2\n",
		"f:2: the line is indented, but there is no key above that it "
		"could continue\n"},
	    {"[proxy]\nlisten = 127.0.0.1:1\n  workers = 2\n  [dns]\n",
		"f:3: the line is indented and would continue the value above; "
		"begin keys and sections at the start of the line\n"
		"f:4: the line is indented and would continue the value above; "
		"begin keys and sections at the start of the line\n"},
	    {"[proxy]\nworkers = 2\n  3\n",
		"f:3: 'workers' takes one value, and an indented line "
		"continues the one above; begin keys at the start of the "
		"line\n"},
	    {"[proxy]\nworkers = 2\n\nworkers = 2\n",
		"f:4: 'workers' is given twice, first at f:2; take one out\n"},
	    {"[proxy]\nworkers = 2\n[dns]\n[proxy]\nworkers = 3\n",
		"f:5: 'workers' is given twice, first at f:2; take one out\n"},
	    {"[proxy]\naccess_log = /\x01\n",
		"f:2: a control character; take it out\n"},
	    {"[proxy]\n# caf\xe9\n",
		"f:2: bytes that are no UTF-8; save the file as UTF-8\n"},
	    {"[proxy]\n# \xc0\xaf\n",
		"f:2: bytes that are no UTF-8; save the file as UTF-8\n"},
	    {"[proxy]\n# \xed\xa0\x80\n",
		"f:2: bytes that are no UTF-8; save the file as UTF-8\n"},
	    {"[proxy]\n# \xf4\x90\x80\x80\n",
		"f:2: bytes that are no UTF-8; save the file as UTF-8\n"},
	    {"[proxy]\n# \xe2\x82\n",
		"f:2: bytes that are no UTF-8; save the file as UTF-8\n"},
	    /* Everything in one run, by line. */
	    {"[proxy]\nworkers = x\nfoo\n[nope]\na = b\n[defaults]\n"
	     "jitter = 5\n\n\n\nkey = x\n",
		"f:2: workers 'x': it is no whole number; it takes a whole "
		"number from 1 to 256, or auto\n"
		"f:3: there is no '='; a setting is KEY = VALUE\n"
		"f:4: unknown section [nope]; there are [proxy], [tls], "
		"[dns], [defaults] and [service NAME]\n"
		"f:7: jitter '5': the unit is missing; it takes a duration "
		"(ms, s, min, h, d) from 0 to 1h\n"
		"f:11: 'key' has no place in [defaults]; it belongs in "
		"[service NAME]\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		rig_bad(v[i].text, v[i].problems);
}

static void
line_with_a_nul_is_told(void **state)
{
	(void)state;
	struct conf_problems p = {.n = 0};
	struct conf *c =
	    conf_load_text("f", SPAN("[proxy]\nworkers = 2\0x\n"), NULL, 0, &p);

	rig_expect(c, &p, "f:2: a NUL byte; take it out\n");
}

static void
text_that_looks_odd_is_read_all_the_same(void **state)
{
	(void)state;
	struct conf *c = rig_good("\xef\xbb\xbf; BOM, CR LF, no last LF\r\n"
				  "\r\n"
				  "[proxy] ; here\r\n"
				  "   ; indented comment\r\n"
				  "workers=3 ;2 ;twice\r\n"
				  "access_log = /a;b ; c ; d\r\n"
				  "[dns]\n"
				  "[ service\tx ]\n"
				  "hosts=a\n"
				  "# \xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa2\n"
				  "jitter   =   1s");
	assert_int_equal(c->workers, 3);
	assert_string_equal(c->access_log, "/a;b");
	assert_string_equal(c->services[0]->name, "x");
	assert_int_equal(c->services[0]->policy.backoff.jitter_ms, 1000);
	conf_unref(c);
}

/* A line, a key and a section name of the longest length and one more. */
static void
line_of_199_bytes_is_the_longest(void **state)
{
	(void)state;
	for (int n = 198; n <= 201; n++) {
		char text[400], want[400];
		struct conf_problems p = {.n = 0};
		int at =
		    snprintf(text, sizeof(text), "[proxy]\naccess_log = /");
		int fill = n - (at - (int)strlen("[proxy]\n"));

		memset(text + at, 'a', (size_t)fill);
		(void)snprintf(text + at + fill,
		    sizeof(text) - (size_t)(at + fill), "\nworkers = 1\n");
		struct conf *c =
		    conf_load_text("f", span_of(text), NULL, 0, &p);
		if (n <= 199) {
			assert_non_null(c);
			assert_int_equal(strlen(c->access_log), fill + 1);
			assert_int_equal(c->workers, 1);
			conf_unref(c);
			continue;
		}
		(void)snprintf(want, sizeof(want),
		    "f:2: the line is longer than 199 bytes; break it: an "
		    "indented line continues the one above\n");
		rig_expect(c, &p, want);
	}
	/* A comment of any length is none of inih's business. */
	char text[1000];
	memset(text, 'x', sizeof(text) - 1);
	text[0] = '#';
	text[sizeof(text) - 1] = '\0';
	conf_unref(rig_good(text));
}

static void
name_of_49_bytes_is_the_longest(void **state)
{
	(void)state;
#define N41 "abcdefghijabcdefghijabcdefghijabcdefghij1"
	struct conf *c = rig_good("[service " N41 "]\nhosts = a\n");
	assert_string_equal(c->services[0]->name, N41);
	conf_unref(c);
	rig_bad("[service " N41 "2]\nhosts = a\n",
	    "f:1: the name of the section is longer than 49 bytes; shorten "
	    "it\n");
	rig_bad("[proxy]\nabcdefgh" N41 " = 1\n",
	    "f:2: unknown key 'abcdefgh" N41 "' in [proxy]; the example "
	    "configuration lists all there are\n");
	rig_bad("[proxy]\nabcdefghi" N41 " = 1\n",
	    "f:2: the key is longer than 49 bytes; there is none like that\n");
}

/* --- files --------------------------------------------------------------- */

static char dir[64];

static int
make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/abided-conf-XXXXXX");
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int
remove_dir(void **state)
{
	(void)state;
	if (chdir("/") != 0)
		return -1;
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
}

static struct conf *
good_file(const char *path)
{
	struct conf_problems p = {.n = 0};
	struct conf *c = conf_load(path, NULL, 0, &p);

	if (p.n)
		print_error("%s\n", p.v[0]);
	assert_int_equal(p.n, 0);
	assert_non_null(c);
	return c;
}

static void
bad_file(const char *path, const char *problems)
{
	struct conf_problems p = {.n = 0};

	rig_expect(conf_load(path, NULL, 0, &p), &p, problems);
}

static void
include_reads_files_beside_this_one_in_order(void **state)
{
	(void)state;
	assert_int_equal(mkdir("etc[1]", 0700), 0);
	assert_int_equal(mkdir("etc[1]/conf.d", 0700), 0);
	put_file("etc[1]/main.conf",
	    "[proxy]\ninclude = conf.d/*.conf\n"
	    "include = one.conf, empty/*\n"
	    "workers = 2\n");
	put_file("etc[1]/one.conf", "[proxy]\nlisten = 127.0.0.1:3\n");
	put_file("etc[1]/conf.d/b.conf", "[proxy]\nlisten = 127.0.0.1:2\n");
	put_file("etc[1]/conf.d/a.conf", "[proxy]\nlisten = 127.0.0.1:1\n");
	put_file("etc[1]/conf.d/c.conf.off", "[nope]\n");
	struct conf *c = good_file("etc[1]/main.conf");

	assert_int_equal(c->nlisten, 3);
	assert_string_equal(c->listen[0].text, "127.0.0.1:1");
	assert_string_equal(c->listen[1].text, "127.0.0.1:2");
	assert_string_equal(c->listen[2].text, "127.0.0.1:3");
	assert_int_equal(c->workers, 2);
	conf_unref(c);
}

static void
include_begins_outside_of_any_section(void **state)
{
	(void)state;
	put_file("main.conf", "[proxy]\ninclude = a\nworkers = 1\n");
	put_file("a", "[dns]\ntimeout = 1s\n");
	struct conf *c = good_file("main.conf");
	assert_int_equal(c->workers, 1);
	conf_unref(c);
	put_file("a", "workers = 1\n");
	bad_file("main.conf",
	    "a:1: a setting stands before the first [section]\n");
}

static void
problems_of_several_files_name_each(void **state)
{
	(void)state;
	put_file("m",
	    "[proxy]\ninclude = a, b\nworkers = 1\n"
	    "[service s]\nhosts = s\n");
	put_file("a", "[proxy]\nworkers = 2\n[service s]\nhosts = t\n");
	put_file("b", "[defaults]\nburst = x\n");
	bad_file("m",
	    "b:2: burst 'x': it is no whole number; it takes a whole number "
	    "from 1 to 1000000000\n"
	    "m:3: 'workers' is given twice, first at a:2; take one out\n"
	    "m:4: service 's' is given twice, first at a:3; rename one or "
	    "join them\n");
}

static void
file_that_can_t_be_opened_is_told(void **state)
{
	(void)state;
	bad_file("none.conf",
	    "none.conf: cannot open: No such file or directory\n");
	bad_file(".", ".: cannot read: Is a directory\n");
	put_file("m", "[proxy]\ninclude = none, .\n\ninclude = /no/../no\n");
	bad_file("m",
	    ".: it is no regular file (included at m:2)\n"
	    "/no/../no: cannot open: No such file or directory "
	    "(included at m:4)\n"
	    "none: cannot open: No such file or directory "
	    "(included at m:2)\n");
	put_file("m", "[proxy]\nworkers = 1\n");
	assert_int_equal(chmod("m", 0), 0);
	if (geteuid() != 0)
		bad_file("m", "m: cannot open: Permission denied\n");
}

static void
file_that_includes_itself_is_told(void **state)
{
	(void)state;
	put_file("m", "[proxy]\ninclude = a\n");
	put_file("a", "\n[proxy]\ninclude = b\n");
	put_file("b", "[proxy]\ninclude = ./m\n");
	bad_file("m", "./m: the file includes itself (included at b:2)\n");

	for (int i = 0; i < 10; i++) {
		char path[16], text[64];

		(void)snprintf(path, sizeof(path), "c%d", i);
		(void)snprintf(text, sizeof(text), "[proxy]\ninclude = c%d\n",
		    i + 1);
		put_file(path, text);
	}
	bad_file("c0",
	    "c9: more than 8 files include one another (included at "
	    "c8:2)\n");
}

static void
file_of_more_than_4_mib_is_told(void **state)
{
	(void)state;
	FILE *f = fopen("m", "w");

	assert_non_null(f);
	for (int i = 0; i < 4 << 16; i++)
		assert_true(fputs("# 16 byte line.\n", f) >= 0);
	assert_int_equal(fflush(f), 0);
	conf_unref(good_file("m"));
	assert_int_equal(fputc('\n', f), '\n');
	assert_int_equal(fclose(f), 0);
	bad_file("m", "m: cannot read: it is larger than 4 MiB\n");
}

int
main(void)
{
#define WITH_DIR(test) \
	cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(line_that_can_t_be_read_is_told),
	    cmocka_unit_test(line_with_a_nul_is_told),
	    cmocka_unit_test(text_that_looks_odd_is_read_all_the_same),
	    cmocka_unit_test(line_of_199_bytes_is_the_longest),
	    cmocka_unit_test(name_of_49_bytes_is_the_longest),
	    WITH_DIR(include_reads_files_beside_this_one_in_order),
	    WITH_DIR(include_begins_outside_of_any_section),
	    WITH_DIR(problems_of_several_files_name_each),
	    WITH_DIR(file_that_can_t_be_opened_is_told),
	    WITH_DIR(file_that_includes_itself_is_told),
	    WITH_DIR(file_of_more_than_4_mib_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
