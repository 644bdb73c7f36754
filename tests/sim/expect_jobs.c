/* SPDX-License-Identifier: MIT */
/*
 * expect_jobs answers what is asked about requests: what their clients got,
 * when, and why.
 */
#include <stdio.h>

#include "expect_check.h"

struct tally {
	int64_t all, hits;
	const struct job *miss; /* the first that was none, or NULL */
};

static struct tally
tally(struct world *w, const struct expect *x,
    bool (*hit)(const struct expect *, const struct job *))
{
	struct tally t = {0, 0, NULL};

	for (unsigned i = 0; i < w->njobs; i++) {
		const struct job *j = w->jobs[i];

		if (!expect_selects(x, j))
			continue;
		t.all++;
		if (hit(x, j))
			t.hits++;
		else if (!t.miss)
			t.miss = j;
	}
	return t;
}

static void
put_job(struct strbuf *why, const struct job *j)
{
	static const char *const ends[] = {"open", "relayed", "own", "cut",
	    "left", "refused"};

	strbuf_fmt(why, "; #%u: %s %d at ", j->n, ends[j->end], j->status);
	expect_put_time(why, j->head_us);
	strbuf_fmt(why, " reason %s attempts %u", give_up_name(j->r.gave_up),
	    j->r.attempts);
	if (j->retry_after_ms >= 0) {
		strbuf_lit(why, " retry-after ");
		expect_put_time(why, j->retry_after_ms * 1000);
	}
}

/* All that are meant, or as many as were asked for; of nobody nothing is true. */
static bool
settle(const struct expect *x, const struct tally *t, struct strbuf *why)
{
	struct range all = {t->all, t->all};

	strbuf_fmt(why, "%lld of %lld", (long long)t->hits, (long long)t->all);
	if (t->miss)
		put_job(why, t->miss);
	return t->all > 0 && range_has(x->has_count ? x->count : all, t->hits);
}

static bool
source_matches(enum expect_source s, enum job_end end)
{
	switch (s) {
	case SOURCE_ANY:
		return end == JOB_RELAYED || end == JOB_OWN;
	case SOURCE_RELAYED:
		return end == JOB_RELAYED;
	case SOURCE_OWN:
		return end == JOB_OWN;
	case SOURCE_CUT:
		return end == JOB_CUT;
	}
	return false;
}

static bool
hit_answer(const struct expect *x, const struct job *j)
{
	return source_matches(x->source, j->end) && j->status == x->status &&
	    (!x->has_why || j->r.gave_up == x->why) &&
	    (!x->has_at || range_has(x->at, j->head_us)) &&
	    (!x->has_retry ||
		(j->retry_after_ms >= 0 &&
		    range_has(x->retry_after, j->retry_after_ms * 1000)));
}

bool
check_answer(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_answer);

	return settle(x, &t, why);
}

static bool
hit_gone(const struct expect *x, const struct job *j)
{
	(void)x;
	return j->end == JOB_LEFT;
}

bool
check_gone(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_gone);

	strbuf_fmt(why, "%lld", (long long)t.hits);
	return range_has(x->value, t.hits);
}

static bool
hit_reason(const struct expect *x, const struct job *j)
{
	return j->begun && j->r.gave_up == x->why;
}

bool
check_reason(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_reason);

	return settle(x, &t, why);
}

static int64_t
waited_us(const struct expect *x, const struct job *j)
{
	int64_t ms =
	    x->wait < 0 ? request_waited_ms(&j->r) : j->r.waited_ms[x->wait];

	return ms * 1000;
}

static bool
hit_waited(const struct expect *x, const struct job *j)
{
	return range_has(x->value, waited_us(x, j));
}

bool
check_waited(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_waited);

	if (t.miss) {
		expect_put_time(why, waited_us(x, t.miss));
		strbuf_lit(why, " in ");
	}
	return settle(x, &t, why);
}

static bool
hit_statuses(const struct expect *x, const struct job *j)
{
	if (j->r.nstatuses != x->nlist)
		return false;
	for (unsigned i = 0; i < x->nlist && i < REQUEST_STATUSES_MAX; i++)
		if (j->r.statuses[i] != x->list[i])
			return false;
	return true;
}

bool
check_statuses(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_statuses);

	for (unsigned i = 0;
	     t.miss && i < t.miss->r.nstatuses && i < REQUEST_STATUSES_MAX; i++)
		strbuf_fmt(why, "%d ", t.miss->r.statuses[i]);
	return settle(x, &t, why);
}

bool
check_end(struct world *w, const struct expect *x, struct strbuf *why)
{
	int64_t last_us = -1;

	for (unsigned i = 0; i < w->njobs; i++)
		if (expect_selects(x, w->jobs[i]) &&
		    w->jobs[i]->end_us > last_us)
			last_us = w->jobs[i]->end_us;
	expect_put_time(why, last_us);
	return last_us >= 0 && range_has(x->value, last_us);
}

static bool
hit_received(const struct expect *x, const struct job *j)
{
	return range_has(x->value, (int64_t)j->received);
}

bool
check_received(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_received);

	if (t.miss)
		strbuf_fmt(why, "%llu in ",
		    (unsigned long long)t.miss->received);
	return settle(x, &t, why);
}

static bool
hit_header(const struct expect *x, const struct job *j)
{
	char line[sizeof(x->name) + 2];

	snprintf(line, sizeof(line), "%s\r\n", x->name);
	return j->end == JOB_RELAYED && j->head && strstr(j->head, line);
}

bool
check_header(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_header);

	return settle(x, &t, why);
}

static bool
hit_parked(const struct expect *x, const struct job *j)
{
	(void)x;
	return j->begun && !j->reaped && j->r.state == REQUEST_WAITING;
}

bool
check_parked(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct tally t = tally(w, x, hit_parked);

	strbuf_fmt(why, "%lld", (long long)t.hits);
	return range_has(x->value, t.hits);
}
