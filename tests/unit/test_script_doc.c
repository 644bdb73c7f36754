/* SPDX-License-Identifier: MIT */
/*
 * docs/SCRIPT.md says what a script has, and shows the scripts of docs/scripts as
 * they are; what those say about some answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "script_rig.h"

/* A file of docs/, to be freed. */
static char *
doc(const char *name)
{
	const char *top = getenv("top_srcdir");
	char path[1024], *text = mem_alloc(SCRIPT_FILE_MAX);
	size_t n;
	FILE *f;

	assert_non_null(text);
	(void)snprintf(path, sizeof(path), "%s/docs/%s", top ? top : ".", name);
	f = fopen(path, "r");
	if (f == NULL)
		fail_msg("%s can't be opened", path);
	n = fread(text, 1, SCRIPT_FILE_MAX - 1, f);
	assert_int_equal(fclose(f), 0);
	text[n] = '\0';
	return text;
}

static const char *const scripts[] = {"scripts/next-minute.lua",
    "scripts/words-in-body.lua", "scripts/by-cause.lua"};

static void
page_shows_the_scripts_as_they_are(void **state)
{
	char *page = doc("SCRIPT.md");

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *text = doc(scripts[i]);
		char *code = strchr(text, '\n'); /* behind the licence line */

		assert_non_null(code);
		assert_non_null(strstr(page, scripts[i]));
		const char *at = strstr(page, code + 1);
		if (at == NULL)
			print_error("%s is another one in the page\n",
			    scripts[i]);
		assert_non_null(at);
		assert_memory_equal(at - 7, "```lua\n", 7);
		assert_memory_equal(at + strlen(code + 1), "```", 3);
		mem_free(text);
	}
	mem_free(page);
}

/* Appends name = true for each `name` of the line, without `prefix`. */
static void
put_names(struct strbuf *to, struct span line, const char *prefix)
{
	struct span part;
	bool quoted = false;

	while (span_cut(&line, '`', &part)) {
		if (quoted && span_starts(part, span_of(prefix)))
			strbuf_fmt(to, "%.*s = true, ",
			    (int)(part.n - strlen(prefix)),
			    part.p + strlen(prefix));
		quoted = !quoted;
	}
}

/* The rows of the page that begin so, as a table of Lua: of their first or of
 * their second cell. */
static void
put_rows(struct strbuf *to, const char *page, const char *begin, int cell,
    const char *prefix)
{
	struct span rest = span_of(page), line;

	while (span_cut(&rest, '\n', &line)) {
		struct span part = {.p = NULL};

		if (!span_starts(line, span_of(begin)))
			continue;
		for (int i = 0; i <= cell; i++)
			assert_true(span_cut(&line, '|', &part));
		put_names(to, part, prefix);
	}
}

/* Do the names of the page and the keys of this table agree? */
static void
assert_agrees(const char *table, const char *page, const char *begin, int cell,
    const char *prefix, const char *others)
{
	struct strbuf text;
	struct rig g;

	strbuf_init(&text, 16 * 1024);
	strbuf_fmt(&text, "function get_delay(ctx) local n, page = 0, {%s",
	    others);
	put_rows(&text, page, begin, cell, prefix);
	strbuf_fmt(&text,
	    "} for k in pairs(%s) do n = n + 1"
	    " if not page[k] then error(k .. ' is not in the page') end end"
	    " for k in pairs(page) do"
	    " if %s[k] == nil then error(k .. ' is only in the page') end end"
	    " return n end%c",
	    table, table, '\0');
	assert_false(text.failed);
	rig_init(&g);
	rig_run(&g, text.p);
	if (g.rc < 0)
		print_error("%s\n", rig_why(&g));
	assert_int_equal(g.rc, 0);
	assert_in_range(g.got.ms, 5, 100);
	strbuf_free(&g.why);
	strbuf_free(&text);
}

static void
page_lists_all_that_a_script_has(void **state)
{
	char *page = doc("SCRIPT.md");

	(void)state;
	assert_agrees("ctx", page, "| `ctx.", 1, "ctx.", "");
	assert_agrees("_G", page, "| base |", 2, "",
	    "_G = true, _VERSION = true, get_delay = true, string = true, "
	    "table = true, math = true, ");
	assert_agrees("string", page, "| `string` |", 2, "", "");
	assert_agrees("table", page, "| `table` |", 2, "", "");
	assert_agrees("math", page, "| `math` |", 2, "", "");
	mem_free(page);
}

static void
script_of_the_page_says(void **state)
{
	static const struct {
		size_t script;
		const char *fields, *body;
		unsigned attempt;
		int64_t deadline_ms;
		enum custom_kind kind;
		int64_t least_ms, most_ms;
	} rows[] = {
	    {0, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "", 1, 60000,
		CUSTOM_WAIT, 23000, 25000},
	    {0, "Date: Sun, 06 Nov 1994 08:49:00 GMT\r\n", "", 1, 60000,
		CUSTOM_WAIT, 60000, 62000},
	    {1, "", "Please try again in 1 minute and 20 seconds.", 1, 60000,
		CUSTOM_WAIT, 80000, 80000},
	    {1, "", "TRY AGAIN IN 2 HOURS", 1, 60000, CUSTOM_WAIT, 7200000,
		7200000},
	    {1, "", "Try again in 5 fortnights.", 1, 60000, CUSTOM_OWN, 0, 0},
	    {1, "", "Wait 5 seconds.", 1, 60000, CUSTOM_OWN, 0, 0},
	    {1, "", "", 1, 60000, CUSTOM_OWN, 0, 0},
	    {2, "X-Limit-Cause: day\r\n", "", 1, 60000, CUSTOM_GIVE_UP, 0, 0},
	    {2, "X-Limit-Cause: burst\r\n", "", 3, 60000, CUSTOM_WAIT, 750,
		750},
	    {2, "X-Limit-Cause: minute\r\n", "", 1, 59999, CUSTOM_GIVE_UP, 0,
		0},
	    {2, "X-Limit-Cause: minute\r\n", "", 1, 60000, CUSTOM_OWN, 0, 0},
	    {2, "", "", 1, 60000, CUSTOM_OWN, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = doc(scripts[rows[i].script]), head[256];
		struct rig g;

		rig_init(&g);
		(void)snprintf(head, sizeof(head), "HTTP/1.1 429 X\r\n%s\r\n",
		    rows[i].fields);
		rig_head(&g, head);
		g.call.body = span_of(rows[i].body);
		g.ctx.attempt = rows[i].attempt;
		g.ctx.deadline_ms = rows[i].deadline_ms;
		rig_run(&g, text);
		if (g.rc != 0 || g.got.kind != rows[i].kind)
			print_error("row %zu: %s\n", i, rig_why(&g));
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.got.kind, rows[i].kind);
		if (g.got.kind == CUSTOM_WAIT)
			assert_in_range(g.got.ms, rows[i].least_ms,
			    rows[i].most_ms);
		strbuf_free(&g.why);
		mem_free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page_shows_the_scripts_as_they_are),
	    cmocka_unit_test(page_lists_all_that_a_script_has),
	    cmocka_unit_test(script_of_the_page_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
