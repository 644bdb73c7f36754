/* SPDX-License-Identifier: MIT */
/*
 * Patterns: a table of what must come out, the same answers as Lua's own matcher
 * on random patterns and texts, and an end to those that would take for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lualib.h>

#include "base/rng.h"
#include "edge/script_box.h"
#include "edge/script_pattern.h"

/* Without a NUL; how many bytes. */
static size_t
put(char *to, const char *text)
{
	struct span s = span_of(text);

	memcpy(to, s.p, s.n);
	return s.n;
}

static void
pattern_that_is_malformed_is_refused(void **state)
{
	static const char *const bad[] = {"[", "[a", "[]", "[^]", "[%", "%",
	    "a%", "(", "(a", ")", "a)", "(a))", "%b", "%bx", "%f", "%fa", "%1",
	    "%0", "(a%1)", "()%1", "(a)%2", "[a-"};
	struct script_pattern p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *flaw =
		    script_pattern_compile(span_of(bad[i]), true, &p);

		if (flaw == NULL)
			print_error("taken: %s\n", bad[i]);
		assert_non_null(flaw);
	}
}

static void
pattern_longer_than_its_table_is_refused(void **state)
{
	char text[SCRIPT_PATTERN_ITEMS + 1];
	struct script_pattern p;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_null(
	    script_pattern_compile((struct span){text, SCRIPT_PATTERN_ITEMS},
		true, &p));
	assert_string_equal(script_pattern_compile((struct span){text,
						       sizeof(text)},
				true, &p),
	    "pattern too long");
	memset(text, '(', sizeof(text));
	assert_non_null(script_pattern_compile((struct span){text,
						   SCRIPT_PATTERN_CAPTURES + 1},
	    true, &p));
}

/* Takes minutes at the least without a budget. */
static void
pattern_that_backtracks_for_ever_ends_with_its_budget(void **state)
{
	static const char *const slow[] = {".-.-.-.-.-x", ".*.*.*.*.*x",
	    "(.-)(.-)(.-)(.-)x", "a*a*a*a*a*a*b", "a?a?a?a?a*a*a*a*b",
	    "%s*a*%s*a*%s*a*b", "%f[a]a*a*a*a*b", "(a*)%1%1%1b"};
	static char text[64 * 1024];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		struct script_pattern p;
		struct script_match m;
		uint64_t steps = 100000;

		assert_null(script_pattern_compile(span_of(slow[i]), true, &p));
		assert_int_equal(script_pattern_match(&p,
				     (struct span){text, sizeof(text)}, 0,
				     &steps, &m),
		    SCRIPT_TOO_LONG);
		assert_int_equal(steps, 0);
	}
}

/* What a usual one costs: about a step for each byte that it passes. */
static void
pattern_spends_about_a_step_a_byte(void **state)
{
	static char text[64 * 1024];
	struct span s = {text, sizeof(text)};
	uint64_t steps = SCRIPT_STEPS_MAX;
	struct script_pattern p;
	struct script_match m;

	(void)state;
	memset(text, ' ', sizeof(text));
	put(text + sizeof(text) - 16, "\"wait\": 42      ");
	assert_null(
	    script_pattern_compile(SPAN("\"wait\"%s*:%s*(%d+)"), true, &p));
	assert_int_equal(script_pattern_match(&p, s, 0, &steps, &m),
	    SCRIPT_MATCHED);
	assert_int_equal(m.ncaptures, 1);
	assert_memory_equal(m.v[0].p, "42", 2);
	assert_in_range(SCRIPT_STEPS_MAX - steps, sizeof(text),
	    3 * sizeof(text));
}

/* --- the same as Lua's ---------------------------------------------------- */

static const char *const parts[] = {"a", "b", "1", " ", ".", "%a", "%d", "%s",
    "%w", "%A", "%D", "[ab]", "[^a]", "[a-b1]", "[%d ]", "[]]", "[^]a]", "%.",
    "a*", "b+", ".-", ".*", ".+", "%d*", "%a+", "[ab]-", " ?", "1?", "(", ")",
    "()", "%1", "%bab", "%f[a]", "%f[%A]", "$", "^", "-", "%x", "%p", "%%"};

static size_t
random_pattern(struct rng *rng, char *to)
{
	size_t n = 0, count = 1 + rng_next(rng) % 6;

	for (size_t i = 0; i < count; i++) {
		n += put(to + n,
		    parts[rng_next(rng) % (sizeof(parts) / sizeof(parts[0]))]);
	}
	return n;
}

static size_t
random_text(struct rng *rng, char *to)
{
	size_t n = rng_next(rng) % 12;

	for (size_t i = 0; i < n; i++)
		to[i] = "aab1 ]%.-"[rng_next(rng) % 9];
	return n;
}

