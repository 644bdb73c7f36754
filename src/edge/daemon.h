/* SPDX-License-Identifier: MIT */
/*
 * daemon: the process: workers, signals, reload, drain.
 */
#ifndef AB_DAEMON_H
#define AB_DAEMON_H

#include "conf.h"

struct daemon_args {
	const char *conf_path;              /* NULL: built-in defaults */
	const struct conf_override *over;   /* borrows */
	size_t nover;
	int verbose;                        /* -v: more than the file says */
};

/* Runs until it is told to stop. Takes over `conf`. The exit code: 0 clean, 2
 * a resource is missing. */
AB_MUST int daemon_run(struct conf *conf, const struct daemon_args *args);

#endif
