/* SPDX-License-Identifier: MIT */
/*
 * newfile.c: write, sync, name, sync.
 *
 * Decides the order of these steps. What is in a file, and whether one may be
 * replaced, is up to who asks.
 */
#include "ctl/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
write_all(int fd, struct span text)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		text = (struct span){text.p + n, text.n - (size_t)n};
	}
	return 0;
}

/* The mode comes last: until then nobody else can read it. */
static int
fill(int fd, struct span text, mode_t mode, const struct stat *like)
{
	if (write_all(fd, text) < 0)
		return -1;
	if (like && fchown(fd, like->st_uid, like->st_gid) < 0)
		return -1;
	if (fchmod(fd, mode) < 0)
		return -1;
	return fsync(fd);
}

int
newfile_write(struct newfile *f, const char *path, struct span text,
    mode_t mode, const struct stat *like)
{
	int fd, n, saved;

	*f = (struct newfile){.path = path};
	n = snprintf(f->temp, sizeof(f->temp), "%s.XXXXXX", path);
	if (n < 0 || (size_t)n >= sizeof(f->temp)) {
		f->temp[0] = '\0';
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(f->temp, O_CLOEXEC);
	if (fd < 0) {
		f->temp[0] = '\0';
		return -1;
	}
	n = fill(fd, text, mode, like);
	saved = errno;
	if (close(fd) < 0 && n == 0)
		return -1;
	errno = saved;
	return n;
}

/* The name is on the disk when its directory is. */
static int
sync_folder(struct newfile *f)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(f->path, '/');
	size_t n = slash ? (size_t)(slash - f->path) + 1 : 0;
	int fd, status, saved;

	memcpy(folder, f->path, n);
	memcpy(folder + n, ".", 2);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	status = fsync(fd);
	saved = errno;
	(void)close(fd);
	errno = saved;
	return status;
}

int
newfile_publish(struct newfile *f)
{
	int saved;

	/* Unlike rename, link refuses a name that is taken. */
	if (link(f->temp, f->path) < 0)
		return -1;
	newfile_drop(f);
	if (sync_folder(f) == 0)
		return 0;
	saved = errno;
	(void)unlink(f->path);
	errno = saved;
	return -1;
}

int
newfile_replace(struct newfile *f)
{
	if (rename(f->temp, f->path) < 0)
		return -1;
	f->temp[0] = '\0';
	return sync_folder(f);
}

void
newfile_drop(struct newfile *f)
{
	int saved = errno;

	if (f->temp[0] != '\0')
		(void)unlink(f->temp);
	f->temp[0] = '\0';
	errno = saved;
}