/* Runs `chunk` with these two strings as its arguments; its result as a string,
 * or "error". */
static void
run(lua_State *L, const char *chunk, struct span text, struct span pattern,
    char *to, size_t room)
{
	const char *got = "error";

	lua_settop(L, 1); /* the library under test */
	assert_int_equal(luaL_loadstring(L, chunk), LUA_OK);
	lua_pushvalue(L, 1);
	lua_pushlstring(L, text.p, text.n);
	lua_pushlstring(L, pattern.p, pattern.n);
	if (lua_pcall(L, 3, 1, 0) == LUA_OK)
		got = lua_tostring(L, -1);
	(void)snprintf(to, room, "%s", got);
}

static const char head[] =
    "local lib, s, p = ... local function all(...) local t = {...}"
    " for i = 1, select('#', ...) do t[i] = tostring(t[i]) end"
    " return table.concat(t, '|') end";
static const char pairs_of[] =
    " local r = {} for x, y in lib.gmatch(s, p) do"
    " r[#r + 1] = tostring(x) .. ',' .. tostring(y) end"
    " return table.concat(r, ';')";
static const char replace_a[] = " return all(lib.gsub(s, p, function(x)"
				" if x == 'a' then return 'X' end end))";
static const char *const chunks[] = {
    " return all(lib.find(s, p))",
    " return all(lib.find(s, p, 3))",
    " return all(lib.find(s, p, -2))",
    " return all(lib.match(s, p))",
    " return all(lib.match(s, p, 2))",
    " return all(lib.gsub(s, p, '<%0>'))",
    " return all(lib.gsub(s, p, '<%1>', 2))",
    " return all(lib.gsub(s, p, {a = 'Y', [1] = 'Z'}))",
    replace_a,
    pairs_of,
};

#define NCHUNKS (sizeof(chunks) / sizeof(chunks[0]))

/* Compares both libraries on one pair; false: Lua refuses it, or ours does. */
static bool
same(lua_State *ours, lua_State *theirs, struct span text, struct span pattern)
{
	bool fine = false;

	for (size_t i = 0; i < NCHUNKS; i++) {
		char chunk[1024], a[512], b[512];

		(void)snprintf(chunk, sizeof(chunk), "%s%s", head, chunks[i]);
		run(ours, chunk, text, pattern, a, sizeof(a));
		run(theirs, chunk, text, pattern, b, sizeof(b));
		/* What Lua finds out only when it comes to it, we do at once. */
		if (strcmp(a, "error") == 0)
			continue;
		if (strcmp(a, b) != 0)
			print_error("'%.*s' on '%.*s', %s:\nours   %s\nLua's  "
				    "%s\n",
			    SPAN_ARG(pattern), SPAN_ARG(text), chunks[i], a, b);
		assert_string_equal(a, b);
		fine = true;
	}
	return fine;
}

static lua_State *their_state;

#define PAIRS 1000 /* a catastrophic one takes its while, more so under TSan */

static int
compare(lua_State *L)
{
	struct rng rng;
	unsigned *ret_fine = lua_touserdata(L, 1);

	rng_seed(&rng, 20261201);
	script_box_globals(L);
	lua_pushvalue(L, -1);
	lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
	lua_getfield(L, -1, "string");
	lua_replace(L, 1);
	for (int i = 0; i < PAIRS; i++) {
		char text[16], pattern[64];
		struct span t = {text, random_text(&rng, text)};
		struct span p = {pattern, random_pattern(&rng, pattern)};

		/* No end of its own: each pair begins anew. */
		script_box_of(L)->steps = SCRIPT_STEPS_MAX;
		script_box_of(L)->cpu_end_ns = INT64_MAX;
		*ret_fine += same(L, their_state, t, p);
	}
	return 0;
}

static void
pattern_gives_what_lua_gives(void **state)
{
	unsigned fine = 0;
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 1024);
	their_state = luaL_newstate();
	assert_non_null(their_state);
	luaL_openlibs(their_state);
	lua_getglobal(their_state, "string");
	if (script_box_run("test", 1, compare, &fine, &why) < 0)
		print_error("%.*s\n", SPAN_ARG(strbuf_view(&why)));
	assert_int_equal(why.n, 0);
	assert_in_range(fine, PAIRS * 2 / 5, PAIRS);
	lua_close(their_state);
	strbuf_free(&why);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pattern_that_is_malformed_is_refused),
	    cmocka_unit_test(pattern_longer_than_its_table_is_refused),
	    cmocka_unit_test(
		pattern_that_backtracks_for_ever_ends_with_its_budget),
	    cmocka_unit_test(pattern_spends_about_a_step_a_byte),
	    cmocka_unit_test(pattern_gives_what_lua_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
