/* SPDX-License-Identifier: MIT */
/*
 * preset: the files of presets, ready-made settings for well-known services.
 * Those of etc/presets are in the program itself; a user's own, in a directory
 * of files NAME.conf, win over them. What a file means is conf_preset.c's.
 */
#ifndef AB_PRESET_H
#define AB_PRESET_H

#include "edge/conf_pool.h"
#include "edge/file_text.h"

#define PRESET_FILE_MAX (256u << 10) /* bytes */
#define PRESET_NAME_MAX 40           /* bytes */

struct preset_built_in {
	const char *name;
	const unsigned char *text; /* no NUL behind it */
	size_t n;
};
/* By name. Made of etc/presets when the program is built. */
extern const struct preset_built_in preset_built_in[];
extern const size_t preset_nbuilt_in;

struct preset {
	const char *path;      /* in the pool; NULL: built in */
	struct span text;      /* of `file`, or static */
	struct file_text file; /* owns */
};

enum preset_result {
	PRESET_OK,
	PRESET_NONE,      /* there is none of that name */
	PRESET_UNREADABLE, /* there is a file of that name, but see *ret_why */
	PRESET_NO_MEMORY,
};

/* Can a preset be called that? [a-z0-9-]+, PRESET_NAME_MAX bytes at most. */
bool preset_is_name(struct span name);

/*
 * `dir`: the user's own presets, or NULL. Where the file can't be read ret->path
 * says which; of *ret only that is set then. preset_close where it went well.
 */
AB_MUST enum preset_result preset_open(const char *dir, struct span name,
    struct conf_pool *pool, struct preset *ret, const char **ret_why);
void preset_close(struct preset *p);

/* All names, sorted, each once; in the pool. */
struct preset_names {
	const char **v;
	size_t n;
};
/* 0; or an errno of `dir`, and the list has the built-in ones (ENOMEM: none). */
AB_MUST int preset_list(const char *dir, struct conf_pool *pool,
    struct preset_names *ret);

/* What it is about: its first line of comment, the licence's aside. */
struct span preset_about(struct span text);

#endif
