/* SPDX-License-Identifier: MIT */
/*
 * Sums over attempts. The attempts of the ring are sorted by key and then by
 * time; each key is one run of that order, and all figures come from one walk
 * over its run.
 */
#include "summary.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"

#define STATUS_MAX 600

struct sums {
	uint64_t attempts, throttled, early, most_running, left;
	uint64_t in_window; /* the fullest window */
	int64_t gap_p50_ns, gap_p99_ns, first_ns, last_ns; /* gaps: -1: none */
	uint64_t by_status[STATUS_MAX];                    /* 0: no answer */
};

static int
compare(const void *a, const void *b)
{
	const struct attempt *x = *(const struct attempt *const *)a;
	const struct attempt *y = *(const struct attempt *const *)b;
	uint16_t n = x->key_n < y->key_n ? x->key_n : y->key_n;
	int rc = memcmp(x->text, y->text, n);

	if (rc != 0)
		return rc;
	if (x->key_n != y->key_n)
		return x->key_n < y->key_n ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static int
compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Nearest rank: the smallest value that p percent do not exceed. */
static int64_t
percentile(const int64_t *sorted, uint64_t n, uint64_t p)
{
	return n == 0 ? -1 : sorted[(n * p + 99) / 100 - 1];
}

/* v[0, n) is one key's attempts in order; gaps has room for n. */
static void
add_up(struct attempt *const *v, uint64_t n, int64_t window_ns, int64_t *gaps,
    struct sums *s)
{
	uint64_t tail = 0;

	*s = (struct sums){
	    .attempts = n,
	    .first_ns = v[0]->mono_ns,
	    .last_ns = v[n - 1]->mono_ns,
	};
	for (uint64_t i = 0; i < n; i++) {
		const struct attempt *a = v[i];

		s->throttled += a->throttled;
		s->early += a->early_ns > 0;
		s->left += a->end == END_LEFT;
		s->by_status[a->status]++;
		if (a->running > s->most_running)
			s->most_running = a->running;
		while (a->mono_ns - v[tail]->mono_ns >= window_ns)
			tail++;
		if (i - tail + 1 > s->in_window)
			s->in_window = i - tail + 1;
		if (i > 0)
			gaps[i - 1] = a->mono_ns - v[i - 1]->mono_ns;
	}
	qsort(gaps, n - 1, sizeof *gaps, compare_ns);
	s->gap_p50_ns = percentile(gaps, n - 1, 50);
	s->gap_p99_ns = percentile(gaps, n - 1, 99);
}

typedef void put_fn(struct span key, const struct sums *s, bool first,
    struct strbuf *out);

/* Sorts what is remembered and hands over each key's sums. -1: no memory. */
static int
each_key(struct report *r, struct span key, int64_t window_ns, put_fn *put,
    struct strbuf *out)
{
	uint64_t first = report_first(r), most = r->next - first, n = 0, i, j;
	struct attempt **v = mem_alloc((most + 1) * sizeof *v);
	int64_t *gaps = mem_alloc((most + 1) * sizeof *gaps);
	struct sums *s = mem_alloc(sizeof *s);
	int rc = v == NULL || gaps == NULL || s == NULL ? -1 : 0;

	for (i = first; rc == 0 && i < r->next; i++) {
		struct attempt *a = report_get(r, i);

		if (a != NULL &&
		    (key.p == NULL || span_eq(attempt_key(a), key)))
			v[n++] = a;
	}
	if (n > 0)
		qsort(v, n, sizeof *v, compare);
	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n; j++) {
			if (!span_eq(attempt_key(v[i]), attempt_key(v[j])))
				break;
		}
		add_up(v + i, j - i, window_ns, gaps, s);
		put(attempt_key(v[i]), s, i == 0, out);
	}
	mem_free(v);
	mem_free(gaps);
	mem_free(s);
	return rc;
}

