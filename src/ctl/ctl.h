/* SPDX-License-Identifier: MIT */
/*
 * ctl: the commands of abidectl, and their help. One row each in the table of
 * ctl.c.
 */
#ifndef AB_CTL_H
#define AB_CTL_H

/* What a command ends with. */
enum ctl_exit {
	CTL_OK,
	CTL_WRONG,   /* usage, configuration, or what was to be looked at */
	CTL_MISSING, /* a file that is needed, or that can't be written */
};

/* The program: returns its exit code. */
int ctl_main(int argc, char **argv);

#endif
