/* SPDX-License-Identifier: MIT */
/*
 * expect_tries answers what is asked about attempts: how many, when, how close
 * together, in which order.
 */
#include <stdlib.h>

#include "expect_check.h"

#define STEP_US 1000 /* of the engine's clock */

/* The attempts that are meant, in order of their start. */
struct chosen {
	const struct try **v; /* owns */
	size_t n;
};

static struct chosen
choose(const struct world *w, const struct expect *x)
{
	struct chosen c = {calloc(w->ntries + 1, sizeof(*c.v)), 0};

	if (!c.v)
		abort();
	for (unsigned i = 0; i < w->ntries; i++) {
		const struct try *t = w->tries[i];

		if (!t->off && expect_selects(x, t->job) &&
		    t->start_us >= x->since_us && t->start_us <= x->until_us)
			c.v[c.n++] = t;
	}
	return c;
}

bool
check_attempts(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	int64_t n = 0;

	for (size_t i = 0; i < c.n; i++)
		n += !c.v[i]->fresh;
	free(c.v);
	strbuf_fmt(why, "%lld", (long long)n);
	return range_has(x->value, n);
}

bool
check_attempt(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	int64_t at_us = -1;

	if (x->nth >= 1 && x->nth <= c.n)
		at_us = c.v[x->nth - 1]->start_us;
	free(c.v);
	expect_put_time(why, at_us);
	return at_us >= 0 && range_has(x->value, at_us);
}

bool
check_max_rate(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	int64_t most = 0, at_us = -1;
	size_t first = 0;

	for (size_t i = 0; i < c.n; i++) {
		while (c.v[i]->start_us - c.v[first]->start_us >= x->per_us)
			first++;
		if ((int64_t)(i - first) + 1 > most) {
			most = (int64_t)(i - first) + 1;
			at_us = c.v[first]->start_us;
		}
	}
	free(c.v);
	strbuf_fmt(why, "%lld from ", (long long)most);
	expect_put_time(why, at_us);
	return most > 0 && most <= x->limit;
}

/*
 * In any window of T at most burst + T * rate, to a step of the clock. With
 * y = start * rate - index that is: no y below an earlier one by more than
 * burst - 1.
 */
bool
check_pace(struct world *w, const struct expect *x, struct strbuf *why)
{
	int64_t count = (int64_t)x->rate.count, per = x->rate.per_ms * 1000;
	int64_t burst = x->rate.burst ? (int64_t)x->rate.burst : 1;
	struct chosen c = choose(w, x);
	int64_t most = INT64_MIN, at_us = -1;

	for (size_t i = 0; i < c.n && at_us < 0; i++) {
		int64_t y = c.v[i]->start_us * count - (int64_t)i * per;

		if (most != INT64_MIN &&
		    y < most - (burst - 1) * per - STEP_US * count)
			at_us = c.v[i]->start_us;
		if (y > most)
			most = y;
	}
	strbuf_fmt(why, "%zu starts, too soon ", c.n);
	expect_put_time(why, at_us);
	free(c.v);
	return most != INT64_MIN && at_us < 0;
}

bool
check_max_concurrent(struct world *w, const struct expect *x,
    struct strbuf *why)
{
	struct chosen c = choose(w, x);
	int64_t most = 0;

	for (size_t i = 0; i < c.n; i++)
		if (c.v[i]->live > most)
			most = c.v[i]->live;
	free(c.v);
	strbuf_fmt(why, "%lld", (long long)most);
	return range_has(x->value, most);
}

static const struct job *
last_of(const struct chosen *c, size_t i, bool within_client)
{
	int client = c->v[i]->job->client;

	while (i-- > 0) {
		const struct try *t = c->v[i];

		if (t->n == 1 && !t->fresh &&
		    (!within_client || t->job->client == client))
			return t->job;
	}
	return NULL;
}

/* First attempts come in the order in which the requests came. */
bool
check_order(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	bool ok = c.n > 0;

	for (size_t i = 0; i < c.n && ok; i++) {
		const struct job *j = c.v[i]->job, *before;

		if (c.v[i]->n > 1 || c.v[i]->fresh)
			continue;
		before = last_of(&c, i, x->within_client);
		ok = !before || before->n < j->n;
		if (!ok)
			strbuf_fmt(why, "#%u after #%u", j->n, before->n);
	}
	free(c.v);
	return ok;
}

bool
check_starts(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	bool ok = c.n >= x->nlist;

	for (size_t i = 0; i < c.n && i < x->nlist; i++) {
		const struct job *j = c.v[i]->job;

		ok = ok && j->client == (int)x->list[i];
		strbuf_fmt(why, " %s", job_client(j));
	}
	free(c.v);
	return ok;
}

bool
check_bursts(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct chosen c = choose(w, x);
	bool ok = true;
	size_t i = 0;

	for (unsigned k = 0; k < x->nlist; k++) {
		int64_t n = 0, at_us = i < c.n ? c.v[i]->start_us : -1;

		for (; i < c.n && c.v[i]->start_us == at_us; i++)
			n++;
		ok = ok && n == x->list[k];
		strbuf_fmt(why, " %lld", (long long)n);
	}
	free(c.v);
	return ok;
}
