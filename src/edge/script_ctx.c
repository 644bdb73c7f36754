/* SPDX-License-Identifier: MIT */
/*
 * script_ctx decides what a script sees of a refusal: no request, and of the
 * answer no cookie.
 */
#include "script_ctx.h"

#include <lauxlib.h>

/* In lower case, on the stack. */
static void
push_name(lua_State *L, struct span name)
{
	luaL_Buffer b;
	char *p = luaL_buffinitsize(L, &b, name.n);

	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		p[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
	}
	luaL_pushresultsize(&b, name.n);
}

/* Lines of one name become one value (RFC 9110 5.3). */
static void
push_headers(lua_State *L, const struct head *h)
{
	lua_createtable(L, 0, (int)h->nfields);
	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *f = &h->fields[i];

		/* A cookie is a secret, and its lines can't be joined. */
		if (span_istarts(f->name, SPAN("set-cookie")))
			continue;
		push_name(L, f->name);
		lua_pushvalue(L, -1);
		if (lua_rawget(L, -3) == LUA_TNIL) {
			lua_pop(L, 1);
			lua_pushlstring(L, f->value.p, f->value.n);
		} else {
			lua_pushliteral(L, ", ");
			lua_pushlstring(L, f->value.p, f->value.n);
			lua_concat(L, 3);
		}
		lua_rawset(L, -3);
	}
}

static void
set_integer(lua_State *L, const char *name, int64_t v)
{
	lua_pushinteger(L, v);
	lua_setfield(L, -2, name);
}

/* What an absolute time in the answer is best compared with. */
static int64_t
now_ms(const struct custom_ctx *c)
{
	struct hint_clock clk = hint_clock_of(c->head, c->wall_ms);

	return clk.date_ms < 0 ? clk.wall_ms : clk.date_ms + clk.age_ms;
}

void
script_ctx_push(lua_State *L, const struct script_call *call)
{
	const struct custom_ctx *c = call->ctx;

	lua_createtable(L, 0, 12);
	set_integer(L, "attempt", c->attempt);
	set_integer(L, "status", c->head->status);
	push_headers(L, c->head);
	lua_setfield(L, -2, "headers");
	lua_pushlstring(L, call->body.p, call->body.n);
	lua_setfield(L, -2, "body_prefix");
	lua_pushstring(L, call->service);
	lua_setfield(L, -2, "service");
	lua_pushstring(L, call->key);
	lua_setfield(L, -2, "key");
	set_integer(L, "waited_ms", c->waited_ms);
	set_integer(L, "deadline_ms", c->deadline_ms);
	if (c->hint_ms > 0)
		set_integer(L, "hint_ms", c->hint_ms);
	set_integer(L, "backoff_ms", c->backoff_ms);
	set_integer(L, "now_ms", now_ms(c));
}
