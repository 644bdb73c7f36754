/* SPDX-License-Identifier: MIT */
/* strategy = custom and script: what fits together, and what a file holds. */
#include "conf_rig.h"

#include <stdio.h>
#include <unistd.h>

#include "edge/conf_problem.h"
#include "edge/script.h"

#define NEEDS \
	"strategy (custom) needs a script; script = PATH names its Lua file\n"
#define API "[service api]\nhosts = a.test\n"

static void
script_without_strategy_custom_is_a_problem_and_the_other_way_round(
    void **state)
{
	static const struct {
		const char *text, *problem;
	} rows[] = {
	    {API "strategy = custom\n", "f:3: " NEEDS},
	    {"[defaults]\nstrategy = custom\n", "f:2: " NEEDS},
	    {"[defaults]\nstrategy = custom\nscript = /x.lua\n" API
	     "script = none\n",
		"f:6: " NEEDS},
	    {API "script = /x.lua\n",
		"f:3: script (/x.lua) has no effect: strategy is auto; set "
		"strategy = custom\n"},
	    {"[defaults]\nstrategy = custom\nscript = /x.lua\n" API
	     "strategy = exponential\nscript = /y.lua\n",
		"f:7: script (/y.lua) has no effect: strategy is exponential; "
		"set strategy = custom\n"},
	    {API "strategy = custom\nscript = x.lua\n",
		"f:4: script 'x.lua': a file's path begins with /; it takes "
		"the path of a file, which begins with /, or none\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		rig_bad(rows[i].text, rows[i].problem);
}

static void
script_and_strategy_may_come_from_different_layers(void **state)
{
	static const char *const texts[] = {
	    "[defaults]\nscript = /x.lua\n" API "strategy = custom\n",
	    "[defaults]\nstrategy = custom\nscript = /x.lua\n" API,
	    "[defaults]\nstrategy = custom\nscript = /x.lua\n" API
	    "strategy = auto\n",
	    "[defaults]\nscript = /x.lua\n" API,
	    API "strategy = custom\nscript = /x.lua\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		conf_unref(rig_good(texts[i]));
}

/* --- files ----------------------------------------------------------------- */

struct dir {
	char path[64];
	char file[96];
};

static void
dir_make(struct dir *d)
{
	(void)snprintf(d->path, sizeof(d->path), "/tmp/test-script.XXXXXX");
	assert_non_null(mkdtemp(d->path));
	(void)snprintf(d->file, sizeof(d->file), "%s/a.lua", d->path);
}

static void
dir_write(const struct dir *d, const char *text)
{
	FILE *f = fopen(d->file, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void
dir_remove(const struct dir *d)
{
	(void)unlink(d->file);
	(void)rmdir(d->path);
}

/* Two services and [defaults] that all ask the file. */
static struct conf *
three(const struct dir *d)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
	    "[defaults]\nstrategy = custom\nscript = %s\n"
	    "[service a]\nhosts = a.test\n"
	    "[service b]\nhosts = b.test\nscript = %s\n"
	    "[service c]\nhosts = c.test\nstrategy = auto\n",
	    d->file, d->file);
	return rig_good(text);
}

static void
scripts_of_one_file_are_one(void **state)
{
	struct conf_problems p = {.n = 0};
	struct dir d;

	(void)state;
	dir_make(&d);
	dir_write(&d, "wants_body = true function get_delay() end");
	struct conf *c = three(&d);
	assert_int_equal(scripts_load(c, &p), 0);
	assert_int_equal(p.n, 0);
	assert_int_equal(c->nscripts, 1);
	assert_non_null(c->defaults.script);
	assert_ptr_equal(c->services[0]->script, c->defaults.script);
	assert_ptr_equal(c->services[1]->script, c->defaults.script);
	assert_null(c->services[2]->script);
	assert_true(c->services[0]->policy.script_body);
	assert_false(c->services[2]->policy.script_body);
	conf_unref(c);
	dir_remove(&d);
}

static void
script_that_can_t_be_used_is_a_problem_where_it_is_named(void **state)
{
	static const struct {
		const char *text, *words; /* NULL: no file */
	} rows[] = {
	    {NULL, ": No such file or directory"},
	    {"function get_delay(ctx)\n\treturn 5 5\nend\n",
		": a.lua:2: 'end' expected (to close 'function' at "
		"line 1) near '5'"},
	    {"function delay() end", ": it defines no function get_delay"},
	};
	struct dir d;

	(void)state;
	dir_make(&d);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_problems p = {.n = 0};
		char want[512];

		if (rows[i].text != NULL)
			dir_write(&d, rows[i].text);
		struct conf *c = three(&d);
		assert_int_equal(scripts_load(c, &p), -1);
		assert_int_equal(p.n, 1);
		(void)snprintf(want, sizeof(want), "f:3: script: %s%s", d.file,
		    rows[i].words);
		assert_string_equal(p.v[0], want);
		conf_problems_free(&p);
		conf_unref(c);
	}
	dir_remove(&d);
}

static void
script_larger_than_64_kib_is_refused(void **state)
{
	static char text[SCRIPT_FILE_MAX + 2];
	struct conf_problems p = {.n = 0};
	struct dir d;

	(void)state;
	dir_make(&d);
	memset(text, ' ', SCRIPT_FILE_MAX + 1);
	text[SCRIPT_FILE_MAX + 1] = '\0';
	dir_write(&d, text);
	struct conf *c = three(&d);
	assert_int_equal(scripts_load(c, &p), -1);
	assert_non_null(strstr(p.v[0], "too large"));
	conf_problems_free(&p);
	conf_unref(c);
	dir_remove(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		script_without_strategy_custom_is_a_problem_and_the_other_way_round),
	    cmocka_unit_test(
		script_and_strategy_may_come_from_different_layers),
	    cmocka_unit_test(scripts_of_one_file_are_one),
	    cmocka_unit_test(
		script_that_can_t_be_used_is_a_problem_where_it_is_named),
	    cmocka_unit_test(script_larger_than_64_kib_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
