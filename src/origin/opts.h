/* SPDX-License-Identifier: MIT */
/*
 * opts: the command line.
 */
#ifndef AB_ORIGIN_OPTS_H
#define AB_ORIGIN_OPTS_H

#include "server.h"

struct opts {
	const char *listen[SERVER_LISTENERS_MAX]; /* borrows argv */
	unsigned nlisten;
	const char *log; /* NULL: none; "-": standard output */
	bool quiet;
	uint64_t keep, max_conns;
	int64_t idle_ns;
};

enum opts_result {
	OPTS_RUN,
	OPTS_DONE, /* --help or --version: was printed, exit 0 */
	OPTS_BAD,  /* told on standard error, exit 1 */
};

/* Fills *p, and the rules and switches of *o. */
enum opts_result opts_parse(struct opts *p, struct origin *o, int argc,
    char **argv);

#endif
