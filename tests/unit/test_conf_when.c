/* SPDX-License-Identifier: MIT */
/* Rules about answers in the configuration: one a line, layers, mistakes. */
#include "conf_rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct when_cfg *
when_of(const struct conf *c, const char *service)
{
	const struct conf_service *s = conf_service_named(c, span_of(service));

	assert_non_null(s);
	return &s->policy.when;
}

/* The text that the last term of the rule compares with. */
static void
assert_text(const struct when_rule *r, const char *text)
{
	const struct when_term *t = &r->term[r->nterms - 1];
	struct span got = {r->bytes + t->text.at, t->text.n};

	if (!span_eq(got, span_of(text)))
		fail_msg("'%.*s', not '%s'", SPAN_ARG(got), text);
}

/* --- lists ---------------------------------------------------------------- */

static void
rules_stand_one_a_line(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[defaults]\n"
		     "throttled_when = 403 header x-ratelimit-remaining = 0\n"
		     "\t400 body \"a, b\" ; the comma is text\n"
		     "  200 json error = rate_limited\n"
		     "throttled_when = *\n"
		     "permanent_when = 429 json error.code = x\n"
		     "wait_body = 429 json a.*.b : duration\n"
		     "wait_when =\n"
		     "  403 : 90s\n");
	const struct when_cfg *w = &c->defaults.policy.when;

	assert_int_equal(w->throttled.n, 4);
	assert_text(&w->throttled.v[0], "0");
	assert_text(&w->throttled.v[1], "a, b");
	assert_text(&w->throttled.v[2], "rate_limited");
	assert_true(w->throttled.v[3].any_status);
	assert_int_equal(w->permanent.n, 1);
	assert_int_equal(w->wait_body.n, 1);
	assert_int_equal(w->wait_body.v[0].format, HINT_DURATION);
	assert_int_equal(w->wait.n, 1);
	assert_int_equal(w->wait.v[0].wait_ms, 90000);
	conf_unref(c);
}

static void
service_replaces_the_rules_of_the_layer_below(void **state)
{
	(void)state;
	struct conf *c = rig_good("[defaults]\n"
				  "throttled_when = 400 body x\n"
				  "throttled_when = 400 body y\n"
				  "wait_when = 400 : 1s\n"
				  "[service a]\nhosts = a\n"
				  "throttled_when = none\n"
				  "[service b]\nhosts = b\n"
				  "throttled_when = 400 body z\n"
				  "[service c]\nhosts = c\n");

	assert_int_equal(when_of(c, "a")->throttled.n, 0);
	assert_int_equal(when_of(c, "a")->wait.n, 1);
	assert_int_equal(when_of(c, "b")->throttled.n, 1);
	assert_text(&when_of(c, "b")->throttled.v[0], "z");
	assert_int_equal(when_of(c, "c")->throttled.n, 2);
	conf_unref(c);

	c = rig_good("");
	assert_int_equal(c->defaults.policy.when.throttled.n, 0);
	assert_int_equal(c->defaults.policy.when.permanent.n, 0);
	assert_int_equal(c->defaults.policy.when.wait_body.n, 0);
	assert_int_equal(c->defaults.policy.when.wait.n, 0);
	conf_unref(c);
}

static void
list_ends_at_64_rules(void **state)
{
	char text[4096] = "[defaults]\n";
	struct conf_problems p = {.n = 0};
	size_t n = strlen(text);

	(void)state;
	for (unsigned i = 0; i < WHEN_RULES_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "wait_when = 4%02u : 1s\n", i);
	struct conf *c = rig_good(text);
	assert_int_equal(c->defaults.policy.when.wait.n, WHEN_RULES_MAX);
	conf_unref(c);
	(void)snprintf(text + n, sizeof(text) - n, "wait_when = 503 : 1s\n");
	rig_expect(conf_load_text("f", span_of(text), NULL, 0, &p), &p,
	    "f:66: wait_when '503 : 1s': more than 64 rules in this list\n");
}

