/* SPDX-License-Identifier: MIT */
/* What a script can't do: get out, go on for ever, take all memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "script_rig.h"

static void
script_has_no_way_out(void **state)
{
	static const char *const names[] = {"io", "os", "debug", "package",
	    "require", "load", "loadstring", "loadfile", "dofile",
	    "collectgarbage", "getmetatable", "setmetatable", "rawset",
	    "rawget", "rawequal", "rawlen", "coroutine", "utf8", "xpcall",
	    "warn", "string.dump", "string.pack", "string.unpack",
	    "string.packsize", "('').dump", "('').pack", "table.sort",
	    "table.move", "math.randomseed", "_ENV.io", "_G.load", "_G._G.os",
	    "string.gfind"};
	static const char *const known[] = {"_G", "_VERSION", "assert", "error",
	    "get_delay", "ipairs", "math", "next", "pairs", "pcall", "print",
	    "select", "string", "table", "tonumber", "tostring", "type"};
	struct strbuf list;
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[128];

		(void)snprintf(text, sizeof(text), "%s == nil", names[i]);
		assert_true_in_lua(&g, text);
	}
	strbuf_init(&list, 1024);
	/* Nothing else either, whatever a later Lua may bring. */
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		strbuf_fmt(&list, "%s = 1, ", known[i]);
	}
	char text[1024];
	(void)snprintf(text, sizeof(text),
	    "(function() local known = {%.*s} for k in pairs(_G) do "
	    "if not known[k] then error(k) end end return 5 end)()",
	    SPAN_ARG(strbuf_view(&list)));
	strbuf_free(&list);
	assert_wait(&g, text, 5);
	assert_true_in_lua(&g, "('x').rep == string.rep");
	strbuf_free(&g.why);
}

/* Lua looks for the end of a table by doubling, so #t is 2^60 or so. */
#define FAR_APART \
	"local t, i = {}, 1 while i < 2^60 do " \
	"t[i], t[i + 1], i = 1, 1, i * 2 end "

static void
script_that_does_not_end_is_ended(void **state)
{
	static const char *const loops[] = {
	    IN_DELAY("while true do end"),
	    IN_DELAY("repeat until false"),
	    IN_DELAY("::a:: goto a"),
	    IN_DELAY("for i = 1, math.huge do end"),
	    IN_DELAY("return get_delay(ctx)"), /* a tail call: no stack */
	    /* Nobody may catch it. */
	    IN_DELAY(
		"while true do pcall(function() while true do end end) end"),
	    IN_DELAY("pcall(pcall, pcall, function() while true do end end) "
		     "return 1"),
	    IN_DELAY("while true do pcall(error, 'x') end"),
	    IN_DELAY("local ok = pcall(string.gsub, ctx.body_prefix, '.', "
		     "function() while true do end end) return 1"),
	    IN_DELAY("for _ in string.gmatch(('x'):rep(1e6), '') do "
		     "pcall(error) end"),
	    /* Long within one instruction. */
	    IN_DELAY("local s = ('a'):rep(65536) while true do "
		     "s:find('.-.-.-.-x') end"),
	    IN_DELAY("pcall(string.find, ('a'):rep(65536), '.-.-.-.-.-x') "
		     "return 1"),
	    IN_DELAY("pcall(string.match, ('a'):rep(65536), '(.-)(.-)(.-)%1x') "
		     "return 1"),
	    IN_DELAY("return (('a'):rep(65536):gsub('.-.-.-b', ''))"),
	    IN_DELAY("for k in ('a'):rep(65536):gmatch('.-.-.-b') do end"),
	    IN_DELAY(
		"local s = ('x'):rep(1e6) while true do s = s:upper() end"),
	    IN_DELAY("local s = ('x'):rep(2e6) local n = 0 while true do "
		     "n = n + #(s .. 'y') end"),
	    IN_DELAY(
		"local t = {} for i = 1, 50000 do t[i] = i end "
		"while true do table.insert(t, 1, table.remove(t, 1)) end"),
	    IN_DELAY("local t = {} for i = 1, 40000 do t[i] = '' end "
		     "while true do table.concat(t) end"),
	    IN_DELAY("while true do select('#', table.unpack({}, 1, 3e4)) end"),
	    IN_DELAY("local t = {} for i = 1, 50000 do t[i] = i end "
		     "for i = 1, 50000 do t[i] = nil end "
		     "while true do next(t) end"),
	    /* A length that is not of this world. */
	    IN_DELAY(FAR_APART "table.insert(t, 1, 0) return 1"),
	    IN_DELAY(FAR_APART "pcall(table.insert, t, 1, 0) return 1"),
	    IN_DELAY(FAR_APART "table.remove(t, 1) return 1"),
	    IN_DELAY(FAR_APART "table.remove(t, '1') return 1"),
	};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
		assert_fails(&g, loops[i], "it ran for too long");
	strbuf_free(&g.why);
}

