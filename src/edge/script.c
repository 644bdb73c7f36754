/* SPDX-License-Identifier: MIT */
/*
 * script decides what a script is asked and how its answer is read. It refuses
 * to know what follows from it (policy/verdict) and what a script may do
 * (script_box).
 *
 *   file -> compile, run, get_delay? -> code     (once, with the configuration)
 *   code -> run, get_delay(ctx)      -> answer   (each call, in a new state)
 */
#include "script.h"

#include <lualib.h>
#include <math.h>

#include "base/hash.h"
#include "base/mem.h"
#include "script_box.h"
#include "script_ctx.h"

#define CODE_MAX (1024 * 1024) /* bytes; what a file makes is never that much */

/* The name in messages: "limits.lua:3: ..." */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Runs the chunk on top of the stack, with the globals of a script, and leaves
 * those in its place. */
static void
run_top_level(lua_State *L)
{
	script_box_globals(L);
	lua_pushvalue(L, -1);
	/* The first upvalue of a chunk is _ENV. */
	if (lua_setupvalue(L, -3, 1) == NULL)
		lua_pop(L, 1); /* it uses no global name */
	lua_insert(L, -2);
	lua_call(L, 0, 0);
}

/* --- compiling ----------------------------------------------------------- */

struct making {
	const char *path;
	struct span text;
	struct strbuf code;
	bool wants_body;
};

static int
write_code(lua_State *L, const void *p, size_t n, void *to)
{
	struct strbuf *code = to;

	(void)L;
	strbuf_put(code, p, n);
	return code->failed;
}

static void
check_globals(lua_State *L, struct making *m)
{
	if (lua_getfield(L, -1, "get_delay") == LUA_TNIL)
		(void)luaL_error(L, "it defines no function get_delay");
	if (!lua_isfunction(L, -1))
		(void)luaL_error(L, "get_delay is a %s, not a function",
		    luaL_typename(L, -1));
	lua_pop(L, 1);
	if (lua_getfield(L, -1, "wants_body") != LUA_TNIL &&
	    !lua_isboolean(L, -1))
		(void)luaL_error(L, "wants_body is a %s; true or false",
		    luaL_typename(L, -1));
	m->wants_body = lua_toboolean(L, -1);
}

static int
make(lua_State *L)
{
	struct making *m = lua_touserdata(L, 1);

	lua_pushfstring(L, "@%s", base_name(m->path));
	/* "t": text only; nobody checks what a compiled file would do. */
	if (luaL_loadbufferx(L, m->text.p, m->text.n, lua_tostring(L, -1),
		"t") != LUA_OK)
		return lua_error(L);
	if (lua_dump(L, write_code, &m->code, 0) != 0)
		return luaL_error(L, "out of memory");
	run_top_level(L);
	check_globals(L, m);
	return 0;
}

int
script_new(const char *path, struct span text, struct script **ret,
    struct strbuf *ret_why)
{
	struct making m = {.path = path, .text = text};
	struct script *s;

	strbuf_init(&m.code, CODE_MAX);
	if (script_box_run(base_name(path), 0, make, &m, ret_why) < 0) {
		strbuf_free(&m.code);
		return -1;
	}
	s = mem_zalloc(sizeof(*s));
	if (s != NULL)
		s->path = mem_dup(span_of(path));
	if (s == NULL || s->path == NULL) {
		strbuf_lit(ret_why, "out of memory");
		strbuf_free(&m.code);
		mem_free(s);
		return -1;
	}
	s->code = strbuf_view(&m.code);
	s->wants_body = m.wants_body;
	*ret = s;
	return 0;
}

void
script_free(struct script *s)
{
	if (s == NULL)
		return;
	mem_free((void *)(uintptr_t)s->code.p);
	mem_free(s->path);
	mem_free(s);
}

/* --- asking -------------------------------------------------------------- */

struct asking {
	const struct script *script;
	const struct script_call *call;
	struct custom_wait answer;
};

/* A number of ms, fractions rounded up; more than there are is as many. */
static struct custom_wait
read_number(lua_State *L)
{
	struct custom_wait w = {.kind = CUSTOM_WAIT};
	lua_Number ms = lua_tonumber(L, -1);

	if (!isfinite(ms) || ms < 0)
		(void)luaL_error(L,
		    "get_delay returned %f; a number of ms is finite and not "
		    "negative",
		    ms);
	if (lua_isinteger(L, -1)) {
		w.ms = lua_tointeger(L, -1);
	} else if (ms >= 0x1p62) {
		w.ms = INT64_C(1) << 62;
	} else {
		w.ms = (int64_t)ms;
		w.ms += (lua_Number)w.ms < ms;
	}
	return w;
}

static struct custom_wait
read_answer(lua_State *L)
{
	switch (lua_type(L, -1)) {
	case LUA_TNIL:
		return (struct custom_wait){.kind = CUSTOM_OWN};
	case LUA_TNUMBER:
		return read_number(L);
	case LUA_TBOOLEAN:
		if (!lua_toboolean(L, -1))
			return (struct custom_wait){.kind = CUSTOM_GIVE_UP};
		break;
	default:
		break;
	}
	(void)luaL_error(L,
	    "get_delay returned a %s; it returns a number of "
	    "ms, nil or false",
	    lua_isboolean(L, -1) ? "true" : luaL_typename(L, -1));
	return (struct custom_wait){.kind = CUSTOM_OWN};
}

static int
ask(lua_State *L)
{
	struct asking *a = lua_touserdata(L, 1);
	const struct script *s = a->script;

	if (luaL_loadbufferx(L, s->code.p, s->code.n, "=script", "b") != LUA_OK)
		return lua_error(L);
	run_top_level(L);
	lua_getfield(L, -1, "get_delay");
	script_ctx_push(L, a->call);
	lua_call(L, 1, 1);
	a->answer = read_answer(L);
	return 0;
}

int
script_call(const struct script *s, const struct script_call *call,
    struct custom_wait *ret, struct strbuf *ret_why)
{
	struct asking a = {.script = s, .call = call};

	if (script_box_run(base_name(s->path), call->seed, ask, &a, ret_why) <
	    0)
		return -1;
	*ret = a.answer;
	return 0;
}

bool
script_may_tell(struct script *s, struct span error)
{
	static const struct hash_key fixed = {1, 2};
	unsigned long long id = hash_bytes(&fixed, error.p, error.n) | 1;

	for (int i = 0; i < SCRIPT_KINDS_MAX; i++) {
		unsigned long long had = 0;

		if (atomic_compare_exchange_strong(&s->told[i], &had, id))
			return true;
		if (had == id)
			return false;
	}
	return false;
}
