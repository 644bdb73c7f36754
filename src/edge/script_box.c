/* SPDX-License-Identifier: MIT */
/*
 * script_box decides what a script may reach and when it has had enough. It
 * refuses to know what the script is for.
 *
 *   script_box_run -> state with box_alloc, box_hook -> pcall(body) -> text -> gone
 *
 * Any of Lua's calls may throw, for want of memory if for nothing else: all but
 * making and closing the state happens within the one lua_pcall.
 */
#include "script_box.h"

#include <lualib.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "script_text.h"

#define HOOK_EVERY 100      /* instructions between two looks at the limits */
#define PRINT_BYTES_MAX 200 /* of a line, before it is escaped */

struct script_box *
script_box_of(lua_State *L)
{
	struct script_box *box;

	memcpy(&box, lua_getextraspace(L), sizeof(box));
	return box;
}

/* --- limits -------------------------------------------------------------- */

static void *
box_alloc(void *ud, void *p, size_t old, size_t n)
{
	struct script_box *box = ud;
	size_t rest = box->bytes - (p ? old : 0); /* without p, old is a type */
	void *q;

	if (n == 0) {
		box->bytes = rest;
		mem_free(p);
		return NULL;
	}
	if (n > SCRIPT_BYTES_MAX || rest > SCRIPT_BYTES_MAX - n)
		return NULL;
	q = mem_realloc(p, n);
	if (q != NULL)
		box->bytes = rest + n;
	/* Lua takes it for granted that to shrink always works. */
	return q != NULL || p == NULL || n > old ? q : p;
}

/* The processor's time that this thread has had: others take none of it. */
static int64_t
cpu_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* level: of the Lua function that is to be named; 0 is the running one. */
static int
over_at(lua_State *L, int level)
{
	script_box_of(L)->over = true;
	luaL_where(L, level);
	lua_pushfstring(L, "it ran for too long (limits: %d steps, %d ms)",
	    SCRIPT_STEPS_MAX, SCRIPT_CPU_MS);
	lua_concat(L, 2);
	return lua_error(L);
}

int
script_box_over(lua_State *L)
{
	return over_at(L, 1);
}

/* True: the budget has that much, and it is spent. */
static bool
take(struct script_box *box, uint64_t steps)
{
	if (box->over || box->steps <= steps)
		return false;
	box->steps -= steps;
	return true;
}

void
script_box_spend(lua_State *L, uint64_t steps)
{
	if (!take(script_box_of(L), steps))
		(void)script_box_over(L);
}

static void
box_hook(lua_State *L, lua_Debug *ar)
{
	struct script_box *box = script_box_of(L);

	(void)ar;
	/* Within a hook the Lua function at work is the running one. */
	if (!take(box, HOOK_EVERY) || cpu_ns() > box->cpu_end_ns)
		(void)over_at(L, 0);
}

/* --- what a script has --------------------------------------------------- */

/* As Lua's, but for what nobody may catch: a limit. */
static int
box_pcall(lua_State *L)
{
	int rc;

	luaL_checkany(L, 1);
	lua_pushboolean(L, true);
	lua_insert(L, 1);
	rc = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
	if (rc == LUA_OK)
		return lua_gettop(L);
	if (rc == LUA_ERRMEM || script_box_of(L)->over)
		return lua_error(L);
	lua_pushboolean(L, false);
	lua_replace(L, 1);
	return 2;
}

static int
box_print(lua_State *L)
{
	struct script_box *box = script_box_of(L);
	struct strbuf line;

	if (!log_on(LOG_DEBUG) || box->prints == 0)
		return 0;
	box->prints--;
	/* What a function of C is sure to have room for is no more than 20. */
	luaL_checkstack(L, lua_gettop(L) + LUA_MINSTACK, "too many arguments");
	for (int i = 1, n = lua_gettop(L); i <= n; i++)
		(void)luaL_tolstring(L, i, NULL);
	/* Nothing throws from here on: the text is not Lua's. */
	strbuf_init(&line, 8 * PRINT_BYTES_MAX);
	for (int n = lua_gettop(L) / 2, i = n + 1;
	     i <= 2 * n && line.n / 4 < PRINT_BYTES_MAX; i++) {
		struct span s;

		s.p = lua_tolstring(L, i, &s.n);
		if (s.n > PRINT_BYTES_MAX - line.n / 4)
			s.n = PRINT_BYTES_MAX - line.n / 4;
		if (i > n + 1)
			strbuf_char(&line, ' ');
		strbuf_escaped(&line, s);
	}
	log_debug("script %s: %.*s", box->name, SPAN_ARG(strbuf_view(&line)));
	strbuf_free(&line);
	return 0;
}

/*
 * table.insert and table.remove move all behind a place, in one go. How much
 * that is goes by the length that Lua takes the table for: a few elements far
 * apart may be as good as without end. So these two count what they move.
 */
static lua_Integer
table_length(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	return (lua_Integer)lua_rawlen(L, 1);
}

static void
move_one(lua_State *L, lua_Integer from, lua_Integer to)
{
	lua_rawgeti(L, 1, from);
	lua_rawseti(L, 1, to);
}

/* table.insert(t, [pos,] value) */
static int
box_insert(lua_State *L)
{
	lua_Unsigned end = (lua_Unsigned)table_length(L) + 1;
	lua_Integer at = (lua_Integer)end;
	int n = lua_gettop(L);

	if (n < 2 || n > 3)
		return luaL_error(L, "wrong number of arguments to 'insert'");
	if (n == 3) {
		at = luaL_checkinteger(L, 2);
		luaL_argcheck(L, (lua_Unsigned)at - 1 < end, 2,
		    "position out of bounds");
		script_box_spend(L, 1 + (end - (lua_Unsigned)at) / 8);
	}
	for (lua_Integer i = (lua_Integer)end; i > at; i--)
		move_one(L, i - 1, i);
	lua_rawseti(L, 1, at);
	return 0;
}

