/* SPDX-License-Identifier: MIT */
/*
 * abidectl: what an operator says to abided, and does for it. Everything is in
 * ctl/.
 */
#include "ctl/ctl.h"

int
main(int argc, char **argv)
{
	return ctl_main(argc, argv);
}
