/* SPDX-License-Identifier: MIT */
/*
 * conf_problem: where something stands, and what is wrong with it. Internal to
 * the configuration.
 */
#ifndef AB_CONF_PROBLEM_H
#define AB_CONF_PROBLEM_H

#include "edge/conf.h"

struct conf_where {
	const char *file; /* borrows; for an override "-s proxy.workers=2" */
	unsigned line;    /* 0: `file` says it all */
};

#define CONF_WHERE_MAX 320 /* bytes of a place in words, longer ones are cut */

/* "FILE:LINE" or "-s proxy.workers=2", with a NUL. Returns buf. */
const char *conf_where_text(struct conf_where w, char buf[CONF_WHERE_MAX]);

void conf_problem(struct conf_problems *p, struct conf_where w,
    const char *fmt, ...) AB_PRINTF(3, 4);
/* One of these is enough. */
void conf_problem_no_memory(struct conf_problems *p);
/* From index `from` on: by file, then by line. */
void conf_problems_sort(struct conf_problems *p, size_t from);

/* Of a text that people wrote: NULL, or what is wrong (controls but tab, NUL,
 * not UTF-8). */
const char *conf_text_flaw(struct span s);

#endif