/* table.remove(t [, pos]) */
static int
box_remove(lua_State *L)
{
	lua_Integer length = table_length(L);
	lua_Integer at = luaL_optinteger(L, 2, length);

	if (at != length)
		luaL_argcheck(L, (lua_Unsigned)at - 1 <= (lua_Unsigned)length,
		    2, "position out of bounds");
	lua_rawgeti(L, 1, at);
	if (at < length)
		script_box_spend(L, 1 + (uint64_t)(length - at) / 8);
	for (; at < length; at++)
		move_one(L, at + 1, at);
	lua_pushnil(L);
	lua_rawseti(L, 1, at);
	return 1;
}

static const char *const base_names[] = {"_VERSION", "assert", "error",
    "ipairs", "next", "pairs", "select", "tonumber", "tostring", "type", NULL};
static const char *const table_names[] = {"concat", "pack", "unpack", NULL};
static const char *const string_names[] = {"byte", "char", "format", "len",
    "lower", "reverse", "sub", "upper", NULL};
static const char *const math_names[] = {"abs", "acos", "asin", "atan", "ceil",
    "cos", "deg", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger",
    "min", "mininteger", "modf", "pi", "rad", "random", "sin", "sqrt", "tan",
    "tointeger", "type", "ult", NULL};

/* From the table on top of the stack into a new one, which takes its place. */
static void
pick(lua_State *L, const char *const *names)
{
	lua_newtable(L);
	for (; *names != NULL; names++) {
		lua_getfield(L, -2, *names);
		lua_setfield(L, -2, *names);
	}
	lua_remove(L, -2);
}

/* math.random is as good as its seed, which Lua takes from the clock: the same
 * for all calls of a second. */
static void
seed_random(lua_State *L, lua_Integer seed)
{
	lua_getfield(L, -1, "randomseed");
	lua_pushinteger(L, seed);
	lua_pushinteger(L, 0);
	lua_call(L, 2, 0);
}

/* ("x"):upper() looks into the table that the metatable of strings names. */
static void
share_methods(lua_State *L)
{
	lua_pushliteral(L, "");
	if (lua_getmetatable(L, -1)) {
		lua_pushvalue(L, -3);
		lua_setfield(L, -2, "__index");
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void
open_lib(lua_State *L, lua_CFunction open)
{
	lua_pushcfunction(L, open);
	lua_call(L, 0, 1);
}

void
script_box_globals(lua_State *L)
{
	static const luaL_Reg own[] = {{"pcall", box_pcall},
	    {"print", box_print}, {NULL, NULL}};
	static const luaL_Reg moving[] = {{"insert", box_insert},
	    {"remove", box_remove}, {NULL, NULL}};

	open_lib(L, luaopen_base);
	pick(L, base_names);
	luaL_setfuncs(L, own, 0);
	open_lib(L, luaopen_table);
	pick(L, table_names);
	luaL_setfuncs(L, moving, 0);
	lua_setfield(L, -2, "table");
	open_lib(L, luaopen_math);
	seed_random(L, (lua_Integer)script_box_of(L)->seed);
	pick(L, math_names);
	lua_setfield(L, -2, "math");
	open_lib(L, luaopen_string);
	pick(L, string_names);
	luaL_setfuncs(L, script_text_functions, 0);
	share_methods(L);
	lua_setfield(L, -2, "string");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "_G");
}

/* --- the call ------------------------------------------------------------ */

/* What the error on top of the stack is, in words. */
static void
put_error(lua_State *L, int rc, struct strbuf *to)
{
	size_t n;
	const char *text;

	if (rc == LUA_ERRMEM) {
		strbuf_fmt(to,
		    "it needed more than %d MiB of memory, or there is none",
		    SCRIPT_BYTES_MAX >> 20);
		return;
	}
	if (lua_type(L, -1) != LUA_TSTRING) { /* a number would be converted */
		strbuf_fmt(to, "error() was called with a %s",
		    luaL_typename(L, -1));
		return;
	}
	text = lua_tolstring(L, -1, &n);
	strbuf_put(to, text, n);
}

int
script_box_run(const char *name, uint64_t seed, lua_CFunction body, void *arg,
    struct strbuf *ret_why)
{
	struct script_box box = {.name = name,
	    .seed = seed,
	    .steps = SCRIPT_STEPS_MAX,
	    .cpu_end_ns = cpu_ns() + SCRIPT_CPU_MS * INT64_C(1000000),
	    .prints = SCRIPT_PRINTS_MAX};
	struct script_box *self = &box;
	lua_State *L = lua_newstate(box_alloc, &box);
	int rc;

	if (L == NULL) {
		strbuf_lit(ret_why, "out of memory");
		return -1;
	}
	memcpy(lua_getextraspace(L), &self, sizeof(self));
	lua_sethook(L, box_hook, LUA_MASKCOUNT, HOOK_EVERY);
	lua_pushcfunction(L, body);
	lua_pushlightuserdata(L, arg);
	rc = lua_pcall(L, 1, 0, 0);
	if (rc != LUA_OK)
		put_error(L, rc, ret_why);
	lua_close(L);
	return rc == LUA_OK ? 0 : -1;
}