static void
script_that_takes_too_much_memory_is_ended(void **state)
{
	static const char *const bombs[] = {
	    IN_DELAY("return #(('x'):rep(1e9))"),
	    IN_DELAY("return #(('x'):rep(5e6))"),
	    IN_DELAY("pcall(string.rep, 'x', 1e9) return 1"),
	    IN_DELAY("pcall(pcall, string.rep, 'x', 1e9) return 1"),
	    IN_DELAY("local t = {} for i = 1, 1e9 do t[i] = i end"),
	    IN_DELAY("local s = 'x' while true do s = s .. s end"),
	    IN_DELAY("local t = {} while true do t = {t, {}, {}, {}} end"),
	    IN_DELAY("return #table.concat({('x'):rep(2e6), ('x'):rep(2e6)})"),
	    IN_DELAY("return #(('x'):rep(1e6):gsub('x', 'yyyyyyyyyyyyyyyy'))"),
	    IN_DELAY("return #string.format(('%s'):rep(9), "
		     "('x'):rep(1e6), ('x'):rep(1e6), ('x'):rep(1e6), "
		     "('x'):rep(1e6), 1, 2, 3, 4, 5)"),
	};
	struct rig g;

	(void)state;
	rig_init(&g);
	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++)
		assert_fails(&g, bombs[i], "memory");
	strbuf_free(&g.why);
}

/* Too deep is an error like others: it may be caught, and does no harm. */
static void
script_that_is_too_deep_fails(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_fails(&g,
	    IN_DELAY("local function f(n) return 1 + f(n + 1) end return f(1)"),
	    "memory");
	assert_fails(&g,
	    IN_DELAY("local function f(x) return (('a'):gsub('a', f)) end "
		     "return f()"),
	    "overflow");
	assert_fails(&g,
	    IN_DELAY("return select('#', table.unpack({}, 1, 9e5))"),
	    "too many results");
	assert_fails(&g,
	    IN_DELAY("return select('#', ('x'):rep(9e5):byte(1, -1))"),
	    "overflow");
	assert_wait(&g,
	    "(function() local function f() return (('a'):gsub('a', f)) end "
	    "return pcall(f) and 1 or 2 end)()",
	    2);
	rig_run(&g,
	    IN_DELAY("local function f() return pcall(f) end f() "
		     "return 3"));
	assert_int_equal(g.rc, 0);
	strbuf_free(&g.why);
}

/* More nested than a parser of C can bear. */
static void
script_that_is_nested_too_deep_is_refused(void **state)
{
	static char text[32 * 1024];
	struct rig g;

	(void)state;
	rig_init(&g);
	memset(text, '(', sizeof(text) - 1);
	rig_put(text, "x=");
	assert_fails(&g, text, "overflow");
	memset(text, '{', sizeof(text) - 1);
	rig_put(text, "x=");
	assert_fails(&g, text, "overflow");
	strbuf_free(&g.why);
}

static void
script_pcall_is_like_luas(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_true_in_lua(&g, "select('#', pcall(function() end)) == 1");
	assert_true_in_lua(&g,
	    "select(3, pcall(function(a, b) return b, a end, 1, 2)) == 1");
	assert_true_in_lua(&g, "select(2, pcall(error, 'x', 0)) == 'x'");
	assert_true_in_lua(&g, "type(select(2, pcall(error, {}))) == 'table'");
	assert_true_in_lua(&g, "not pcall(nil)");
	assert_true_in_lua(&g, "not pcall(pcall)");
	assert_true_in_lua(&g,
	    "select('#', pcall(table.unpack, {}, 1, 5000)) "
	    "== 5001");
	/* To-be-closed variables need a metatable, which no script has. */
	assert_fails(&g, IN_DELAY("local x <close> = {} return 1"),
	    "non-closable value");
	assert_true_in_lua(&g,
	    "(function() local s, e = pcall(function() "
	    "return 'a' < 1 end) return not s end)()");
	strbuf_free(&g.why);
}

static void
script_arithmetic_wraps_and_is_no_crash(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_true_in_lua(&g, "math.maxinteger + 1 == math.mininteger");
	assert_true_in_lua(&g, "math.mininteger // -1 == math.mininteger");
	assert_true_in_lua(&g, "math.mininteger % -1 == 0");
	assert_true_in_lua(&g, "1 << 64 == 0 and 1 >> -70 == 0");
	assert_true_in_lua(&g, "'10' + 1 == 11");
	assert_fails(&g, IN_DELAY("return 1 // 0"), "divide by zero");
	assert_true_in_lua(&g, "('x'):rep(-5) == ''");
	assert_true_in_lua(&g,
	    "('abc'):sub(math.mininteger, math.maxinteger) == 'abc'");
	assert_true_in_lua(&g,
	    "('abc'):find('b', math.mininteger) == 2 and "
	    "('abc'):find('b', math.maxinteger) == nil");
	assert_true_in_lua(&g, "#('\\0a\\0'):gsub('%z', 'x') == 3");
	strbuf_free(&g.why);
}

