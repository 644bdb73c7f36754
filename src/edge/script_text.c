/* SPDX-License-Identifier: MIT */
/*
 * script_text decides what the four functions with patterns take and return, and
 * string.rep, which Lua's own library repeats a nothing for as often as it is
 * told to. It follows the reference manual of Lua 5.4 (6.4), but for what an
 * error says.
 */
#include "script_text.h"

#include "script_box.h"
#include "script_pattern.h"

static struct span
check_span(lua_State *L, int arg)
{
	struct span s;

	s.p = luaL_checklstring(L, arg, &s.n);
	return s;
}

/* The optional `init`: 1 is the first byte, -1 the last. As an offset; more
 * than n: behind the end. */
static size_t
check_init(lua_State *L, int arg, size_t n)
{
	lua_Integer init = luaL_optinteger(L, arg, 1);

	if (init > 0)
		return (lua_Unsigned)init - 1 > n ? n + 1 : (size_t)init - 1;
	if (init == 0 || 0 - (lua_Unsigned)init > n)
		return 0;
	return n - (size_t)(0 - (lua_Unsigned)init);
}

/* A compiled one takes some work, too. */
static void
compile(lua_State *L, struct span text, bool anchors,
    struct script_pattern *ret)
{
	const char *flaw;

	script_box_spend(L, 16 + 8 * text.n);
	flaw = script_pattern_compile(text, anchors, ret);
	if (flaw != NULL)
		(void)luaL_error(L, "%s", flaw);
}

static bool
matches(lua_State *L, const struct script_pattern *p, struct span text,
    size_t from, struct script_match *ret)
{
	switch (script_pattern_match(p, text, from, &script_box_of(L)->steps,
	    ret)) {
	case SCRIPT_MATCHED:
		return true;
	case SCRIPT_NO_MATCH:
		return false;
	case SCRIPT_TOO_LONG:
		break;
	}
	return script_box_over(L);
}

static void
push_capture(lua_State *L, struct span text, const struct script_capture *c)
{
	if (c->position)
		lua_pushinteger(L, c->p - text.p + 1);
	else
		lua_pushlstring(L, c->p, c->n);
}

/* All captures; where there is none and `whole`, the match. How many. */
static int
push_captures(lua_State *L, struct span text, const struct script_match *m,
    bool whole)
{
	luaL_checkstack(L, SCRIPT_PATTERN_CAPTURES + 1, "captures");
	for (unsigned i = 0; i < m->ncaptures; i++)
		push_capture(L, text, &m->v[i]);
	if (m->ncaptures > 0 || !whole)
		return (int)m->ncaptures;
	lua_pushlstring(L, m->p, m->n);
	return 1;
}

static int
find_plain(lua_State *L, struct span text, struct span what, size_t from)
{
	const char *at;

	script_box_spend(L, 1 + (text.n - from + what.n) / 16);
	at = what.n ? memmem(text.p + from, text.n - from, what.p, what.n)
		    : text.p + from;
	if (at == NULL) {
		lua_pushnil(L);
		return 1;
	}
	lua_pushinteger(L, at - text.p + 1);
	lua_pushinteger(L, at - text.p + (lua_Integer)what.n);
	return 2;
}

static int
find_or_match(lua_State *L, bool find)
{
	struct span text = check_span(L, 1), what = check_span(L, 2);
	size_t from = check_init(L, 3, text.n);
	struct script_pattern p;
	struct script_match m;

	if (from > text.n) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || script_pattern_is_plain(what)))
		return find_plain(L, text, what, from);
	compile(L, what, true, &p);
	if (!matches(L, &p, text, from, &m)) {
		lua_pushnil(L);
		return 1;
	}
	if (!find)
		return push_captures(L, text, &m, true);
	lua_pushinteger(L, m.p - text.p + 1);
	lua_pushinteger(L, m.p - text.p + (lua_Integer)m.n);
	return 2 + push_captures(L, text, &m, false);
}

/* string.find(s, pattern [, init [, plain]]) */
static int
text_find(lua_State *L)
{
	return find_or_match(L, true);
}

/* string.match(s, pattern [, init]) */
static int
text_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* --- gmatch -------------------------------------------------------------- */

/* Upvalues of the iterator: the text; the pattern, compiled; where to go on;
 * where the last match ended, or -1: an empty one there is none. */
