/* SPDX-License-Identifier: MIT */
/*
 * Presets: the layer between [defaults] and a service. Those that a test makes
 * up are files in a directory of its own, named by preset_dir.
 */
#include "conf_rig.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "edge/conf_set.h"
#include "edge/preset.h"

static char dir[64];

/* --- files --------------------------------------------------------------- */

static int
make_dir(void **state)
{
	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/abided-preset-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int
take_away(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int
remove_dir(void **state)
{
	(void)state;
	return nftw(dir, take_away, 8, FTW_DEPTH | FTW_PHYS);
}

static void
put_file(const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* The text below a [proxy] with preset_dir, in lines 1 and 2. */
static const char *
with_dir(const char *text)
{
	static char whole[2048];

	(void)snprintf(whole, sizeof(whole), "[proxy]\npreset_dir = %s\n%s",
	    dir, text);
	return whole;
}

/* '@' in what is expected stands for the directory. */
static void
bad(const char *text, const char *expected)
{
	char want[2048], *to = want;

	for (const char *p = expected; *p != '\0'; p++) {
		if (*p == '@')
			to = stpcpy(to, dir);
		else
			*to++ = *p;
	}
	*to = '\0';
	rig_bad(with_dir(text), want);
}

static struct conf *
good(const char *text)
{
	return rig_good(with_dir(text));
}

/* --- layers -------------------------------------------------------------- */

static const char mine[] = "# SPDX-License-Identifier: MIT\n"
			   "# Mine: for tests\n"
			   "\n"
			   "[preset mine]\n"
			   "hosts = a.test, b.test\n"
			   "retry_on = 403, 429\n"
			   "max_retries = 9\n"
			   "base_delay = 2s\n"
			   "wait_headers = x-mine:s\n"
			   "key = header:Authorization\n";

static void
preset_stands_between_defaults_and_the_service(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	struct conf *c = good("[defaults]\n"
			      "max_retries = 1\nbase_delay = 1ms\n"
			      "jitter = 3ms\n"
			      "[service s]\npreset = mine\nbase_delay = 5s\n"
			      "[service other]\nhosts = c.test\n");
	const struct conf_service *s = conf_service_named(c, SPAN("s"));
	const struct conf_service *other = c->services[1];

	assert_string_equal(s->preset, "mine");
	assert_string_equal(s->preset_where, "f:8");
	assert_int_equal(s->policy.verdict.max_retries, 9);    /* preset */
	assert_int_equal(s->policy.backoff.base_ms, 5000);     /* service */
	assert_int_equal(s->policy.backoff.jitter_ms, 3);      /* defaults */
	assert_int_equal(s->policy.backoff.max_ms, 10 * 1000); /* built in */
	assert_int_equal(s->policy.nkey, 1);
	assert_int_equal(s->policy.hint.n, 1);
	assert_true(span_eq(s->policy.hint.v[0].name, SPAN("x-mine")));
	assert_true(verdict_statuses_has(&s->policy.verdict.retry_on, 403));
	assert_false(verdict_statuses_has(&s->policy.verdict.retry_on, 503));

	assert_null(other->preset);
	assert_int_equal(other->policy.verdict.max_retries, 1);
	assert_int_equal(other->policy.nkey, 0);
	assert_ptr_equal(conf_service_of(c, SPAN("b.test"), 443), s);
	conf_unref(c);
}

static void
list_of_the_service_replaces_the_preset_s(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	struct conf *c = good("[service s]\npreset = mine\nhosts = z.test\n"
			      "retry_on = 503\nkey = none\n"
			      "[service a]\nhosts = a.test\n");
	const struct conf_service *s = c->services[0];

	assert_int_equal(s->nhosts, 1);
	assert_string_equal(s->hosts[0], "z.test");
	assert_int_equal(s->policy.verdict.retry_on.n, 1);
	assert_int_equal(s->policy.nkey, 0);
	/* The hosts of the preset are free for others. */
	assert_ptr_equal(conf_service_of(c, SPAN("a.test"), 80),
	    c->services[1]);
	assert_ptr_equal(conf_service_of(c, SPAN("b.test"), 80), &c->defaults);
	conf_unref(c);
}

static void
preset_none_is_no_preset(void **state)
{
	(void)state;
	struct conf *c = rig_good("[proxy]\npreset_dir = none\n"
				  "[service s]\npreset = none\nhosts = a\n");

	assert_null(c->services[0]->preset);
	assert_null(c->preset_dir);
	conf_unref(c);
}

static void
services_may_share_a_preset_where_each_has_its_hosts(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	struct conf *c = good("[service s]\npreset = mine\n"
			      "[service t]\npreset = mine\nhosts = t.test\n");

	assert_int_equal(c->services[0]->policy.verdict.max_retries, 9);
	assert_int_equal(c->services[1]->policy.verdict.max_retries, 9);
	conf_unref(c);
	bad("[service s]\npreset = mine\n[service t]\npreset = mine\n",
	    "f:6: preset mine brings 'a.test', which service 's' has already; "
	    "give 's' or 't' hosts of its own\n");
	bad("[service s]\nhosts = b.test\n[service t]\npreset = mine\n",
	    "f:6: preset mine brings 'b.test', which service 's' has already; "
	    "give 's' or 't' hosts of its own\n");
}

static void
override_alone_makes_a_service_of_a_preset(void **state)
{
	(void)state;
	struct conf_problems p = {.n = 0};
	struct conf_overrides o = {.n = 0};

	assert_int_equal(conf_overrides_add_env(&o,
			     "service gh.preset=github;"
			     "service gh.max_retries=2",
			     &p),
	    0);
	assert_int_equal(conf_overrides_add(&o, "service gh.rate=1/s", "-s",
			     &p),
	    0);
	struct conf *c = conf_load(NULL, o.v, o.n, &p);
	assert_non_null(c);
	const struct conf_service *s =
	    conf_service_of(c, SPAN("api.github.com"), 443);
	assert_string_equal(s->name, "gh");
	assert_string_equal(s->preset, "github");
	assert_int_equal(s->policy.verdict.max_retries, 2);
	assert_int_equal(s->policy.bucket.n, 1);
	conf_unref(c);
	conf_overrides_free(&o);
}

/* --- what is wrong ------------------------------------------------------- */

static void
name_that_there_is_not_is_told_with_those_like_it(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	put_file("mine-too.conf", mine);
	put_file("mine.conf~", mine);
	put_file("Mine.conf", mine);
	bad("[service s]\npreset = mien\n[service t]\npreset = qqqqqqqqqqqq\n",
	    "f:4: preset 'mien': there is none of that name; did you mean "
	    "'mine'? \"abidectl presets\" lists all\n"
	    "f:6: preset 'qqqqqqqqqqqq': there is none of that name; "
	    "\"abidectl presets\" lists all\n");
	bad("[service s]\npreset = too\n[service t]\npreset = ../mine\n"
	    "[service u]\npreset =\n",
	    "f:4: preset 'too': there is none of that name; did you mean "
	    "'mine-too'? \"abidectl presets\" lists all\n"
	    "f:6: preset '../mine': there is none of that name; did you mean "
	    "'mine'? \"abidectl presets\" lists all\n"
	    "f:8: preset '': the value is missing; it takes the name of a "
	    "preset, or none\n");
	/* Where it may stand. */
	bad("[defaults]\npreset = mine\n[preset x]\nhosts = a\n",
	    "f:4: 'preset' has no place in [defaults]; it belongs in [service "
	    "NAME]\n"
	    "f:5: [preset x] has no place here: a preset is a file of its own "
	    "in preset_dir, and a service names it: preset = NAME\n");
}

static void
problem_in_a_preset_is_told_with_its_file_and_line(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[preset mine]\nmax_retries = x\nretry_on = 1, 2\nhosts = a\n",
		"@/mine.conf:2: max_retries 'x': it is no whole number; it "
		"takes a whole number from 0 to 1000\n"
		"@/mine.conf:3: retry_on '1': out of range; it takes a list of "
		"statuses from 400 to 599, or none\n"
		"@/mine.conf:3: retry_on '2': out of range; it takes a list of "
		"statuses from 400 to 599, or none\n"},
	    {"[preset mine]\nhosts = a\nbase_dely = 1s\n",
		"@/mine.conf:3: unknown key 'base_dely' in [preset NAME]; did "
		"you mean 'base_delay'?\n"},
	    {"[preset mine]\nhosts = a, a\n",
		"@/mine.conf:2: hosts 'a': listed twice in this service; take "
		"one out\n"},
	    {"[preset mine]\nhosts = a\nworkers = 2\nroute = /a/\n"
	     "upstream_key = /a\nparent_proxy = http://a:1\npreset = b\n",
		"@/mine.conf:3: 'workers' has no place in [preset NAME]; it "
		"belongs in [proxy]\n"
		"@/mine.conf:4: 'route' has no place in [preset NAME]; it "
		"belongs in [service NAME]\n"
		"@/mine.conf:5: 'upstream_key' has no place in [preset NAME]; "
		"it belongs in [tls], [defaults] or [service NAME]\n"
		"@/mine.conf:6: 'parent_proxy' has no place in [preset NAME]; "
		"it belongs in [defaults] or [service NAME]\n"
		"@/mine.conf:7: 'preset' has no place in [preset NAME]; it "
		"belongs in [service NAME]\n"},
	    {"[preset other]\nhosts = a\nworkers = 1\n[proxy]\n",
		"@/mine.conf:1: [preset other] has no place here: this file "
		"has one section, [preset mine], named as it is itself\n"
		"@/mine.conf:4: [proxy] has no place here: this file has one "
		"section, [preset mine], named as it is itself\n"},
	    {"# nothing\n",
		"@/mine.conf: the section [preset mine] is missing\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		put_file("mine.conf", v[i].text);
		bad("[service s]\npreset = mine\n"
		    "[service t]\nhosts = y\npreset = mine\n",
		    v[i].problems);
	}
}

/* A preset must be right everywhere, and it must lead nobody's requests, keys
 * or files anywhere. */
static void
option_that_names_a_file_or_a_way_has_no_place_in_a_preset(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_noptions; i++) {
		const struct conf_option *opt = &conf_options[i];
		bool place = opt->set == conf_set_file ||
		    opt->set == conf_set_parent || opt->set == conf_set_route ||
		    opt->set == conf_set_no_proxy || opt->secret;

		if ((opt->in & CONF_IN_SERVICE) && place && !opt->local)
			fail_msg("%s lacks .local in conf_table.c", opt->key);
	}
}

static void
file_of_a_preset_that_can_t_be_read_is_told(void **state)
{
	char path[128];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/dir.conf", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	bad("[service s]\npreset = dir\n",
	    "f:4: preset dir: cannot read @/dir.conf: not a regular file\n");
	rig_bad("[proxy]\npreset_dir = /no/such\n",
	    "f:2: preset_dir '/no/such': there is no such directory; it takes "
	    "the path of a directory, which begins with /, or none\n");
	rig_bad("[proxy]\npreset_dir = such\n",
	    "f:2: preset_dir 'such': a directory's path begins with /; it "
	    "takes the path of a directory, which begins with /, or none\n");
}

