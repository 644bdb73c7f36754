/* SPDX-License-Identifier: MIT */
/*
 * script_text: find, match, gmatch and gsub of Lua's string library, on
 * script_pattern, so that they keep within the budget of their call.
 */
#ifndef AB_SCRIPT_TEXT_H
#define AB_SCRIPT_TEXT_H

#include <lauxlib.h>

extern const luaL_Reg script_text_functions[]; /* ends with a NULL name */

#endif
