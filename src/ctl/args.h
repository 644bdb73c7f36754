/* SPDX-License-Identifier: MIT */
/*
 * args: the options of a command line, wherever they stand in it, and the words
 * between them. What each command takes is the table's in ctl.c.
 */
#ifndef AB_ARGS_H
#define AB_ARGS_H

#include <stdio.h>

#include "edge/conf.h"

/* Which options were given, and which a command takes. */
enum args_bit {
	ARG_CONF = 1 << 0, /* -c */
	ARG_SET = 1 << 1,  /* -s */
	ARG_CERT = 1 << 2,
	ARG_KEY = 1 << 3,
	ARG_HOST = 1 << 4,
	ARG_NAME = 1 << 5,
	ARG_DAYS = 1 << 6,
	ARG_DER = 1 << 7,
	ARG_OUT = 1 << 8,
	ARG_HELP = 1 << 9,
	ARG_VERSION = 1 << 10,
};

#define ARGS_CONF_DEFAULT AB_SYSCONFDIR "/abided/abided.conf"
#define ARGS_DAYS 3650 /* unless --days says otherwise */

struct args {
	unsigned given;        /* bits */
	const char *conf_path; /* all texts borrow argv */
	struct conf_overrides over; /* owns */
	const char *cert, *key, *name, *out;
	const char **hosts;    /* owns the array */
	size_t nhosts;
	unsigned days;
	char **words;
	int nwords;
};

/*
 * Reads a command line; argv is reordered. 0; or -1, said on standard error.
 * args_free in either case.
 */
AB_MUST int args_parse(int argc, char **argv, struct args *ret);
void args_free(struct args *a);

/* As abided: the default file may be missing (NULL), a named one may not. */
const char *args_conf_path(const struct args *a);

/* "--days", of one bit. */
const char *args_name(unsigned bit);
/* Help for these options, a line or two each. */
void args_help(unsigned bits, FILE *to);

#endif