/* Of values that contradict each other the upper layer's is to blame. */
static void
contradiction_is_told_where_the_upper_layer_has_it(void **state)
{
	(void)state;
	put_file("mine.conf",
	    "[preset mine]\nhosts = a\nbase_delay = 2s\nmax_delay = 8s\n"
	    "rate = 5/s\nburst = 3\n");
	bad("[service s]\npreset = mine\nmax_delay = 1s\n",
	    "f:5: max_delay (1s) is shorter than base_delay (2s, "
	    "@/mine.conf:3); raise it or lower base_delay\n");
	bad("[service s]\npreset = mine\nbase_delay = 9s\n",
	    "f:5: base_delay (9s) is longer than max_delay (8s, "
	    "@/mine.conf:4); lower it or raise max_delay\n");
	/* A burst of the preset that a rate of the service has no use for. */
	struct conf *c = good("[service s]\npreset = mine\nrate = 1/s burst "
			      "2\n");
	assert_int_equal(c->services[0]->policy.bucket.v[0].burst, 2);
	conf_unref(c);
	put_file("mine.conf",
	    "[preset mine]\nhosts = a\nbase_delay = 2s\nmax_delay = 1s\n"
	    "burst = 3\n");
	bad("[service s]\npreset = mine\n",
	    "@/mine.conf:3: base_delay (2s) is longer than max_delay (1s, "
	    "@/mine.conf:4); lower it or raise max_delay\n"
	    "@/mine.conf:5: burst (3) has no effect: service 's' has no rate "
	    "without a burst of its own\n");
}