static void
put_json(struct span key, const struct sums *s, bool first, struct strbuf *out)
{
	bool comma = false;

	if (!first)
		strbuf_char(out, ',');
	strbuf_lit(out, "\n{\"key\":");
	strbuf_json(out, key);
	strbuf_fmt(out,
	    ",\"attempts\":%" PRIu64 ",\"throttled\":%" PRIu64
	    ",\"early\":%" PRIu64 ",\"left\":%" PRIu64
	    ",\"max_in_window\":%" PRIu64 ",\"max_running\":%" PRIu64
	    ",\"first_ns\":%" PRId64 ",\"last_ns\":%" PRId64 ",\"gap_p50_ms\":",
	    s->attempts, s->throttled, s->early, s->left, s->in_window,
	    s->most_running, s->first_ns, s->last_ns);
	report_put_ms(out, s->gap_p50_ns);
	strbuf_lit(out, ",\"gap_p99_ms\":");
	report_put_ms(out, s->gap_p99_ns);
	strbuf_lit(out, ",\"by_status\":{");
	for (int i = 0; i < STATUS_MAX; i++) {
		if (s->by_status[i] == 0)
			continue;
		strbuf_fmt(out, "%s\"%d\":%" PRIu64, comma ? "," : "", i,
		    s->by_status[i]);
		comma = true;
	}
	strbuf_lit(out, "}}");
}

void
summary_json(struct report *r, struct span key, int64_t window_ns, uint64_t bad,
    struct strbuf *out)
{
	strbuf_fmt(out,
	    "{\"attempts\":%" PRIu64 ",\"dropped\":%" PRIu64
	    ",\"bad_requests\":%" PRIu64 ",\"window_ms\":",
	    r->next - r->base, r->dropped, bad);
	report_put_ms(out, window_ns);
	strbuf_lit(out, ",\"keys\":[");
	if (each_key(r, key, window_ns, put_json, out) < 0)
		out->failed = true;
	strbuf_lit(out, "]}\n");
}

static void
put_ms_text(struct strbuf *out, int64_t ns)
{
	if (ns < 0)
		strbuf_fmt(out, " %9s", "-");
	else
		strbuf_fmt(out, " %9.1f", (double)ns / 1e6);
}

static void
put_text(struct span key, const struct sums *s, bool first, struct strbuf *out)
{
	if (first)
		strbuf_fmt(out, "%-24s %8s %9s %5s %6s %7s %9s %9s  %s\n",
		    "key", "attempts", "throttled", "early", "max/1s",
		    "at once", "gap p50", "gap p99", "statuses");
	size_t at = out->n;

	strbuf_escaped(out, key);
	if (!out->failed && out->n - at < 24)
		strbuf_fmt(out, "%*s", (int)(24 - (out->n - at)), "");
	strbuf_fmt(out,
	    " %8" PRIu64 " %9" PRIu64 " %5" PRIu64 " %6" PRIu64 " %7" PRIu64,
	    s->attempts, s->throttled, s->early, s->in_window, s->most_running);
	put_ms_text(out, s->gap_p50_ns);
	put_ms_text(out, s->gap_p99_ns);
	strbuf_char(out, ' ');
	for (int i = 0; i < STATUS_MAX; i++) {
		if (s->by_status[i] > 0 && i == 0)
			strbuf_fmt(out, " none:%" PRIu64, s->by_status[i]);
		else if (s->by_status[i] > 0)
			strbuf_fmt(out, " %d:%" PRIu64, i, s->by_status[i]);
	}
	strbuf_char(out, '\n');
}

void
summary_text(struct report *r, uint64_t bad, struct strbuf *out)
{
	strbuf_fmt(out, "%" PRIu64 " attempts", r->next - r->base);
	if (bad > 0)
		strbuf_fmt(out, ", %" PRIu64 " requests that were no HTTP",
		    bad);
	if (r->dropped > 0)
		strbuf_fmt(out, "; the figures leave out the first %" PRIu64,
		    r->dropped);
	strbuf_char(out, '\n');
	if (each_key(r, (struct span){NULL, 0}, 1000000000, put_text, out) < 0)
		out->failed = true;
}
