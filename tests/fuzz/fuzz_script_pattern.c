/* SPDX-License-Identifier: MIT */
/*
 * fuzz_script_pattern: a pattern, a newline, and any text for it.
 *
 * What matches lies in the text, and so do its captures; a smaller budget gives
 * the same or nothing; a pattern that is plain matches where memmem says.
 */
#include <stdlib.h>

#include "edge/script_pattern.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

#define STEPS 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_inside(struct span text, const char *p, size_t n)
{
	CHECK(p >= text.p && p <= text.p + text.n);
	CHECK(n <= (size_t)(text.p + text.n - p));
}

static void
check_match(const struct script_pattern *p, struct span text, size_t from,
    const struct script_match *m)
{
	check_inside(text, m->p, m->n);
	CHECK(m->p >= text.p + from);
	CHECK(!p->anchored || m->p == text.p + from);
	CHECK(m->ncaptures == p->ncaptures);
	for (unsigned i = 0; i < m->ncaptures; i++) {
		check_inside(text, m->v[i].p, m->v[i].n);
		CHECK(m->v[i].p >= m->p);
		CHECK(m->v[i].p + m->v[i].n <= m->p + m->n);
	}
}

static void
check_plain(struct span pattern, struct span text, size_t from,
    const struct script_match *m)
{
	const char *at = pattern.n
	    ? memmem(text.p + from, text.n - from, pattern.p, pattern.n)
	    : text.p + from;

	CHECK(at == (m ? m->p : NULL));
	CHECK(!m || m->n == pattern.n);
}

/* The same with what it cost, and with half of that. */
static void
check_budget(const struct script_pattern *p, struct span text, size_t from,
    uint64_t cost, enum script_matched want)
{
	struct script_match m;
	uint64_t steps = cost + 1, half = cost / 2;

	CHECK(script_pattern_match(p, text, from, &steps, &m) == want);
	CHECK(steps == 1);
	CHECK(
	    script_pattern_match(p, text, from, &half, &m) == SCRIPT_TOO_LONG);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size}, pattern;
	static struct script_pattern p;
	size_t from = 0;

	if (!data || !span_cut(&text, '\n', &pattern) || !text.p)
		return 0;
	if (script_pattern_compile(pattern, true, &p) != NULL)
		return 0;
	for (int i = 0; i < 8 && from <= text.n; i++) {
		uint64_t steps = STEPS;
		struct script_match m;
		enum script_matched got =
		    script_pattern_match(&p, text, from, &steps, &m);

		CHECK((got == SCRIPT_TOO_LONG) == (steps == 0));
		if (got == SCRIPT_TOO_LONG)
			break;
		check_budget(&p, text, from, STEPS - steps, got);
		if (script_pattern_is_plain(pattern))
			check_plain(pattern, text, from,
			    got == SCRIPT_MATCHED ? &m : NULL);
		if (got == SCRIPT_NO_MATCH)
			break;
		check_match(&p, text, from, &m);
		from = (size_t)(m.p - text.p) + (m.n ? m.n : 1);
	}
	return 0;
}