static void
post_may_be_repeated_after_any_status(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[defaults]\nretry_non_idempotent = 200, 400, 429\n");
	const struct verdict_cfg *v = &c->defaults.policy.verdict;

	assert_int_equal(v->retry_non_idempotent.n, 3);
	assert_int_equal(v->retry_non_idempotent.v[0], 200);
	conf_unref(c);
	rig_bad("[defaults]\nretry_non_idempotent = 199\n",
	    "f:2: retry_non_idempotent '199': out of range; it takes a list of "
	    "statuses from 200 to 599, or never, or always\n");
	rig_bad("[defaults]\nretry_on = 200\n",
	    "f:2: retry_on '200': out of range; it takes a list of statuses "
	    "from 400 to 599, or none\n");
}

/* --- comments and quotes -------------------------------------------------- */

static void
semicolon_in_quotes_is_written_with_a_backslash(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[defaults]\n"
		     "throttled_when = 400 body \"a \\; b \\# c\"\n"
		     "throttled_when = 400 body \"a;b#c\"\n"
		     "throttled_when = 400 body a;b#c ; so\n");
	const struct when_list *l = &c->defaults.policy.when.throttled;

	assert_int_equal(l->n, 3);
	assert_text(&l->v[0], "a ; b # c");
	assert_text(&l->v[1], "a;b#c");
	assert_text(&l->v[2], "a;b#c");
	conf_unref(c);
	rig_bad("[defaults]\nthrottled_when = 400 body \"a ; b\"\n",
	    "f:2: throttled_when '400 body \"a': '\"' at its byte 10: the "
	    "closing quote is missing (in a file \" ;\" begins a comment even "
	    "in quotes; write \\; there); docs/RULES.md has the grammar\n");
	rig_bad("[defaults]\nthrottled_when = 400 body \"a # b\"\n",
	    "f:2: a comment behind a value begins with \" ;\", '#' only begins "
	    "a line\n");
}

static struct conf *
with_env(const char *env, struct conf_problems *p)
{
	struct conf_overrides o = {.n = 0};
	struct conf *c = NULL;

	if (conf_overrides_add_env(&o, env, p) == 0)
		c = conf_load_text("f", SPAN(""), o.v, o.n, p);
	conf_overrides_free(&o);
	return c;
}

