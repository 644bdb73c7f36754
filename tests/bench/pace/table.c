/* SPDX-License-Identifier: MIT */
/*
 * table.c: all ways of coming back on the same cells, side by side.
 *
 *	pace           every cell; some twenty seconds
 *	pace --seed N  the same with other chances
 *	pace --check   a part of the cells, judged: TAP, for "make check"
 *	pace --cell LIMIT DEMAND CLIENTS REQUESTS   one, as NAME=VALUE
 *
 * Time is virtual and chance is seeded: the figures are the same on every
 * machine. A way is worth what it costs beside exponential back-off (refusals)
 * and beside the way that was done first (time).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pace.h"

#define SEEDS 5
/* Fewer refusals than this for each served: back-off has none to save. */
#define WORTHWHILE 0.5
#define LEAST 0.973 /* of the refusals of back-off that are saved ... */
#define LONGEST 1.3 /* ... in this multiple of the best time */

static uint64_t seed = 1000;

static const unsigned crowds[] = {1, 2, 5, 10, 20, 50, 100};
static const char *const limits[] = {"fixed", "sliding", "bucket"};
static const char *const limit_names[] = {"600 in each minute (fixed window)",
    "600 in any minute (sliding window)", "10/s burst 100 (token bucket)"};
static const char *const demands[] = {"steady", "bursty", "light"};
static const char *const demand_names[] = {"15 a second",
    "1200 at once, each minute", "80 at once, each ten seconds"};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct judged {
	struct pace_result r[5]; /* by enum pace_way */
	int64_t best_ms;         /* of the naive ways */
};

static double
per_served(const struct pace_result *r)
{
	return r->served ? (double)r->refused / (double)r->served : 0;
}

static void
must(int rc)
{
	if (rc == 0)
		return;
	fprintf(stderr, "pace: out of memory, or a request was lost\n");
	exit(1);
}

/* Each request is for itself in them, so they don't depend on the clients. */
static void
judge_naive(const struct pace_cell *c, struct judged *j)
{
	j->best_ms = PACE_END_MS;
	for (int way = PACE_AT_ONCE; way <= PACE_EDGE; way++) {
		must(naive_run(c, (enum pace_way)way, &j->r[way]));
		if (j->r[way].served == c->requests &&
		    j->r[way].end_ms < j->best_ms)
			j->best_ms = j->r[way].end_ms;
	}
}

/* Chance matters more where a few clients divide a quota among them: all that
 * is refused in SEEDS plays, and the mean of their ends. */
static void
play_ours(struct pace_cell c, bool hints, struct pace_result *ret)
{
	*ret = (struct pace_result){.served = 0};
	for (unsigned i = 0; i < SEEDS; i++) {
		struct pace_result r;

		must(ours_run(&c, hints, &r));
		ret->served += r.served;
		ret->refused += r.refused;
		ret->end_ms += r.end_ms / SEEDS;
		c.seed += PACE_CLIENTS_MAX;
	}
}

static void
judge_ours(const struct pace_cell *c, struct judged *j)
{
	play_ours(*c, false, &j->r[PACE_OURS]);
	play_ours(*c, true, &j->r[PACE_HINTS]);
}

static double
saved(const struct judged *j, enum pace_way way)
{
	double backoff = per_served(&j->r[PACE_BACKOFF]);

	return backoff > 0 ? 1 - per_served(&j->r[way]) / backoff : 0;
}

static double
longer(const struct judged *j, enum pace_way way)
{
	return (double)j->r[way].end_ms / (double)j->best_ms;
}

/* Has back-off anything to save at all? */
static bool
counts(const struct judged *j)
{
	return per_served(&j->r[PACE_BACKOFF]) >= WORTHWHILE;
}

/* ---- the whole table ---- */

struct tally {
	unsigned cells, few, soon, both;
};

static void
tally_add(struct tally *t, const struct judged *j, enum pace_way way)
{
	bool few = saved(j, way) >= LEAST, soon = longer(j, way) <= LONGEST;

	t->cells++;
	t->few += few;
	t->soon += soon;
	t->both += few && soon;
}

static void
print_naive(const struct judged *j)
{
	static const char *const ways[] = {"at once", "exponential back-off",
	    "at the window's edge"};

	printf("%24s %9s %8s\n", "", "429s each", "end s");
	for (int way = PACE_AT_ONCE; way <= PACE_EDGE; way++)
		printf("%24s %9.3f %8.0f\n", ways[way], per_served(&j->r[way]),
		    (double)j->r[way].end_ms / 1000);
}

static void
print_ours(const struct judged *j, enum pace_way way)
{
	printf(" | %9.3f", per_served(&j->r[way]));
	if (counts(j))
		printf(" %6.1f%%%c", 100 * saved(j, way),
		    saved(j, way) < LEAST ? '*' : ' ');
	else
		printf(" %8s", "-");
	printf(" %6.0f %5.2f%c", (double)j->r[way].end_ms / 1000,
	    longer(j, way), longer(j, way) > LONGEST ? '*' : ' ');
}

static void
print_group(struct pace_cell *c, struct tally t[2])
{
	struct judged j;

	judge_naive(c, &j);
	printf("\n%s, demand %s\n", limit_names[c->limit],
	    demand_names[c->demand]);
	print_naive(&j);
	printf("%7s | %-33s | %s\n", "", "aimd, without hints",
	    "aimd, with Retry-After");
	for (int i = 0; i < 2; i++)
		printf("%s | %9s %8s %6s %5s ", i ? "" : "clients", "429s each",
		    "saved", "end s", "time");
	printf("\n");
	for (size_t i = 0; i < COUNT(crowds); i++) {
		c->clients = crowds[i];
		judge_ours(c, &j);
		printf("%7u", c->clients);
		print_ours(&j, PACE_OURS);
		print_ours(&j, PACE_HINTS);
		printf("\n");
		if (counts(&j)) {
			tally_add(&t[0], &j, PACE_OURS);
			tally_add(&t[1], &j, PACE_HINTS);
		}
	}
	fflush(stdout);
}

