/* SPDX-License-Identifier: MIT */
/*
 * Prints the example configuration as the option table has it. etc/abided.conf
 * is this output ("make example"), and lint fails where the two differ.
 */
#include <stdio.h>

#include "edge/conf.h"

int
main(void)
{
	conf_print_example(stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}
