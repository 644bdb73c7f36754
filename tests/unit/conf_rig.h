/* SPDX-License-Identifier: MIT */
/*
 * conf_rig: what the tests of the configuration share. Files that do not
 * matter stay in memory under the name "f"; those that do live in a directory
 * of their own, which conf_rig_files makes and takes away.
 */
#ifndef AB_CONF_RIG_H
#define AB_CONF_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "edge/conf.h"

/* All problems as one text, a line each; to be freed. */
static inline char *
rig_problems_text(const struct conf_problems *p)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	conf_problems_print(p, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* A text that must be right. */
static inline struct conf *
rig_good(const char *text)
{
	struct conf_problems p = {.n = 0};
	struct conf *c = conf_load_text("f", span_of(text), NULL, 0, &p);

	if (p.n > 0)
		print_error("%s\n", p.v[0]);
	assert_int_equal(p.n, 0);
	assert_non_null(c);
	conf_problems_free(&p);
	return c;
}

/* A conf that may not have come out, and why it did not. */
static inline void
rig_expect(struct conf *c, struct conf_problems *p, const char *expected)
{
	char *text = rig_problems_text(p);

	assert_string_equal(text, expected);
	assert_null(c);
	free(text);
	conf_problems_free(p);
}

static inline void
rig_bad(const char *text, const char *expected)
{
	struct conf_problems p = {.n = 0};

	rig_expect(conf_load_text("f", span_of(text), NULL, 0, &p), &p,
	    expected);
}

#endif
