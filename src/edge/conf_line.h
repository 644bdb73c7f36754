/* SPDX-License-Identifier: MIT */
/*
 * conf_line: what kind of line is it, and what is wrong with it? Internal to
 * the configuration.
 */
#ifndef AB_CONF_LINE_H
#define AB_CONF_LINE_H

#include "base/span.h"

enum conf_line_kind {
	CONF_LINE_BLANK,    /* empty, or nothing but a comment */
	CONF_LINE_SECTION,  /* `name` is what the brackets enclose */
	CONF_LINE_SETTING,  /* `name` is the key */
	CONF_LINE_MORE,     /* indented: it continues the value above */
	CONF_LINE_BAD,      /* `flaw` */
};

struct conf_line {
	enum conf_line_kind kind;
	struct span text;   /* without the line end and a comment behind it */
	struct span name;
	const char *flaw;   /* static; what is wrong and what to do */
};

/* `whole` comes without its line end. `below_key`: there is a key above, in
 * this section. */
struct conf_line conf_line_of(struct span whole, bool below_key);

#endif
