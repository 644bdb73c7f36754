/* SPDX-License-Identifier: MIT */
/*
 * presets_cmd.c: which presets there are, and what is in them.
 *
 * Decides how the list looks. It works where the configuration is full of
 * mistakes too: of that only preset_dir matters here.
 */
#include "ctl/presets_cmd.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/say.h"
#include "edge/preset.h"

#define HOSTS_WIDTH 44 /* columns; what is over is counted */

struct presets {
	struct conf_pool pool;
	const char *dir; /* preset_dir, or NULL */
	struct preset_names names;
	int name_width;
};

/* --- one line of the list ------------------------------------------------ */

/* As a service has it that says nothing but its preset; NULL: told why. */
static struct conf *
try_preset(const struct presets *p, const char *name)
{
	static char service[] = "service x", preset[] = "preset";
	static char proxy[] = "proxy", dir[] = "preset_dir", none[] = "none";
	static char tls[] = "tls", tunnel[] = "tunnel";
	struct conf_problems problems = {.n = 0};
	struct conf_override over[] = {
	    {service, preset, (char *)(uintptr_t)name, "abidectl presets"},
	    {service, tls, tunnel, "abidectl presets"},
	    {proxy, dir, p->dir ? (char *)(uintptr_t)p->dir : none,
		"abidectl presets"},
	};
	struct conf *c = conf_load(NULL, over, 3, &problems);

	conf_problems_print(&problems, stderr);
	conf_problems_free(&problems);
	return c;
}

/* "api.github.com, +2", at least one of them whole. */
static int
put_hosts(const struct conf_service *s)
{
	int width = 0;

	for (size_t i = 0; i < s->nhosts; i++) {
		int n = (int)strlen(s->hosts[i]);

		if (i > 0 && width + n + 8 > HOSTS_WIDTH)
			return width + printf(", +%zu", s->nhosts - i);
		width += printf("%s%s", i > 0 ? ", " : "", s->hosts[i]);
	}
	return width > 0 ? width : printf("-");
}

static int
put_line(struct presets *p, const char *name)
{
	struct conf *c = try_preset(p, name);
	const char *why = "";
	struct preset preset;
	int width;

	if (!c)
		return CTL_WRONG;
	if (preset_open(p->dir, span_of(name), &p->pool, &preset, &why) !=
	    PRESET_OK) {
		conf_unref(c);
		return CTL_WRONG;
	}
	printf("%-*s  ", p->name_width, name);
	width = put_hosts(c->services[0]);
	printf("%*s  %.*s", width < HOSTS_WIDTH ? HOSTS_WIDTH - width : 0, "",
	    SPAN_ARG(preset_about(preset.text)));
	printf("%s%s%s\n", preset.path ? " (" : "",
	    preset.path ? preset.path : "", preset.path ? ")" : "");
	preset_close(&preset);
	conf_unref(c);
	return CTL_OK;
}

static int
put_list(struct presets *p)
{
	int code = CTL_OK;

	p->name_width = 4;
	for (size_t i = 0; i < p->names.n; i++) {
		int n = (int)strlen(p->names.v[i]);

		p->name_width = n > p->name_width ? n : p->name_width;
	}
	printf("%-*s  %-*s  %s\n", p->name_width, "NAME", HOSTS_WIDTH, "HOSTS",
	    "WHAT");
	for (size_t i = 0; i < p->names.n; i++) {
		if (put_line(p, p->names.v[i]) != CTL_OK)
			code = CTL_WRONG;
	}
	return code;
}

/* --- one of them --------------------------------------------------------- */

static int
put_text(struct presets *p, const char *name)
{
	struct preset preset = {.path = NULL};
	const char *why = "";

	switch (preset_open(p->dir, span_of(name), &p->pool, &preset, &why)) {
	case PRESET_OK:
		(void)fwrite(preset.text.p, 1, preset.text.n, stdout);
		preset_close(&preset);
		return CTL_OK;
	case PRESET_NONE:
		fprintf(stderr,
		    "abidectl: there is no preset '%s'; 'abidectl presets' "
		    "lists all\n",
		    name);
		return CTL_WRONG;
	case PRESET_UNREADABLE:
		fprintf(stderr, "abidectl: %s: %s\n", preset.path, why);
		return CTL_MISSING;
	default:
		return say_no_memory();
	}
}

static int
run(struct presets *p, const struct args *a)
{
	const char *path = args_conf_path(a);
	int error;

	if (path && access(path, R_OK) != 0)
		return say_no_file(path);
	p->dir = conf_preset_dir(path, a->over.v, a->over.n, &p->pool);
	error = preset_list(p->dir, &p->pool, &p->names);
	if (error == ENOMEM || p->pool.failed)
		return say_no_memory();
	if (error) {
		errno = error;
		return say_no_file(p->dir);
	}
	return a->nwords > 1 ? put_text(p, a->words[1]) : put_list(p);
}

int
presets_cmd(const struct args *args)
{
	struct presets p = {.dir = NULL};
	int code = run(&p, args);

	conf_pool_free(&p.pool);
	return code;
}
