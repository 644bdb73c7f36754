/* SPDX-License-Identifier: MIT */
/*
 * file_text: a small file of secrets, read whole: keys, certificates, password
 * hashes. What was read is wiped when it is freed.
 */
#ifndef AB_FILE_TEXT_H
#define AB_FILE_TEXT_H

#include <sys/types.h>

#include "base/span.h"

struct file_text {
	char *p;     /* owns; a NUL stands behind it */
	size_t n;
	mode_t mode; /* the permission bits */
	uid_t owner;
};

/*
 * A regular file of `most` bytes or fewer. 0; or -1 with *ret_why in words, good
 * until the next error of this thread. Does not wait: a FIFO is refused.
 */
AB_MUST int file_text_read(const char *path, size_t most, struct file_text *ret,
    const char **ret_why);
void file_text_free(struct file_text *t);

#endif