/* Nobody can mend what two strangers have written: the preset counts. */
static void
value_of_defaults_that_does_not_fit_gives_way_to_the_preset(void **state)
{
	(void)state;
	put_file("mine.conf",
	    "[preset mine]\nhosts = a\ndeadline = 2min\nbase_delay = 20s\n");
	struct conf *c = good("[defaults]\ndeadline = 10min\nmax_wait = 5min\n"
			      "queue_timeout = 1min\nmax_delay = 15s\n"
			      "[service s]\npreset = mine\n");
	const struct policy *p = &c->services[0]->policy;

	assert_int_equal(p->deadline_ms, 120 * 1000);
	assert_int_equal(p->max_wait_ms, 120 * 1000);
	assert_int_equal(p->queue_timeout_ms, 60 * 1000);
	assert_int_equal(p->backoff.base_ms, 20 * 1000);
	assert_int_equal(p->backoff.max_ms, 20 * 1000);
	assert_int_equal(c->defaults.policy.max_wait_ms, 300 * 1000);
	assert_int_equal(c->defaults.policy.backoff.max_ms, 15 * 1000);
	conf_unref(c);
	bad("[service s]\npreset = mine\nmax_wait = 5min\n",
	    "f:5: max_wait (5min) is longer than deadline (2min, "
	    "@/mine.conf:3); lower it or raise deadline\n");
}

