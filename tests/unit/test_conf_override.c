/* SPDX-License-Identifier: MIT */
/*
 * Overrides, the example and the option list, and a reload that finds no
 * memory.
 */
#include "conf_rig.h"

#include "base/mem.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The text with what -s and ABIDED_SET say; either may be NULL. */
static struct conf *
load(const char *text, const char *env, const char *const *s, size_t n,
    struct conf_problems *p)
{
	struct conf_overrides o = {.n = 0};
	int rc = conf_overrides_add_env(&o, env, p);

	for (size_t i = 0; i < n; i++)
		rc |= conf_overrides_add(&o, s[i], "-s", p);
	assert_int_equal(rc != 0, p->n > 0);
	struct conf *c =
	    rc ? NULL : conf_load_text("f", span_of(text), o.v, o.n, p);
	conf_overrides_free(&o);
	return c;
}

static struct conf *
good(const char *text, const char *env, const char *s)
{
	struct conf_problems p = {.n = 0};
	struct conf *c = load(text, env, &s, s ? 1 : 0, &p);

	if (p.n)
		print_error("%s\n", p.v[0]);
	assert_int_equal(p.n, 0);
	assert_non_null(c);
	return c;
}

static void
override_is_split_at_the_last_dot_before_the_equals_sign(void **state)
{
	static const struct {
		const char *text, *section, *key, *value, *why;
	} v[] = {
	    {"proxy.workers=2", "proxy", "workers", "2", NULL},
	    {" proxy . workers = 2 ", "proxy", "workers", "2", NULL},
	    {"service api.test.rate=1.5/s", "service api.test", "rate", "1.5/s",
		NULL},
	    {"proxy.access_log=/a=b.c", "proxy", "access_log", "/a=b.c", NULL},
	    {"proxy.workers=", "proxy", "workers", "", NULL},
	    {"proxy.workers", NULL, NULL, NULL,
		"there is no '='; give SECTION.KEY=VALUE"},
	    {"workers=2.5", NULL, NULL, NULL,
		"there is no '.' before the '='; give SECTION.KEY=VALUE"},
	    {".workers=2", NULL, NULL, NULL,
		"the section is missing; give SECTION.KEY=VALUE"},
	    {"proxy.=2", NULL, NULL, NULL,
		"the key is missing; give SECTION.KEY=VALUE"},
	    {"", NULL, NULL, NULL, "there is no '='; give SECTION.KEY=VALUE"},
	    {"proxy.workers=\x02", NULL, NULL, NULL,
		"a control character; take it out"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct conf_override o = {.from = "untouched"};
		const char *why = NULL;
		int rc = conf_override_parse(v[i].text, "-s", &o, &why);

		if (v[i].why) {
			assert_int_equal(rc, -1);
			assert_string_equal(why, v[i].why);
			assert_string_equal(o.from, "untouched");
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(o.section, v[i].section);
		assert_string_equal(o.key, v[i].key);
		assert_string_equal(o.value, v[i].value);
		assert_string_equal(o.from, "-s");
		conf_override_free(&o);
	}
}

static void
override_replaces_what_the_file_says(void **state)
{
	(void)state;
	struct conf *c = good("[proxy]\nlisten = 127.0.0.1:1, 127.0.0.1:2\n"
			      "workers = 2\nmax_parked = x\n",
	    "proxy.workers=3; proxy.listen=127.0.0.1:3 ;;"
	    "proxy.listen=127.0.0.1:4;proxy.max_parked=5;",
	    "proxy.workers=4");

	/* Both of one origin; those of the file are gone. */
	assert_int_equal(c->nlisten, 2);
	assert_string_equal(c->listen[0].text, "127.0.0.1:3");
	assert_string_equal(c->listen[1].text, "127.0.0.1:4");
	assert_int_equal(c->workers, 4); /* -s comes later */
	assert_int_equal(c->max_parked, 5);
	conf_unref(c);

	c = good("", "proxy.connect_ports=1; proxy.connect_ports=2",
	    "proxy.connect_ports=3");
	assert_int_equal(c->nconnect_ports, 1);
	assert_int_equal(c->connect_ports[0], 3);
	conf_unref(c);
}

static void
override_alone_makes_a_service(void **state)
{
	(void)state;
	struct conf *c = good("[service a]\nhosts = a\nmax_retries = 1\n",
	    "service b.hosts=b.test; service b.rate=90/min",
	    "service a.max_retries=7");

	assert_int_equal(c->nservices, 2);
	assert_int_equal(c->services[0]->policy.verdict.max_retries, 7);
	assert_string_equal(c->services[1]->name, "b");
	assert_int_equal(c->services[1]->policy.bucket.n, 1);
	conf_unref(c);
}

static void
override_that_is_wrong_is_told_with_its_origin(void **state)
{
	static const struct {
		const char *env, *s, *problems;
	} v[] = {
	    {NULL, "proxy.workers=abc",
		"-s proxy.workers=abc: workers 'abc': it is no whole number; "
		"it takes a whole number from 1 to 256, or auto\n"},
	    {"proxy.wrokers=1", NULL,
		"ABIDED_SET proxy.wrokers: unknown key 'wrokers' in [proxy]; "
		"did you mean 'workers'?\n"},
	    {"proxi.workers=1", "service.hosts=a",
		"-s service.hosts=a: [service]: a service needs a name: "
		"[service NAME]\n"
		"ABIDED_SET proxi.workers=1: unknown section [proxi]; did you "
		"mean [proxy]?\n"},
	    /* What a ';' in a password leaves is not shown either. */
	    {"nonsense; proxy=1;x@y", "u:p@h",
		"ABIDED_SET: a setting (not shown, a password may be in it): "
		"there is no '='; give SECTION.KEY=VALUE\n"
		"ABIDED_SET: a setting (not shown, a password may be in it): "
		"there is no '.' before the '='; give SECTION.KEY=VALUE\n"
		"ABIDED_SET: a setting (not shown, a password may be in it): "
		"there is no '='; give SECTION.KEY=VALUE\n"
		"-s: a setting (not shown, a password may be in it): there is "
		"no '='; give SECTION.KEY=VALUE\n"},
	    {"nonsense; proxy=1", "-",
		"ABIDED_SET: 'nonsense': there is no '='; give "
		"SECTION.KEY=VALUE\n"
		"ABIDED_SET: 'proxy=1': there is no '.' before the '='; give "
		"SECTION.KEY=VALUE\n"
		"-s: '-': there is no '='; give SECTION.KEY=VALUE\n"},
	    {NULL, "service b.rate=1/s",
		"-s service b.rate=1/s: service 'b' has neither hosts nor a "
		"route, so no request belongs to it; add hosts\n"},
	    {NULL, "defaults.max_wait=2min",
		"-s defaults.max_wait=2min: max_wait (2min) is longer than "
		"deadline (60s, the default); lower it or raise deadline\n"},
	    {"proxy.include=/no/such", NULL,
		"/no/such: cannot open: No such file or directory (included at "
		"ABIDED_SET proxy.include=/no/such)\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct conf_problems p = {.n = 0};

		rig_expect(load("", v[i].env, &v[i].s, v[i].s ? 1 : 0, &p), &p,
		    v[i].problems);
	}
}

static void
override_of_include_replaces_the_file_s_own(void **state)
{
	(void)state;
	char path[] = "/tmp/abided-conf-XXXXXX", env[64];
	FILE *f = fdopen(mkstemp(path), "w");

	assert_non_null(f);
	assert_true(fputs("[proxy]\nworkers = 3\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(env, sizeof(env), "proxy.include=%s", path);
	struct conf *c = good("[proxy]\ninclude = /no/such\n", env, NULL);
	assert_int_equal(c->workers, 3);
	conf_unref(c);
	c = good("", env, "proxy.workers=4");
	assert_int_equal(c->workers, 4);
	conf_unref(c);
	assert_int_equal(remove(path), 0);
}

/* --- the example --------------------------------------------------------- */

static char *
printed(void (*print)(FILE *to))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	print(f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* What is commented out is what holds anyway: setting it all changes nothing. */
static void
example_says_what_holds_anyway(void **state)
{
	(void)state;
	char *text = printed(conf_print_example);
	conf_unref(rig_good(text));

	for (char *p = text; (p = strstr(p, "\n#")) != NULL; p++) {
		if (p[2] != ' ' && p[2] != '\n')
			memmove(p + 1, p + 2, strlen(p + 1));
	}
	struct conf *set = rig_good(text), *plain = rig_good("");
	struct policy a = set->defaults.policy, b = plain->defaults.policy;

	a.hint = b.hint; /* pointers; see test_conf.c */
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(set->nlisten, plain->nlisten);
	assert_int_equal(set->workers, plain->workers);
	assert_int_equal(set->max_parked, plain->max_parked);
	assert_int_equal(set->deny.nets.n, plain->deny.nets.n);
	assert_string_equal(set->spill_dir, plain->spill_dir);
	assert_string_equal(set->dns_servers, plain->dns_servers);
	assert_string_equal(set->services[0]->name, "example");
	assert_string_equal(set->services[0]->route, "/example/");
	conf_unref(set);
	conf_unref(plain);
	free(text);
}

static void
option_list_has_a_row_for_each_key_of_the_example(void **state)
{
	(void)state;
	char *example = printed(conf_print_example);
	char *list = printed(conf_print_options);
	unsigned rows = 0, keys = 0;

	for (const char *p = example; (p = strstr(p, "\n#")) != NULL; p++) {
		const char *eq = strstr(p, " = ");
		char row[64];

		if (strchr(" \t[\n", p[2]) != NULL)
			continue;
		keys++;
		assert_non_null(eq);
		(void)snprintf(row, sizeof(row), "\n| `%.*s` |",
		    (int)(eq - p - 2), p + 2);
		if (!strstr(list, row))
			fail_msg("no row %s", row);
	}
	for (const char *p = list; (p = strstr(p, "\n| `")) != NULL; p++)
		rows++;
	assert_int_equal(rows, keys);
	assert_true(rows > 40);
	free(example);
	free(list);
}

/* One of the tree's files. */
static const char *
tree_file(const char *top, const char *name)
{
	static char text[131072];
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/%s", top, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	assert_int_equal(fclose(f), 0);
	return text;
}

/* The tree's copies, where the tree is at hand. */
static void
file_in_the_tree_is_what_the_table_prints(void **state)
{
	static const struct {
		const char *path;
		void (*print)(FILE *to);
	} v[] = {{"etc/abided.conf", conf_print_example},
	    {"docs/OPTIONS.md", conf_print_options}};
	const char *top = getenv("top_srcdir");

	(void)state;
	if (top == NULL)
		skip();
	for (size_t i = 0; i < COUNT(v); i++) {
		char *now = printed(v[i].print);
		assert_string_equal(tree_file(top, v[i].path), now);
		free(now);
	}
}

/* "make tables" puts it there. */
static void
manual_page_has_between_its_marks_what_the_table_prints(void **state)
{
	static const char begin[] = "\n.\\\" options: begin";
	static const char end[] = ".\\\" options: end";
	const char *top = getenv("top_srcdir");

	(void)state;
	if (top == NULL)
		skip();
	const char *page = tree_file(top, "docs/abided.conf.5");
	const char *from = strstr(page, begin);
	assert_non_null(from);
	from = strchr(from + 1, '\n');
	assert_non_null(from);
	const char *to = strstr(++from, end);
	assert_non_null(to);
	char *now = printed(conf_print_man),
	     *have = strndup(from, (size_t)(to - from));
	assert_non_null(have);
	assert_string_equal(have, now);
	free(have);
	free(now);
}

static void
manual_page_has_an_item_for_each_key_and_no_line_that_is_a_request(void **state)
{
	static const char *const requests[] = {".Ss ", ".It ", ".Bl ", ".El",
	    ".Ql "};
	char *man = printed(conf_print_man);
	char *list = printed(conf_print_options);
	unsigned items = 0, rows = 0;

	(void)state;
	for (const char *p = list; (p = strstr(p, "\n| `")) != NULL; p++)
		rows++;
	for (char *p = man; *p != '\0'; p = strchr(p, '\n') + 1) {
		bool known = p[0] != '.' && p[0] != '\'';

		for (size_t i = 0; i < COUNT(requests); i++)
			known |=
			    strncmp(p, requests[i], strlen(requests[i])) == 0;
		assert_true(known);
		items += strncmp(p, ".It Cm ", 7) == 0;
		assert_true(strchr(p, '\n') - p <= 78 || p[0] == '.');
	}
	assert_int_equal(items, rows);
	assert_non_null(strstr(man, ".It Cm rate\n"));
	assert_non_null(strstr(man,
	    "\nTakes a whole number from 1 to 256, or "
	    "auto.\nA change waits for a restart.\n"
	    "Default:\n.Ql \"auto\" .\n"));
	free(man);
	free(list);
}

/* --- memory -------------------------------------------------------------- */

static const char big[] = "[proxy]\n"
			  "listen = 127.0.0.1:1, [::1]:2, unix:/x\n"
			  "allow_destinations = a.test, 10.0.0.0/8, private\n"
			  "connect_ports = 1, 2, 3\n"
			  "spill_dir = /tmp\n"
			  "auth = /a\n"
			  "[tls]\nca_cert = /a\nca_key = /b\n"
			  "upstream_cert = /c\nupstream_key = /d\n"
			  "[dns]\nservers = 9.9.9.9, ::1\n"
			  "[defaults]\nno_proxy = a.test, private\n"
			  "rate = 1/s\nwait_headers = a:s, b:ms\n"
			  "[service a]\nhosts = a, *.a, b:80\nroute = /a/\n"
			  "key = header:x, query:y\n"
			  "tls = intercept\nupstream_ca = /e\n"
			  "parent_proxy = http://u:p@h:1\n"
			  "no_proxy = *.b, [::1]:80, 10.0.0.0/8\n"
			  "[service b]\nhosts = c\n";
static const char wrong[] = "[proxy]\nworkers = x\nlisten = y\nfoo = 1\n"
			    "[service a]\n[service a]\n"
			    "parent_proxy = http://u:p@h\nno_proxy = a, -\n"
			    "tls = intercept\nupstream_cert = /x\n"
			    "[defaults]\nburst = 4\nmax_wait = 90s\n"
			    "a=1\nb=1\nc=1\nd=1\ne=1\nf=1\ng=1\nh=1\ni=1\n";

/*
 * Every allocation fails once, alone and with all that follow; each time the
 * answer is "out of memory" and nothing stays behind.
 */
static void
sweep(const char *text, bool all_after, bool is_good)
{
	static const char *const s[] = {"proxy.workers=2", "dns.timeout=1s"};
	unsigned long n = 0;

	for (bool done = false; !done;) {
		struct conf_problems p = {.n = 0};

		mem_fail_at(++n, all_after);
		struct conf *c = load(text, "proxy.workers=1", s, 2, &p);
		done = mem_count() < n;
		mem_fail_at(0, false);
		assert_int_equal(c != NULL, done && is_good);
		if (!done) {
			bool told = false;

			for (size_t i = 0; i < p.n; i++)
				told |= strcmp(p.v[i], "out of memory") == 0;
			assert_true(told);
		} else {
			assert_int_equal(p.n > 0, !is_good);
		}
		conf_unref(c);
		conf_problems_free(&p);
	}
	assert_true(n > 40);
}

static void
load_without_memory_fails_and_leaves_nothing(void **state)
{
	(void)state;
	sweep(big, false, true);
	sweep(big, true, true);
}

static void
problems_without_memory_still_say_so(void **state)
{
	(void)state;
	sweep(wrong, false, false);
	sweep(wrong, true, false);
}

static void
file_without_memory_to_read_it_is_out_of_memory(void **state)
{
	(void)state;
	char path[] = "/tmp/abided-conf-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	bool done = false;

	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		assert_true(fputs("# more than one read\n", f) >= 0);
	assert_true(fprintf(f, "[proxy]\ninclude = %s*\n", path) > 0);
	assert_int_equal(fclose(f), 0);
	for (unsigned long n = 1; !done; n++) {
		struct conf_problems p = {.n = 0};

		mem_fail_at(n, false);
		struct conf *c = conf_load(path, NULL, 0, &p);
		done = mem_count() < n;
		mem_fail_at(0, false);
		assert_null(c); /* it includes itself */
		assert_true(p.n > 0);
		if (!done)
			assert_string_equal(p.v[p.n - 1], "out of memory");
		conf_problems_free(&p);
	}
	assert_int_equal(remove(path), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		override_is_split_at_the_last_dot_before_the_equals_sign),
	    cmocka_unit_test(override_replaces_what_the_file_says),
	    cmocka_unit_test(override_alone_makes_a_service),
	    cmocka_unit_test(override_that_is_wrong_is_told_with_its_origin),
	    cmocka_unit_test(override_of_include_replaces_the_file_s_own),
	    cmocka_unit_test(example_says_what_holds_anyway),
	    cmocka_unit_test(option_list_has_a_row_for_each_key_of_the_example),
	    cmocka_unit_test(file_in_the_tree_is_what_the_table_prints),
	    cmocka_unit_test(
		manual_page_has_between_its_marks_what_the_table_prints),
	    cmocka_unit_test(
		manual_page_has_an_item_for_each_key_and_no_line_that_is_a_request),
	    cmocka_unit_test(load_without_memory_fails_and_leaves_nothing),
	    cmocka_unit_test(problems_without_memory_still_say_so),
	    cmocka_unit_test(file_without_memory_to_read_it_is_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
