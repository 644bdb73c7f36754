/* SPDX-License-Identifier: MIT */
#include "ctl/say.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"

int
say_no_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	int why = errno;

	fprintf(stderr, "abidectl: %s: %s", path, strerror(why));
	if (why == ENOENT && slash && slash > path)
		fprintf(stderr, "; is the directory %.*s there?",
		    (int)(slash - path), path);
	fputc('\n', stderr);
	return CTL_MISSING;
}

void
say_word(const char *path, FILE *to)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+:@,%";

	if (path[strspn(path, plain)] == '\0') {
		fputs(path, to);
		return;
	}
	fputc('\'', to);
	for (; *path; path++) {
		if (*path == '\'')
			fputs("'\\''", to);
		else
			fputc(*path, to);
	}
	fputc('\'', to);
}

int
say_no_ca(const char *cert, const char *why)
{
	bool none = access(cert, F_OK) < 0 && errno == ENOENT;

	fprintf(stderr, "abidectl: %s%s\n", why,
	    none ? "; 'abidectl ca init' makes a CA" : "");
	return CTL_MISSING;
}

int
say_no_memory(void)
{
	fputs("abidectl: out of memory\n", stderr);
	return CTL_MISSING;
}
