/* SPDX-License-Identifier: MIT */
/*
 * file_text decides whether a file can be read at all. It refuses to know who
 * may have a right to it.
 */
#include "file_text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define NO_RIGHT \
	"Permission denied; let the user that this program runs as read it, " \
	"as its owner (chmod 600) or, where it is root's, by its group (chgrp, " \
	"chmod 640)"

void
file_text_free(struct file_text *t)
{
	if (t->p)
		OPENSSL_cleanse(t->p, t->n);
	mem_free(t->p);
	*t = (struct file_text){.p = NULL};
}

static const char *
read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t got = read(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return strerror(errno);
		if (got == 0)
			return "it became shorter while it was read";
		p += got;
		n -= (size_t)got;
	}
	return NULL;
}

/* NULL, or why not. */
static const char *
read_open(int fd, size_t most, struct file_text *t)
{
	const char *why;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (!S_ISREG(st.st_mode))
		return "not a regular file";
	if ((uintmax_t)st.st_size > most)
		return "too large";
	*t = (struct file_text){.n = (size_t)st.st_size,
	    .mode = st.st_mode & 07777,
	    .owner = st.st_uid};
	t->p = mem_alloc(t->n + 1);
	if (!t->p)
		return "out of memory";
	why = read_all(fd, t->p, t->n);
	t->p[t->n] = '\0';
	if (why)
		file_text_free(t);
	return why;
}

int
file_text_read(const char *path, size_t most, struct file_text *ret,
    const char **ret_why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file_text t;
	const char *why;

	if (fd < 0) {
		*ret_why = errno == EACCES ? NO_RIGHT : strerror(errno);
		return -1;
	}
	why = read_open(fd, most, &t);
	(void)close(fd);
	if (why) {
		*ret_why = why;
		return -1;
	}
	*ret = t;
	return 0;
}