/* --- hints --------------------------------------------------------------- */

static char said[512];

static void
say(struct span hint)
{
	(void)snprintf(said + strlen(said), sizeof(said) - strlen(said),
	    "%.*s\n", SPAN_ARG(hint));
}

static const char *
hints_of(const char *text)
{
	struct conf *c = good(text);

	said[0] = '\0';
	conf_hints(c, say);
	conf_unref(c);
	return said;
}

static void
hint_that_https_passes_unread_is_given_unless_that_was_said(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	assert_string_equal(hints_of("[service s]\npreset = mine\n"
				     "[service t]\nhosts = t\n"),
	    "f:4: preset mine sees no request that is made by https:// through "
	    "a tunnel; give service 's' tls = intercept or tls = originate, or "
	    "say tls = tunnel if that is meant\n");
	assert_string_equal(hints_of(
				"[service s]\npreset = mine\ntls = tunnel\n"),
	    "");
	assert_string_equal(
	    hints_of("[service s]\npreset = mine\ntls = originate\n"), "");
}

/* --- the built-in ones --------------------------------------------------- */

/* A service that says nothing but its preset. */
static struct conf *
alone(const char *name, const char *text)
{
	char whole[256];

	(void)snprintf(whole, sizeof(whole), "%s[service s-%s]\npreset = %s\n",
	    text, name, name);
	return rig_good(whole);
}

static void
built_in_presets_are_sorted_and_right_each_by_itself(void **state)
{
	(void)state;
	assert_true(preset_nbuilt_in > 0);
	for (size_t i = 0; i < preset_nbuilt_in; i++) {
		const struct preset_built_in *b = &preset_built_in[i];
		struct span text = {(const char *)b->text, b->n};

		assert_true(preset_is_name(span_of(b->name)));
		assert_true(i == 0 || strcmp(b[-1].name, b->name) < 0);
		assert_true(span_starts(text,
		    SPAN("# SPDX-License-Identifier: MIT\n")));
		assert_true(preset_about(text).n > 0);
		struct conf *c = alone(b->name, "");
		assert_true(c->services[0]->nhosts > 0);
		conf_unref(c);
	}
}

/* No host twice, not as it is spelt nor in any other way. */
static void
built_in_presets_have_no_host_in_common(void **state)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < preset_nbuilt_in; i++)
		assert_true(fprintf(f, "[service s%zu]\npreset = %s\n", i,
				preset_built_in[i].name) > 0);
	assert_int_equal(fclose(f), 0);
	struct conf *c = rig_good(text);
	assert_int_equal(c->nservices, preset_nbuilt_in);
	conf_unref(c);
	free(text);
}

