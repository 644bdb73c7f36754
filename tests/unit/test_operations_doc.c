/* SPDX-License-Identifier: MIT */
/*
 * docs/OPERATIONS.md explains each reason and each kind of wait, and none that
 * there is not. Rows of its tables begin with "| `name` |".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/verdict.h"

/* The section of the page below this heading, where the tree is at hand. */
static struct span
section(const char *heading)
{
	const char *top = getenv("top_srcdir");
	static char text[131072];
	char path[4096];

	if (top == NULL)
		skip();
	(void)snprintf(path, sizeof(path), "%s/docs/OPERATIONS.md", top);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	assert_int_equal(fclose(f), 0);

	const char *from = strstr(text, heading);
	assert_non_null(from);
	from += strlen(heading);
	const char *to = strstr(from, "\n## ");
	return (struct span){from, to ? (size_t)(to - from) : strlen(from)};
}

/* How often a row of that name is in there; an empty name: any row. */
static unsigned
rows(struct span text, const char *name)
{
	struct span line;
	unsigned n = 0;
	char begin[64];

	(void)snprintf(begin, sizeof(begin), *name ? "| `%s` |" : "| `%s",
	    name);
	while (span_cut(&text, '\n', &line))
		n += span_starts(line, span_of(begin));
	return n;
}

static void
page_explains_each_reason_once_and_no_other(void **state)
{
	struct span text = section("\n## Reasons\n");

	(void)state;
	for (int g = 0; g < GIVE_UP_COUNT; g++) {
		const char *name = give_up_name((enum give_up)g);

		if (rows(text, name) != 1)
			fail_msg("reason %s: %u rows", name, rows(text, name));
	}
	assert_int_equal(rows(text, ""), GIVE_UP_COUNT);
}

static void
page_explains_each_wait(void **state)
{
	struct span text = section("\n## The log\n");

	(void)state;
	for (int w = 0; w < WAIT_WHY_COUNT; w++) {
		const char *name = wait_why_name((enum wait_why)w);

		if (rows(text, name) != 1)
			fail_msg("wait %s: %u rows", name, rows(text, name));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page_explains_each_reason_once_and_no_other),
	    cmocka_unit_test(page_explains_each_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
