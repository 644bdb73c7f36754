/* SPDX-License-Identifier: MIT */
/*
 * Prints what is cut from the option table: the example configuration, or with
 * the argument "options" the list of options. etc/abided.conf and
 * docs/OPTIONS.md are this output ("make tables"); lint fails where they differ.
 */
#include <stdio.h>
#include <string.h>

#include "edge/conf.h"

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "options") == 0)
		conf_print_options(stdout);
	else
		conf_print_example(stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