/* What is in the program is what is in the tree, where the tree is at hand. */
static void
built_in_presets_are_the_files_of_the_tree(void **state)
{
	const char *top = getenv("top_srcdir");
	struct conf_pool pool = {.failed = false};
	struct preset_names names;
	char path[4096];

	(void)state;
	if (top == NULL)
		skip();
	(void)snprintf(path, sizeof(path), "%s/etc/presets", top);
	assert_int_equal(preset_list(path, &pool, &names), 0);
	assert_int_equal(names.n, preset_nbuilt_in);
	for (size_t i = 0; i < names.n; i++) {
		const struct preset_built_in *b = &preset_built_in[i];
		struct preset p;
		const char *why;

		assert_string_equal(names.v[i], b->name);
		assert_int_equal(preset_open(path, span_of(b->name), &pool, &p,
				     &why),
		    PRESET_OK);
		assert_int_equal(p.text.n, b->n);
		assert_memory_equal(p.text.p, b->text, b->n);
		preset_close(&p);
	}
	conf_pool_free(&pool);
}

static void
preset_of_the_directory_wins_over_the_built_in_one(void **state)
{
	(void)state;
	put_file("github.conf", "[preset github]\nhosts = gh.test\n");
	struct conf *c = good("[service s]\npreset = github\n");
	assert_int_equal(c->services[0]->nhosts, 1);
	assert_string_equal(c->services[0]->hosts[0], "gh.test");
	assert_string_equal(c->preset_dir, dir);
	conf_unref(c);

	c = rig_good("[service s]\npreset = github\n");
	assert_ptr_equal(conf_service_of(c, SPAN("api.github.com"), 443),
	    c->services[0]);
	conf_unref(c);
}

/* --- memory -------------------------------------------------------------- */

/* Every allocation fails once: it is told, and nothing stays behind. */
static void
sweep(const char *text, bool all_after, bool is_good)
{
	unsigned long n = 0;

	for (bool done = false; !done;) {
		struct conf_problems p = {.n = 0};
		bool told = false;

		mem_fail_at(++n, all_after);
		struct conf *c =
		    conf_load_text("f", span_of(text), NULL, 0, &p);
		done = mem_count() < n;
		mem_fail_at(0, false);
		assert_int_equal(c != NULL, done && is_good);
		for (size_t i = 0; i < p.n; i++)
			told |= strcmp(p.v[i], "out of memory") == 0;
		assert_int_equal(told, !done);
		conf_unref(c);
		conf_problems_free(&p);
	}
	assert_true(n > 40);
}

static void
preset_without_memory_fails_and_leaves_nothing(void **state)
{
	(void)state;
	put_file("mine.conf", mine);
	const char *text = with_dir("[service s]\npreset = mine\n"
				    "[service t]\npreset = github\n"
				    "hosts = t\n");
	sweep(text, false, true);
	sweep(text, true, true);
	text = with_dir("[service s]\npreset = mien\n"
			"[service t]\npreset = dir\n");
	sweep(text, false, false);
	sweep(text, true, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(preset_stands_between_defaults_and_the_service),
	    cmocka_unit_test(list_of_the_service_replaces_the_preset_s),
	    cmocka_unit_test(preset_none_is_no_preset),
	    cmocka_unit_test(
		services_may_share_a_preset_where_each_has_its_hosts),
	    cmocka_unit_test(override_alone_makes_a_service_of_a_preset),
	    cmocka_unit_test(name_that_there_is_not_is_told_with_those_like_it),
	    cmocka_unit_test(
		problem_in_a_preset_is_told_with_its_file_and_line),
	    cmocka_unit_test(
		option_that_names_a_file_or_a_way_has_no_place_in_a_preset),
	    cmocka_unit_test(file_of_a_preset_that_can_t_be_read_is_told),
	    cmocka_unit_test(
		contradiction_is_told_where_the_upper_layer_has_it),
	    cmocka_unit_test(
		value_of_defaults_that_does_not_fit_gives_way_to_the_preset),
	    cmocka_unit_test(
		hint_that_https_passes_unread_is_given_unless_that_was_said),
	    cmocka_unit_test(
		built_in_presets_are_sorted_and_right_each_by_itself),
	    cmocka_unit_test(built_in_presets_have_no_host_in_common),
	    cmocka_unit_test(built_in_presets_are_the_files_of_the_tree),
	    cmocka_unit_test(
		preset_of_the_directory_wins_over_the_built_in_one),
	    cmocka_unit_test(preset_without_memory_fails_and_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
