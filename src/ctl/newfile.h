/* SPDX-License-Identifier: MIT */
/*
 * newfile: a file that is either whole at its path, or not there. It is written
 * beside its path under another name, reaches the disk, and then gets its name
 * in one step.
 */
#ifndef AB_NEWFILE_H
#define AB_NEWFILE_H

#include <limits.h>
#include <sys/stat.h>

#include "base/span.h"

struct newfile {
	const char *path;    /* borrows */
	char temp[PATH_MAX]; /* "": there is nothing to take away */
};

/*
 * Writes text beside path, with this mode whatever the umask is. like: owner
 * and group are to be these, too; or NULL.
 * 0, or -1 with errno set.
 */
AB_MUST int newfile_write(struct newfile *f, const char *path,
    struct span text, mode_t mode, const struct stat *like);

/* Gives it its name, which nothing may have yet (EEXIST). 0, or -1 with errno
 * set. */
AB_MUST int newfile_publish(struct newfile *f);
/* The same, in the place of what has that name. */
AB_MUST int newfile_replace(struct newfile *f);

/* Takes away what has no name yet; fine after any of the above, and zeroed. */
void newfile_drop(struct newfile *f);

#endif
