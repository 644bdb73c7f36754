/* SPDX-License-Identifier: MIT */
/*
 * sim plays a scenario: the real engine and policy, on a virtual clock. It
 * decides only how often: once, or once for each allocation that may fail.
 *
 *   sim [-v] [-f N [-a]] FILE
 *
 *   -v  tell the story   -f  the N-th allocation fails   -a  all after it too
 *   exit code 0: as expected, 1: not so, 2: unreadable
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "policy/json_path.h"
#include "world.h"

#define SWEEP_MOST 3000 /* allocations that are made to fail, one by one */

/* Whatever fails, nobody may be forgotten and nothing left over. */
static unsigned
sweep(const struct scene *s, unsigned long allocs)
{
	unsigned long step = allocs / SWEEP_MOST + 1, ignored;
	unsigned faults = 0;

	for (unsigned long n = 1; n <= allocs && faults == 0; n += step) {
		struct how one = {.failing = n};
		struct how rest = {.failing = n, .all_after = true};

		faults += world_play(s, &one, &ignored);
		faults += world_play(s, &rest, &ignored);
	}
	return faults;
}

int
main(int argc, char **argv)
{
	struct how how = {.verbose = false};
	static struct scene scene;
	unsigned long allocs;
	unsigned faults;
	int c;

	json_setup();
	while ((c = getopt(argc, argv, "vf:a")) != -1) {
		if (c == 'v')
			how.verbose = true;
		else if (c == 'f')
			how.failing = strtoul(optarg, NULL, 10);
		else if (c == 'a')
			how.all_after = true;
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: sim [-v] [-f N [-a]] FILE\n");
		return 2;
	}
	scene_load(&scene, argv[optind]);
	faults = world_play(&scene, &how, &allocs);
	if (scene.fail_allocs && !how.failing && faults == 0)
		faults = sweep(&scene, allocs);
	scene_free(&scene);
	return faults > 0;
}
