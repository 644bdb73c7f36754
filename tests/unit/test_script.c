/* SPDX-License-Identifier: MIT */
/* What a script is told, what it may answer, and what is told of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/log.h"
#include "edge/script_box.h"
#include "script_rig.h"

/* --- what it is told, what it answers ------------------------------------- */

static void
script_ctx_has_what_is_known(void **state)
{
	static const char *const facts[] = {"ctx.attempt == 2",
	    "ctx.status == 429", "ctx.headers['retry-after'] == '3'",
	    "ctx.headers['x-one'] == 'a, b'", "ctx.headers['X-One'] == nil",
	    "ctx.headers['set-cookie'] == nil", "ctx.body_prefix:len() == 11",
	    "ctx.body_prefix:match('\"wait\": (%d+)') == '9'",
	    "ctx.service == 'api'", "ctx.key == 'api.test:80'",
	    "ctx.waited_ms == 1500", "ctx.deadline_ms == 50000",
	    "ctx.hint_ms == 3000", "ctx.backoff_ms == 700",
	    "ctx.now_ms == 1790000000000", "math.type(ctx.now_ms) == 'integer'",
	    "_G.get_delay == get_delay", "_VERSION == 'Lua 5.4'"};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		assert_true_in_lua(&g, facts[i]);
	g.ctx.hint_ms = 0;
	g.call.body = (struct span){"", 0};
	assert_true_in_lua(&g, "ctx.hint_ms == nil and ctx.body_prefix == ''");
	strbuf_free(&g.why);
}

/* An absolute time is compared with the clock of the server. */
static void
script_now_is_the_servers_date(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	rig_head(&g,
	    "HTTP/1.1 429 X\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
	    "Age: 3\r\n\r\n");
	assert_true_in_lua(&g, "ctx.now_ms == 784111780000");
	strbuf_free(&g.why);
}

static void
script_numbers_are_ms(void **state)
{
	static const struct {
		const char *value;
		int64_t ms;
	} rows[] = {{"0", 0}, {"0.0", 0}, {"-0.0", 0}, {"1", 1}, {"1.0", 1},
	    {"1.001", 2}, {"0.0001", 1}, {"2^31", INT64_C(1) << 31},
	    {"1e300", INT64_C(1) << 62}, {"2^62", INT64_C(1) << 62},
	    {"math.maxinteger", INT64_MAX}, {"ctx.hint_ms * 1.5", 4500},
	    {"3 // 2", 1}, {"3 / 2", 2}, {"7, 8, 9", 7}};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_wait(&g, rows[i].value, rows[i].ms);
	strbuf_free(&g.why);
}

static void
script_nil_is_own_backoff_and_false_gives_up(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	rig_eval(&g, "nil");
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.got.kind, CUSTOM_OWN);
	rig_run(&g, "function get_delay() end"); /* nothing is nil */
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.got.kind, CUSTOM_OWN);
	rig_eval(&g, "false");
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.got.kind, CUSTOM_GIVE_UP);
	strbuf_free(&g.why);
}

static void
script_other_answers_are_errors(void **state)
{
	static const char *const bad[] = {"-1", "-0.5", "0/0", "1/0", "-1/0",
	    "math.mininteger", "'100'", "true", "{}", "print", "''",
	    "string.rep"};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rig_eval(&g, bad[i]);
		if (g.rc == 0)
			print_error("taken: %s\n", bad[i]);
		assert_int_equal(g.rc, -1);
		assert_non_null(strstr(rig_why(&g), "get_delay returned"));
	}
	strbuf_free(&g.why);
}

static void
script_errors_say_where(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_fails(&g, "function get_delay(c)\n\nreturn c.a.b end",
	    "test.lua:3: attempt to index a nil value (field 'a')");
	assert_fails(&g, "function get_delay(c)\nerror('no idea') end",
	    "test.lua:2: no idea");
	assert_fails(&g, "function get_delay(c)\nerror({}) end",
	    "error() was called with a table");
	assert_fails(&g, "function get_delay(c)\nerror() end",
	    "error() was called with a nil");
	assert_fails(&g, "function get_delay(c)\nerror(7) end",
	    "error() was called with a number");
	strbuf_free(&g.why);
}

static void
script_that_is_none_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
	    {"function get_delay(c)\n  retrun 1\nend",
		"test.lua:2: syntax error near '1'"},
	    {"", "it defines no function get_delay"},
	    {"local function get_delay() return 1 end",
		"it defines no function get_delay"},
	    {"get_delay = 5", "get_delay is a number, not a function"},
	    {"function get_delay() end wants_body = 'yes'",
		"wants_body is a string; true or false"},
	    {"error('top')", "test.lua:1: top"},
	    {"while true do end", "it ran for too long"},
	    {"\x1bLua", "attempt to load a binary chunk"},
	    {"function get_delay() goto x end", "no visible label 'x'"},
	};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_fails(&g, rows[i].text, rows[i].words);
	strbuf_free(&g.why);
}

static void
script_says_whether_it_wants_bodies(void **state)
{
	static const struct {
		const char *text;
		bool wants;
	} rows[] = {{"function get_delay() end", false},
	    {"wants_body = true function get_delay() end", true},
	    {"wants_body = false function get_delay() end", false}};
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 1024);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct script *s;

		assert_int_equal(script_new("a", span_of(rows[i].text), &s,
				     &why),
		    0);
		assert_int_equal(s->wants_body, rows[i].wants);
		script_free(s);
	}
	strbuf_free(&why);
}

