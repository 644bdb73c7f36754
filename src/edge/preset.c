/* SPDX-License-Identifier: MIT */
/*
 * preset.c: where the text of a preset comes from.
 *
 * Decides which file a name stands for, and that no name leads out of the
 * directory. It does not know what is in the files.
 */
#include "edge/preset.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"

#define ENDING ".conf"

bool
preset_is_name(struct span name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    c != '-')
			return false;
	}
	return name.n > 0 && name.n <= PRESET_NAME_MAX;
}

/* --- one of them --------------------------------------------------------- */

static enum preset_result
open_built_in(struct span name, struct preset *ret)
{
	for (size_t i = 0; i < preset_nbuilt_in; i++) {
		const struct preset_built_in *b = &preset_built_in[i];

		if (span_eq(span_of(b->name), name)) {
			*ret = (struct preset){
			    .text = {(const char *)b->text, b->n}};
			return PRESET_OK;
		}
	}
	return PRESET_NONE;
}

static const char *
path_of(const char *dir, struct span name, struct conf_pool *pool)
{
	struct strbuf b;

	strbuf_init(&b, SIZE_MAX);
	strbuf_fmt(&b, "%s/%.*s" ENDING, dir, SPAN_ARG(name));
	const char *path =
	    b.failed ? NULL : conf_pool_dup(pool, strbuf_view(&b));
	strbuf_free(&b);
	return path;
}

static enum preset_result
open_file(const char *path, struct preset *ret, const char **ret_why)
{
	struct preset p = {.path = path};

	if (file_text_read(path, PRESET_FILE_MAX, &p.file, ret_why) != 0) {
		ret->path = path;
		return strcmp(*ret_why, "out of memory") == 0
		    ? PRESET_NO_MEMORY
		    : PRESET_UNREADABLE;
	}
	p.text = (struct span){p.file.p, p.file.n};
	*ret = p;
	return PRESET_OK;
}

enum preset_result
preset_open(const char *dir, struct span name, struct conf_pool *pool,
    struct preset *ret, const char **ret_why)
{
	if (!preset_is_name(name))
		return PRESET_NONE;
	if (dir == NULL)
		return open_built_in(name, ret);

	const char *path = path_of(dir, name, pool);
	if (path == NULL)
		return PRESET_NO_MEMORY;
	if (access(path, F_OK) != 0 && errno == ENOENT)
		return open_built_in(name, ret);
	return open_file(path, ret, ret_why);
}

void
preset_close(struct preset *p)
{
	file_text_free(&p->file);
	*p = (struct preset){.path = NULL};
}

/* --- all of them --------------------------------------------------------- */

static int
add_name(struct preset_names *names, struct conf_pool *pool, struct span name)
{
	const char **v =
	    conf_pool_grow(pool, names->v, names->n, sizeof(*names->v));
	const char *copy = conf_pool_dup(pool, name);

	if (v == NULL || copy == NULL)
		return ENOMEM;
	names->v = v;
	v[names->n++] = copy;
	return 0;
}

static int
add_directory(struct preset_names *names, struct conf_pool *pool,
    const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int error = 0;

	if (d == NULL)
		return errno;
	while (error == 0 && (errno = 0, entry = readdir(d)) != NULL) {
		struct span name = span_of(entry->d_name);

		if (!span_ends(name, SPAN(ENDING)))
			continue;
		name.n -= strlen(ENDING);
		if (preset_is_name(name))
			error = add_name(names, pool, name);
	}
	if (error == 0)
		error = errno;
	(void)closedir(d);
	return error;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int
preset_list(const char *dir, struct conf_pool *pool, struct preset_names *ret)
{
	struct preset_names names = {.n = 0};
	int error = 0;
	size_t n = 0;

	for (size_t i = 0; i < preset_nbuilt_in; i++) {
		if (add_name(&names, pool, span_of(preset_built_in[i].name)))
			return ENOMEM;
	}
	if (dir != NULL)
		error = add_directory(&names, pool, dir);
	if (error == ENOMEM)
		return error;
	if (names.n > 0)
		qsort(names.v, names.n, sizeof(*names.v), compare);
	for (size_t i = 0; i < names.n; i++) {
		if (n == 0 || strcmp(names.v[n - 1], names.v[i]) != 0)
			names.v[n++] = names.v[i];
	}
	names.n = n;
	*ret = names;
	return error;
}

struct span
preset_about(struct span text)
{
	struct span line;

	while (span_cut(&text, '\n', &line)) {
		line = span_trim(line);
		if (line.n == 0 || line.p[0] != '#')
			continue;
		line = span_trim((struct span){line.p + 1, line.n - 1});
		if (line.n > 0 &&
		    !span_starts(line, SPAN("SPDX-License-Identifier")))
			return line;
	}
	return (struct span){.p = "", .n = 0};
}
