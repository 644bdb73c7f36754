/* SPDX-License-Identifier: MIT */
/*
 * htpasswd: a file of users, one "NAME:HASH" a line; empty lines and those that
 * begin with '#' are skipped. Hashes are what crypt(5) calls bcrypt ($2a$, $2b$,
 * $2y$), yescrypt ($y$), sha512crypt ($6$) and sha256crypt ($5$); anything that
 * can be guessed quickly is refused, and so is what takes seconds to check.
 */
#ifndef AB_HTPASSWD_H
#define AB_HTPASSWD_H

#include <crypt.h>

#include "conf_problem.h"

#define HTPASSWD_FILE_MAX (4 * 1024 * 1024) /* bytes */

struct htpasswd_user {
	const char *name; /* in the text; 1..BASIC_USER_MAX bytes of UTF-8 */
	const char *hash; /* in the text */
	unsigned line;
};

struct htpasswd {
	struct htpasswd_user *v; /* owns; by name */
	size_t n;
	char *text;              /* owns; the file, cut into strings */
};

/*
 * Reads the file at `path`; *h is empty before. A file that others than owner
 * and group can read or write is refused. All problems are added: those of the
 * file with `where`, the place that names it, those inside as FILE:LINE; none
 * of them quotes a hash. 0, or -1 with one problem at least and *h empty.
 */
AB_MUST int htpasswd_read(struct htpasswd *h, const char *path,
    struct conf_where where, struct conf_problems *problems);
/* The same from memory; takes over `text` (n bytes and a NUL, mem_alloc). */
AB_MUST int htpasswd_parse(struct htpasswd *h, const char *path, char *text,
    size_t n, struct conf_problems *problems);
void htpasswd_free(struct htpasswd *h); /* empty and usable again */

/* NULL: no such user. Names compare byte by byte. */
const struct htpasswd_user *htpasswd_find(const struct htpasswd *h,
    struct span name);

/* NULL, or what is wrong with a hash, and what to do. */
const char *htpasswd_hash_flaw(const char *hash);

/*
 * Slow on purpose: 1 ms to a second. 1: this is the password; 0: it is not;
 * -1: no memory. *data is scratch space, zeroed before the first use and wiped
 * by each. No two threads may use one.
 */
AB_MUST int htpasswd_matches(const char *hash, const char *password,
    struct crypt_data *data);

#endif