/* Neither a global nor a local of the file nor a library that was changed. */
static void
script_remembers_nothing(void **state)
{
	static const char text[] =
	    "n = 0 local m = 0\n"
	    "function get_delay()\n"
	    "  n = n + 1 m = m + 1 seen = (seen or 0) + 1\n"
	    "  string.calls = (string.calls or 0) + 1\n"
	    "  return n + m + seen + string.calls\n"
	    "end";
	struct script *s;
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_int_equal(script_new("a", SPAN(text), &s, &g.why), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(script_call(s, &g.call, &g.got, &g.why), 0);
		assert_int_equal(g.got.ms, 4);
	}
	script_free(s);
	strbuf_free(&g.why);
}

static void
script_random_follows_its_seed(void **state)
{
	struct rig g;
	int64_t first, other;

	(void)state;
	rig_init(&g);
	rig_eval(&g, "math.random(1000000000)");
	assert_int_equal(g.rc, 0);
	first = g.got.ms;
	assert_wait(&g, "math.random(1000000000)", first);
	g.call.seed++;
	rig_eval(&g, "math.random(1000000000)");
	other = g.got.ms;
	assert_int_not_equal(first, other);
	strbuf_free(&g.why);
}

/* --- many threads, the log -------------------------------------------------- */

static void *
call_often(void *arg)
{
	struct script *s = arg;
	intptr_t told = 0;
	struct rig g;

	rig_init(&g);
	for (int i = 0; i < 200; i++) {
		g.ctx.attempt = (unsigned)i;
		if (script_call(s, &g.call, &g.got, &g.why) < 0 ||
		    g.got.ms != 3 * i)
			return (void *)-1;
		told += script_may_tell(s, SPAN("the same"));
	}
	strbuf_free(&g.why);
	return (void *)told;
}

static void
script_may_be_asked_by_all_threads_at_once(void **state)
{
	struct strbuf why;
	pthread_t t[4];
	struct script *s;
	intptr_t told = 0;

	(void)state;
	strbuf_init(&why, 1024);
	assert_int_equal(script_new("a",
			     SPAN(IN_DELAY(
				 "n = ctx.attempt return n + n + ctx.attempt")),
			     &s, &why),
	    0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, call_often, s), 0);
	for (int i = 0; i < 4; i++) {
		void *got;

		assert_int_equal(pthread_join(t[i], &got), 0);
		assert_int_not_equal((intptr_t)got, -1);
		told += (intptr_t)got;
	}
	assert_int_equal(told, 1);
	script_free(s);
	strbuf_free(&why);
}

static void
script_error_is_told_once_per_kind(void **state)
{
	struct strbuf why;
	struct script *s;
	char text[32];

	(void)state;
	strbuf_init(&why, 1024);
	assert_int_equal(script_new("a", SPAN(IN_DELAY("")), &s, &why), 0);
	assert_true(script_may_tell(s, SPAN("a")));
	assert_false(script_may_tell(s, SPAN("a")));
	assert_true(script_may_tell(s, SPAN("b")));
	assert_false(script_may_tell(s, SPAN("b")));
	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "kind %d", i);
		assert_int_equal(script_may_tell(s, span_of(text)),
		    i < SCRIPT_KINDS_MAX - 2);
	}
	script_free(s);
	strbuf_free(&why);
}

static void
script_print_goes_to_the_log_at_debug(void **state)
{
	FILE *f = tmpfile();
	char log[8192];
	struct rig g;
	size_t n;

	(void)state;
	assert_non_null(f);
	rig_init(&g);
	log_set_fd(fileno(f));
	log_setup(LOG_INFO, LOG_TEXT);
	rig_eval(&g, "print('not this')");
	log_setup(LOG_DEBUG, LOG_TEXT);
	rig_run(&g,
	    IN_DELAY("print('seen', 1, nil, {} ~= nil, 'a\\nb') "
		     "print(('y'):rep(400)) "
		     "for i = 1, 100 do print('line') end"));
	log_setup(LOG_INFO, LOG_TEXT);
	log_set_fd(2);
	rewind(f);
	n = fread(log, 1, sizeof(log) - 1, f);
	log[n] = '\0';
	(void)fclose(f);
	assert_null(strstr(log, "not this"));
	assert_non_null(
	    strstr(log, "debug script test.lua: seen 1 nil true a\\x0ab\n"));
	assert_int_equal(strspn(strstr(log, "yyy"), "y"), 200);
	n = 0;
	for (const char *p = log; (p = strstr(p, "script test.lua")); p++)
		n++;
	assert_int_equal(n, SCRIPT_PRINTS_MAX);
	strbuf_free(&g.why);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(script_ctx_has_what_is_known),
	    cmocka_unit_test(script_now_is_the_servers_date),
	    cmocka_unit_test(script_numbers_are_ms),
	    cmocka_unit_test(script_nil_is_own_backoff_and_false_gives_up),
	    cmocka_unit_test(script_other_answers_are_errors),
	    cmocka_unit_test(script_errors_say_where),
	    cmocka_unit_test(script_that_is_none_is_refused),
	    cmocka_unit_test(script_says_whether_it_wants_bodies),
	    cmocka_unit_test(script_remembers_nothing),
	    cmocka_unit_test(script_random_follows_its_seed),
	    cmocka_unit_test(script_may_be_asked_by_all_threads_at_once),
	    cmocka_unit_test(script_error_is_told_once_per_kind),
	    cmocka_unit_test(script_print_goes_to_the_log_at_debug),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
