/* SPDX-License-Identifier: MIT */
/* script_ctx: the table that get_delay is called with. docs/SCRIPT.md lists it. */
#ifndef AB_SCRIPT_CTX_H
#define AB_SCRIPT_CTX_H

#include <lua.h>

#include "script.h"

/* Pushes it. */
void script_ctx_push(lua_State *L, const struct script_call *call);

#endif
