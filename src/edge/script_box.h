/* SPDX-License-Identifier: MIT */
/*
 * script_box: a Lua state for one call, and what bounds it. Made, used and
 * thrown away by one thread, so nothing that a script does outlives its call,
 * and no two calls share anything.
 *
 * What a script has: _VERSION, assert, error, ipairs, next, pairs, pcall, print
 * (to the log, at debug), select, tonumber, tostring, type; of table: concat,
 * insert, pack, remove, unpack; all of math but randomseed; of string: byte,
 * char, find, format, gmatch, gsub, len, lower, match, rep, reverse, sub, upper.
 *
 * What it has not, and why: io, os, package, require, dofile, loadfile (files,
 * processes), load, string.dump (code that no compiler has checked), debug and
 * collectgarbage (the limits themselves), setmetatable and getmetatable
 * (finalizers run with hooks off), coroutine (a hook belongs to one thread),
 * table.sort and string.pack (long without a hook, short of use), utf8.
 *
 * Limits, of a call with the run of the script's own top level: so many steps,
 * each an instruction of the machine or a look of a pattern at a character;
 * bytes of memory; and time of the processor, for what is slow within one
 * instruction. Who is over a limit ends: pcall does not stop that.
 */
#ifndef AB_SCRIPT_BOX_H
#define AB_SCRIPT_BOX_H

#include <lauxlib.h>
#include <lua.h>

#include "base/strbuf.h"

#define SCRIPT_STEPS_MAX 1000000
#define SCRIPT_BYTES_MAX (4 * 1024 * 1024)
#define SCRIPT_CPU_MS 200
#define SCRIPT_PRINTS_MAX 20 /* lines of one call */

struct script_box {
	const char *name;    /* borrows; of the script, for print */
	uint64_t seed;
	size_t bytes;        /* taken */
	uint64_t steps;      /* left */
	int64_t cpu_end_ns;  /* of this thread's time */
	bool over;           /* a limit was met: it is to end */
	unsigned prints;     /* lines left */
};

/*
 * Calls body(L) in a new state, with `arg` as a light userdata on its stack and
 * nothing else; then frees the state. 0; or -1 with what went wrong in *ret_why,
 * whatever it was, a want of memory included. seed: of math.random.
 */
AB_MUST int script_box_run(const char *name, uint64_t seed, lua_CFunction body,
    void *arg, struct strbuf *ret_why);

/* Within body: pushes the table of all that a script has. */
void script_box_globals(lua_State *L);
/* Of the state at hand. */
struct script_box *script_box_of(lua_State *L);
/* Ends the call where the budget has less than `steps` left. */
void script_box_spend(lua_State *L, uint64_t steps);
/* Ends it: the budget is used up. */
int script_box_over(lua_State *L);

#endif