static int
gmatch_next(lua_State *L)
{
	const struct script_pattern *p = lua_touserdata(L, lua_upvalueindex(2));
	size_t from = (size_t)lua_tointeger(L, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
	struct script_match m;
	struct span text;

	text.p = lua_tolstring(L, lua_upvalueindex(1), &text.n);
	for (; from <= text.n; from = (size_t)(m.p - text.p) + 1) {
		if (!matches(L, p, text, from, &m))
			break;
		lua_Integer end = m.p - text.p + (lua_Integer)m.n;
		if (end == last)
			continue;
		lua_pushinteger(L, end);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(L, text, &m, true);
	}
	lua_pushinteger(L, (lua_Integer)text.n + 1);
	lua_replace(L, lua_upvalueindex(3));
	return 0;
}

/* string.gmatch(s, pattern [, init]) */
static int
text_gmatch(lua_State *L)
{
	struct span text = check_span(L, 1), what = check_span(L, 2);
	size_t from = check_init(L, 3, text.n);
	struct script_pattern *p;

	lua_pushvalue(L, 1);
	p = lua_newuserdatauv(L, sizeof(*p), 0);
	compile(L, what, false, p);
	lua_pushinteger(L, (lua_Integer)from);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* --- gsub ---------------------------------------------------------------- */

/* "%1" in the text that comes in place of a match. */
static void
add_reference(lua_State *L, luaL_Buffer *out, struct span text,
    const struct script_match *m, char digit)
{
	unsigned i = (unsigned)(digit - '1');

	if (digit == '%') {
		luaL_addchar(out, '%');
	} else if (digit == '0' || (digit == '1' && m->ncaptures == 0)) {
		luaL_addlstring(out, m->p, m->n);
	} else if (digit > '0' && digit <= '9' && i < m->ncaptures) {
		push_capture(L, text, &m->v[i]);
		luaL_addvalue(out);
	} else {
		(void)luaL_error(L, "invalid use of '%%' in replacement");
	}
}

static void
add_text(lua_State *L, luaL_Buffer *out, struct span text,
    const struct script_match *m)
{
	size_t n;
	const char *with = lua_tolstring(L, 3, &n);

	script_box_spend(L, 1 + n / 16);
	for (size_t i = 0; i < n; i++) {
		if (with[i] != '%')
			luaL_addchar(out, with[i]);
		else
			add_reference(L, out, text, m,
			    ++i < n ? with[i] : '\0');
	}
}

/* What a table or a function has for this match; false or nil: it stays. */
static void
add_value(lua_State *L, luaL_Buffer *out, struct span text,
    const struct script_match *m)
{
	if (lua_type(L, 3) == LUA_TTABLE) {
		if (m->ncaptures > 0)
			push_capture(L, text, &m->v[0]);
		else
			lua_pushlstring(L, m->p, m->n);
		lua_gettable(L, 3);
	} else {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(L, text, m, true), 1);
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(out, m->p, m->n);
	} else if (lua_isstring(L, -1)) {
		luaL_addvalue(out);
	} else {
		(void)luaL_error(L, "invalid replacement value (a %s)",
		    luaL_typename(L, -1));
	}
}

static void
add_replacement(lua_State *L, luaL_Buffer *out, struct span text,
    const struct script_match *m)
{
	if (lua_isstring(L, 3))
		add_text(L, out, text, m);
	else
		add_value(L, out, text, m);
}

/* string.gsub(s, pattern, repl [, n]) */
static int
text_gsub(lua_State *L)
{
	struct span text = check_span(L, 1), what = check_span(L, 2);
	lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)text.n + 1);
	lua_Integer done = 0;
	const char *kept = text.p; /* up to here it is in the result */
	const char *last = NULL;   /* end of the last match */
	struct script_pattern p;
	struct script_match m;
	luaL_Buffer out;

	luaL_argexpected(L,
	    lua_isstring(L, 3) || lua_istable(L, 3) || lua_isfunction(L, 3), 3,
	    "string/function/table");
	compile(L, what, true, &p);
	luaL_buffinit(L, &out);
	for (size_t from = 0; done < most && from <= text.n;) {
		if (!matches(L, &p, text, from, &m))
			break;
		from = (size_t)(m.p - text.p) + 1;
		if (m.p + m.n != last) {
			luaL_addlstring(&out, kept, (size_t)(m.p - kept));
			add_replacement(L, &out, text, &m);
			kept = last = m.p + m.n;
			from = (size_t)(last - text.p);
			done++;
		}
		if (p.anchored)
			break;
	}
	luaL_addlstring(&out, kept, (size_t)(text.p + text.n - kept));
	luaL_pushresult(&out);
	lua_pushinteger(L, done);
	return 2;
}

/* --- rep ----------------------------------------------------------------- */

static char *
put(char *to, struct span s)
{
	if (s.n > 0)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

/* string.rep(s, n [, sep]) */
static int
text_rep(lua_State *L)
{
	struct span text = check_span(L, 1), sep;
	lua_Integer n = luaL_checkinteger(L, 2);
	luaL_Buffer out;
	size_t each;
	char *to;

	sep.p = luaL_optlstring(L, 3, "", &sep.n);
	each = text.n + sep.n;
	if (n <= 0 || each == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	if ((lua_Unsigned)n > (SIZE_MAX / 2) / each)
		return luaL_error(L, "resulting string too large");
	/* The memory of a call bounds n from here on. */
	to = luaL_buffinitsize(L, &out, (size_t)n * each);
	script_box_spend(L, 1 + (uint64_t)n / 16);
	for (lua_Integer i = 1; i < n; i++)
		to = put(put(to, text), sep);
	(void)put(to, text);
	luaL_pushresultsize(&out, (size_t)n * each - sep.n);
	return 1;
}

const luaL_Reg script_text_functions[] = {
    {"find", text_find},
    {"match", text_match},
    {"gmatch", text_gmatch},
    {"gsub", text_gsub},
    {"rep", text_rep},
    {NULL, NULL},
};