/* Nothing, repeated for ever, is nothing at once. */
static void
script_rep_is_like_luas(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_true_in_lua(&g, "(''):rep(math.maxinteger) == ''");
	assert_true_in_lua(&g, "(''):rep(math.maxinteger, '') == ''");
	assert_true_in_lua(&g, "('ab'):rep(3) == 'ababab'");
	assert_true_in_lua(&g, "('ab'):rep(3, ', ') == 'ab, ab, ab'");
	assert_true_in_lua(&g, "('ab'):rep(1, ', ') == 'ab'");
	assert_true_in_lua(&g, "(''):rep(3, ',') == ',,'");
	assert_true_in_lua(&g, "('ab'):rep(0, 'x') == ''");
	assert_true_in_lua(&g, "string.rep(12, '2') == '1212'");
	assert_true_in_lua(&g,
	    "select(2, pcall(string.rep, 'xy', math.maxinteger)):find('large')");
	assert_true_in_lua(&g, "not pcall(string.rep, 'x')");
	strbuf_free(&g.why);
}

static void
script_insert_and_remove_are_like_luas(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	assert_wait(&g,
	    "(function() local t = {1, 2, 3} table.insert(t, 1, 0) "
	    "table.insert(t, 4) table.insert(t, #t + 1, 5) "
	    "return tonumber(table.concat(t)) end)()",
	    12345);
	assert_wait(&g,
	    "(function() local t = {1, 2, 3, 4} local a = table.remove(t, 2) "
	    "local b = table.remove(t) "
	    "return tonumber(table.concat(t) .. a .. b) end)()",
	    1324);
	assert_true_in_lua(&g, "not pcall(table.insert, {}, 5, 1)");
	assert_true_in_lua(&g, "not pcall(table.insert, 1, 1)");
	assert_true_in_lua(&g, "not pcall(table.insert, {}, 1, 2, 3)");
	assert_true_in_lua(&g, "table.remove({}) == nil");
	assert_true_in_lua(&g, "table.remove({}, 0) == nil");
	assert_true_in_lua(&g, "table.remove({7}, 2) == nil");
	assert_true_in_lua(&g, "not pcall(table.remove, {7}, 3)");
	assert_fails(&g, IN_DELAY("table.insert(nil, 1)"),
	    "test.lua:1: bad argument #1 to 'insert' (table expected, got nil)");
	strbuf_free(&g.why);
}

/* Whatever it is given, at the level at which it is seen. */
static void
script_print_of_very_many_is_cut(void **state)
{
	struct rig g;

	(void)state;
	rig_init(&g);
	log_set_fd(-1);
	log_setup(LOG_DEBUG, LOG_TEXT);
	assert_wait(&g, "print(table.unpack({}, 1, 40)) or 1", 1);
	assert_wait(&g, "print(table.unpack({}, 1, 20000)) or 1", 1);
	assert_wait(&g,
	    "(function() local t = {} for i = 1, 3000 do t[i] = '\\0' end "
	    "print(table.unpack(t)) return 1 end)()",
	    1);
	log_setup(LOG_WARN, LOG_TEXT);
	log_set_fd(2);
	strbuf_free(&g.why);
}

/* Each allocation of a call fails in turn: an error, never a crash or a leak. */
static void
script_without_memory_fails(void **state)
{
	static const char text[] =
	    "local t = {} for i = 1, 20 do t[i] = ('x'):rep(i * 50) end "
	    "function get_delay(ctx) local ok, s = pcall(table.concat, t, ',') "
	    "for w in s:gmatch('x+') do t[w] = #w end "
	    "return #(s:gsub('x', 'yy')) end";
	struct script *s = NULL;
	unsigned long n;
	struct rig g;

	(void)state;
	rig_init(&g);
	for (n = 1;; n++) {
		strbuf_clear(&g.why);
		mem_fail_at(n, true);
		g.rc = script_new("a", SPAN(text), &s, &g.why);
		mem_fail_at(0, false);
		if (g.rc == 0)
			break;
	}
	assert_in_range(n, 50, 100000);
	for (n = 1;; n++) {
		strbuf_clear(&g.why);
		mem_fail_at(n, n % 2);
		g.rc = script_call(s, &g.call, &g.got, &g.why);
		mem_fail_at(0, false);
		if (g.rc == 0 && n % 2)
			break;
	}
	assert_in_range(n, 50, 100000);
	assert_int_equal(g.got.kind, CUSTOM_WAIT);
	script_free(s);
	strbuf_free(&g.why);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(script_has_no_way_out),
	    cmocka_unit_test(script_that_does_not_end_is_ended),
	    cmocka_unit_test(script_that_takes_too_much_memory_is_ended),
	    cmocka_unit_test(script_that_is_too_deep_fails),
	    cmocka_unit_test(script_that_is_nested_too_deep_is_refused),
	    cmocka_unit_test(script_pcall_is_like_luas),
	    cmocka_unit_test(script_arithmetic_wraps_and_is_no_crash),
	    cmocka_unit_test(script_rep_is_like_luas),
	    cmocka_unit_test(script_insert_and_remove_are_like_luas),
	    cmocka_unit_test(script_print_of_very_many_is_cut),
	    cmocka_unit_test(script_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
