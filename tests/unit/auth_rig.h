/* SPDX-License-Identifier: MIT */
/* auth_rig: hashes and files of users for tests, made when they run. */
#ifndef AB_AUTH_RIG_H
#define AB_AUTH_RIG_H

#include "conf_rig.h"

#include <crypt.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* `prefix`, e.g. "$6$"; count 0: the library's default. Static. */
static inline const char *
rig_hash(const char *prefix, unsigned long count, const char *password)
{
	static char out[CRYPT_OUTPUT_SIZE];
	char salt[CRYPT_GENSALT_OUTPUT_SIZE];
	struct crypt_data *data = calloc(1, sizeof(*data));
	const char *made;

	assert_non_null(data);
	assert_non_null(crypt_gensalt_rn(prefix, count, "0123456789abcdef", 16,
	    salt, sizeof(salt)));
	made = crypt_r(password, salt, data);
	assert_non_null(made);
	assert_true(made[0] == '$');
	(void)snprintf(out, sizeof(out), "%s", made);
	free(data);
	return out;
}

/* A file of its own with this text; its path is static. */
static inline const char *
rig_file(const char *text, mode_t mode)
{
	static char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/tmp/abided-auth-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
	return path;
}

#endif
