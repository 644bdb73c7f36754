/* SPDX-License-Identifier: MIT */
/*
 * Prints what is cut from the option table: the example configuration, or with
 * the argument "options" the list of options, with "man" the part of the manual
 * page that lists them. etc/abided.conf, docs/OPTIONS.md and what is between the
 * marks in docs/abided.conf.5 are this output ("make tables"); a unit test, and
 * lint for the first two, fail where they differ.
 */
#include <stdio.h>
#include <string.h>

#include "edge/conf.h"

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "options") == 0)
		conf_print_options(stdout);
	else if (argc == 2 && strcmp(argv[1], "man") == 0)
		conf_print_man(stdout);
	else
		conf_print_example(stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