static void
environment_keeps_semicolons_in_quotes(void **state)
{
	static const struct {
		const char *env, *text;
		unsigned retries;
	} v[] = {
	    {"defaults.throttled_when=400 body \"a; b=c.d\";defaults.max_retries=2",
		"a; b=c.d", 2},
	    {"defaults.max_retries=3; defaults.throttled_when=400 body \"x\\\";y\"",
		"x\";y", 3},
	    {"defaults.throttled_when=400 body a;defaults.max_retries=4", "a",
		4},
	    /* Of one origin they add up; the last one is looked at. */
	    {"defaults.throttled_when=400 body \"a;\"; "
	     "defaults.throttled_when=400 body \";b\"; defaults.max_retries=5",
		";b", 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		struct conf_problems p = {.n = 0};
		struct conf *c = with_env(v[i].env, &p);

		if (p.n > 0)
			print_error("%s: %s\n", v[i].env, p.v[0]);
		assert_non_null(c);
		const struct when_list *l = &c->defaults.policy.when.throttled;
		assert_text(&l->v[l->n - 1], v[i].text);
		assert_int_equal(c->defaults.policy.verdict.max_retries,
		    v[i].retries);
		conf_unref(c);
	}
}

/* A quote that is never closed does not swallow what follows. */
static void
environment_is_split_behind_a_lone_quote(void **state)
{
	struct conf_problems p = {.n = 0};

	(void)state;
	struct conf *c = with_env(
	    "defaults.throttled_when=400 body \"a; defaults.max_retries=1001",
	    &p);
	rig_expect(c, &p,
	    "ABIDED_SET defaults.max_retries=1001: max_retries '1001': out of "
	    "range; it takes a whole number from 0 to 1000\n"
	    "ABIDED_SET defaults.throttled_when=400 body \"a: throttled_when "
	    "'400 body \"a': '\"' at its byte 10: the closing quote is missing "
	    "(in a file \" ;\" begins a comment even in quotes; write \\; "
	    "there); docs/RULES.md has the grammar\n");
}

/* --- mistakes ------------------------------------------------------------- */

#define GRAMMAR "; docs/RULES.md has the grammar"

/* Without a `why`: that of the row above. */
static const struct {
	enum when_kind kind;
	const char *rule, *word, *why;
} bad_rules[] = {
    {WHEN_RULE, "header a", "'header' at its byte 1",
	"a rule begins with statuses: 200 to 599, 2xx to 5xx, or *, "
	"joined by '|' without blanks"},
    {WHEN_RULE, "199", "'199' at its byte 1", NULL},
    {WHEN_RULE, "600", "'600' at its byte 1", NULL},
    {WHEN_RULE, "1xx", "'1xx' at its byte 1", NULL},
    {WHEN_RULE, "4x", "'4x' at its byte 1", NULL},
    {WHEN_RULE, "429|", "at its byte 5", NULL},
    {WHEN_RULE, "429|50", "'50' at its byte 5", NULL},
    {WHEN_RULE, "429, 503 body x", "'429,' at its byte 1", NULL},
    {WHEN_RULE, "429 | 503", "'|' at its byte 5",
	"a term begins with header, json or body, and is followed by "
	"the next one after \"and\""},
    {WHEN_RULE, "429 headr a = 1", "'headr' at its byte 5", NULL},
    {WHEN_RULE, "429 and body a", "'and' at its byte 5", NULL},
    {WHEN_RULE, "429 body a and", "at its byte 15", NULL},
    {WHEN_RULE, "429 header", "at its byte 11",
	"the name of a header field is missing"},
    {WHEN_RULE, "429 header a:b", "'a:b' at its byte 12",
	"that is no name of a header field"},
    {WHEN_RULE, "429 header a=b", "'a=b' at its byte 12", NULL},
    {WHEN_RULE, "429 header a == b", "'==' at its byte 14",
	"here may stand =, !=, <, >, contains, present, absent, \"and\" "
	"or \":\", with blanks around it"},
    {WHEN_RULE, "429 header a =", "at its byte 15",
	"the text to compare with is missing"},
    {WHEN_RULE, "429 header a = \"\"", "'\"\"' at its byte 16", NULL},
    {WHEN_RULE, "429 header a < b", "'b' at its byte 16",
	"a number must follow < and >"},
    {WHEN_RULE, "429 header a > 1e3", "'1e3' at its byte 16", NULL},
    {WHEN_RULE, "429 header a > -1.", "'-1.' at its byte 16", NULL},
    {WHEN_RULE, "429 header a absent b", "'b' at its byte 21",
	"only \"and\" may follow a whole term; a text with blanks in "
	"it stands in quotes"},
    {WHEN_RULE, "429 body rate limit", "'limit' at its byte 15", NULL},
    {WHEN_RULE, "429 body", "at its byte 9", "the text to look for is missing"},
    {WHEN_RULE, "429 body \"a", "'\"' at its byte 10",
	"the closing quote is missing (in a file \" ;\" begins a "
	"comment even in quotes; write \\; there)"},
    {WHEN_RULE, "429 body \"a\\n\"", "'\\' at its byte 12",
	"in quotes a '\\' may stand before '\"', '\\', ';' and '#' "
	"only; write \\\\ for one of them"},
    {WHEN_RULE, "429 body \"a\"b", "'b' at its byte 13",
	"text follows the closing quote; a blank must stand between"},
    {WHEN_RULE, "429 body a\"b\"", "'a\"b\"' at its byte 10",
	"a quote inside a word; put the whole text in quotes"},
    {WHEN_RULE, "429 json", "at its byte 9", "a path is missing"},
    {WHEN_RULE, "429 json a..b", "'.b' at its byte 12",
	"a name is missing in the path"},
    {WHEN_RULE, "429 json \"a", "'\"' at its byte 10",
	"the closing quote is missing (in a file \" ;\" begins a "
	"comment even in quotes; write \\; there)"},
    {WHEN_RULE, "429 json a : s", "':' at its byte 12",
	"nothing may follow here"},
    {WHEN_RULE, "429 body a and body b and body c and body d and body e",
	"'body' at its byte 49", "more than 4 terms in a rule"},
    {WHEN_WAIT_BODY, "429 : s", "':' at its byte 5",
	"what tells the wait stands last: json PATH : FORMAT, or body "
	"TEXT : FORMAT (fields tell it by wait_headers)"},
    {WHEN_WAIT_BODY, "429 header a : s", "':' at its byte 14", NULL},
    {WHEN_WAIT_BODY, "429 json a = 1 : s", "':' at its byte 16", NULL},
    {WHEN_WAIT_BODY, "429 json a", "at its byte 11",
	"\": FORMAT\" is missing behind the rule (: s)"},
    {WHEN_WAIT_BODY, "429 json a :", "at its byte 13",
	"no such format; those of wait_headers may stand here"},
    {WHEN_WAIT_BODY, "429 json a : sec", "'sec' at its byte 14", NULL},
    {WHEN_WAIT_BODY, "429 json a : sec s", "'sec' at its byte 14", NULL},
    {WHEN_WAIT_BODY, "429 json a : s s", "'s' at its byte 16",
	"nothing may follow here"},
    {WHEN_WAIT, "429", "at its byte 4",
	"\": DURATION\" is missing behind the rule (: 60s)"},
    {WHEN_WAIT, "429 : 60", "'60' at its byte 7",
	"that is no duration: a whole number with ms, s, min, h or d, "
	"from 1ms to 35d"},
    {WHEN_WAIT, "429 : 0s", "'0s' at its byte 7", NULL},
    {WHEN_WAIT, "429 : 36d", "'36d' at its byte 7", NULL},
    {WHEN_WAIT, "429 : 99999999999999999999s",
	"'99999999999999999999s' at its byte 7", NULL},
    {WHEN_WAIT, "429 : 1.5s", "'1.5s' at its byte 7", NULL},
};

static void
bad_rule_is_told_by_its_word(void **state)
{
	static const char *const keys[] = {"throttled_when", "wait_body",
	    "wait_when"};
	const char *why = "";

	(void)state;
	for (size_t i = 0; i < COUNT(bad_rules); i++) {
		char text[300], want[600];

		why = bad_rules[i].why ? bad_rules[i].why : why;
		(void)snprintf(text, sizeof(text), "[defaults]\n%s = %s\n",
		    keys[bad_rules[i].kind], bad_rules[i].rule);
		(void)snprintf(want, sizeof(want), "f:2: %s '%s': %s: %s%s\n",
		    keys[bad_rules[i].kind], bad_rules[i].rule,
		    bad_rules[i].word, why, GRAMMAR);
		rig_bad(text, want);
	}
}

static void
long_rule_is_told(void **state)
{
	const struct span text = SPAN("defaults.wait_when=429 body ");
	const struct span tail = SPAN(" : 1s");
	const size_t key = strlen("defaults.wait_when=");

	(void)state;
	for (size_t n = WHEN_RULE_BYTES_MAX; n <= WHEN_RULE_BYTES_MAX + 1;
	     n++) {
		char whole[700];
		struct conf_problems p = {.n = 0};
		struct conf_overrides o = {.n = 0};

		memset(whole, 'x', sizeof(whole));
		memcpy(whole, text.p, text.n);
		memcpy(whole + key + n - tail.n, tail.p, tail.n);
		whole[key + n] = '\0';
		assert_int_equal(conf_overrides_add(&o, whole, "-s", &p), 0);
		struct conf *c = conf_load_text("f", SPAN(""), o.v, o.n, &p);
		assert_int_equal(c != NULL, n == WHEN_RULE_BYTES_MAX);
		assert_int_equal(p.n, n > WHEN_RULE_BYTES_MAX);
		if (p.n > 0)
			assert_non_null(strstr(p.v[0],
			    "at its byte 513: the rule is longer than 512 "
			    "bytes"));
		conf_unref(c);
		conf_problems_free(&p);
		conf_overrides_free(&o);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_stand_one_a_line),
	    cmocka_unit_test(service_replaces_the_rules_of_the_layer_below),
	    cmocka_unit_test(list_ends_at_64_rules),
	    cmocka_unit_test(post_may_be_repeated_after_any_status),
	    cmocka_unit_test(semicolon_in_quotes_is_written_with_a_backslash),
	    cmocka_unit_test(environment_keeps_semicolons_in_quotes),
	    cmocka_unit_test(environment_is_split_behind_a_lone_quote),
	    cmocka_unit_test(bad_rule_is_told_by_its_word),
	    cmocka_unit_test(long_rule_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