static void
print_tally(const char *name, const struct tally *t)
{
	printf("%s: of %u cells %u save at least %.1f %%, %u end within "
	       "%.1f of the best time, %u both\n",
	    name, t->cells, t->few, 100 * LEAST, t->soon, LONGEST, t->both);
}

static int
print_all(void)
{
	struct tally t[2] = {{.cells = 0}, {.cells = 0}};

	printf(
	    "%d requests in all, an answer takes %d ms. 429s each: refusals "
	    "for each request served;\nsaved: of those of exponential "
	    "back-off; time: against the first of the three others. *: misses. Ours: "
	    "the mean of %d plays.\n",
	    PACE_REQUESTS, PACE_RTT_MS, SEEDS);
	for (size_t d = 0; d < COUNT(demands); d++)
		for (size_t l = 0; l < COUNT(limits); l++) {
			struct pace_cell c = {(enum pace_limit)l,
			    (enum pace_demand)d, 1, PACE_REQUESTS, seed};

			print_group(&c, t);
		}
	printf("\n");
	print_tally("without hints", &t[0]);
	print_tally("with hints", &t[1]);
	return 0;
}

/* ---- a part of the cells, judged ---- */

static bool
good_enough(const struct judged *j, enum pace_way way, unsigned requests)
{
	return j->r[way].served == (uint64_t)SEEDS * requests &&
	    saved(j, way) >= LEAST && longer(j, way) <= LONGEST;
}

/* Without those that ask again at once: they need most of the time. */
static void
judge_fast(const struct pace_cell *c, struct judged *j)
{
	j->best_ms = PACE_END_MS;
	for (int way = PACE_BACKOFF; way <= PACE_EDGE; way++) {
		must(naive_run(c, (enum pace_way)way, &j->r[way]));
		if (j->r[way].end_ms < j->best_ms)
			j->best_ms = j->r[way].end_ms;
	}
	judge_ours(c, j);
}

static bool
check_cell(unsigned n, const struct pace_cell *c)
{
	struct judged j;
	bool ok;

	judge_fast(c, &j);
	ok = counts(&j) && good_enough(&j, PACE_OURS, c->requests) &&
	    good_enough(&j, PACE_HINTS, c->requests);
	printf("%sok %u - %s, %s, %u clients: saved %.3f, time %.2f; with "
	       "hints %.3f, %.2f\n",
	    ok ? "" : "not ", n, limits[c->limit], demands[c->demand],
	    c->clients, saved(&j, PACE_OURS), longer(&j, PACE_OURS),
	    saved(&j, PACE_HINTS), longer(&j, PACE_HINTS));
	fflush(stdout);
	return ok;
}

static int
check(void)
{
	static const unsigned few[] = {1, 10, 100};
	bool ok = true;
	unsigned n = 0;

	printf("1..%u\n", (unsigned)(2 * COUNT(limits) * COUNT(few)));
	for (size_t d = 0; d <= PACE_BURSTY; d++)
		for (size_t l = 0; l < COUNT(limits); l++)
			for (size_t i = 0; i < COUNT(few); i++) {
				struct pace_cell c = {(enum pace_limit)l,
				    (enum pace_demand)d, few[i], PACE_REQUESTS,
				    seed};

				ok &= check_cell(++n, &c);
			}
	return ok ? 0 : 1;
}

/* ---- one cell ---- */

static int
find(const char *const *v, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i], word) == 0)
			return (int)i;
	fprintf(stderr, "pace: no '%s'\n", word);
	exit(1);
}

static int
one_cell(char **argv)
{
	struct pace_cell c = {
	    .limit = (enum pace_limit)find(limits, COUNT(limits), argv[0]),
	    .demand = (enum pace_demand)find(demands, COUNT(demands), argv[1]),
	    .clients = (unsigned)strtoul(argv[2], NULL, 10),
	    .requests = (unsigned)strtoul(argv[3], NULL, 10),
	    .seed = seed,
	};
	static const char *const ways[] = {"at_once", "backoff", "edge", "ours",
	    "hints"};
	struct judged j;

	if (c.clients < 1 || c.clients > PACE_CLIENTS_MAX || c.requests < 1 ||
	    c.requests > PACE_REQUESTS) {
		fprintf(stderr, "pace: 1 to %d clients, 1 to %d requests\n",
		    PACE_CLIENTS_MAX, PACE_REQUESTS);
		return 1;
	}
	judge_naive(&c, &j);
	judge_ours(&c, &j);
	for (int way = PACE_AT_ONCE; way <= PACE_HINTS; way++)
		printf("%s_429s=%.3f %s_end_s=%.1f\n", ways[way],
		    per_served(&j.r[way]), ways[way],
		    (double)j.r[way].end_ms / 1000);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
		seed = strtoull(argv[2], NULL, 10);
		return print_all();
	}
	if (argc == 1)
		return print_all();
	if (argc == 2 && strcmp(argv[1], "--check") == 0)
		return check();
	if (argc == 6 && strcmp(argv[1], "--cell") == 0)
		return one_cell(argv + 2);
	fprintf(stderr,
	    "usage: pace [--seed N | --check | --cell LIMIT DEMAND CLIENTS REQUESTS]\n");
	return 1;
}
