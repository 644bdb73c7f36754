/* SPDX-License-Identifier: MIT */
/*
 * Scripts: which answer is due for the nth attempt. Where n is counted, and
 * what an answer looks like, is decided elsewhere.
 */
#include "script.h"

#include "amount.h"

int
script_add(struct script *sc, const struct step *st)
{
	if (sc->n == SCRIPT_STEPS_MAX)
		return -1;
	sc->v[sc->n++] = *st;
	return 0;
}

/* "*", "*3": how often. Cuts it off *s. */
static int
take_times(struct span *s, uint64_t *ret)
{
	const char *star = memchr(s->p, '*', s->n);
	size_t n;

	*ret = 1;
	if (star == NULL)
		return 0;
	n = (size_t)(star - s->p);
	if (n + 1 == s->n)
		*ret = SCRIPT_FOREVER;
	else if (amount_count((struct span){star + 1, s->n - n - 1},
		     AMOUNT_COUNT_MAX, ret) < 0 ||
	    *ret == 0)
		return -1;
	s->n = n;
	return 0;
}

static int
parse_what(struct span s, struct step *st)
{
	uint64_t status;

	if (span_eq(s, SPAN("close"))) {
		st->kind = STEP_CLOSE;
	} else if (span_eq(s, SPAN("rst"))) {
		st->kind = STEP_RST;
	} else if (span_eq(s, SPAN("hang"))) {
		st->kind = STEP_HANG;
	} else {
		if (amount_count(s, 599, &status) < 0 || status < 200)
			return -1;
		st->status = (int)status;
	}
	return 0;
}

static int
parse_step(struct span s, struct step *st, const char **ret_why)
{
	struct span what;

	*st = (struct step){.kind = STEP_STATUS, .hint_ns = -1};
	if (take_times(&s, &st->times) < 0) {
		*ret_why = "the number after '*' must be 1 or more";
		return -1;
	}
	if (!span_cut(&s, ':', &what) || parse_what(what, st) < 0) {
		*ret_why = "a step is a status (200 to 599), close, rst or "
			   "hang, then ':' and a hint, then '*' and a number: "
			   "429:2*3";
		return -1;
	}
	if (s.p != NULL &&
	    (st->kind != STEP_STATUS || amount_time(s, &st->hint_ns) < 0)) {
		*ret_why = "the hint after a status is a time such as 2 "
			   "(seconds), 2s or 750ms";
		return -1;
	}
	return 0;
}

int
script_parse(struct script *sc, struct span s, const char **ret_why)
{
	struct step st;
	struct span part;

	while (span_cut(&s, ',', &part)) {
		if (parse_step(part, &st, ret_why) < 0)
			return -1;
		if (script_add(sc, &st) < 0) {
			*ret_why = "a script has at most 64 steps";
			return -1;
		}
	}
	return 0;
}

/* Steps in one round, or SCRIPT_FOREVER. */
static uint64_t
script_length(const struct script *sc)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < sc->n; i++) {
		if (sc->v[i].times == SCRIPT_FOREVER)
			return SCRIPT_FOREVER;
		sum += sc->v[i].times;
	}
	return sum;
}

const struct step *
script_at(const struct script *sc, uint64_t nth)
{
	uint64_t length = script_length(sc);

	if (sc->loop && length != 0 && length != SCRIPT_FOREVER)
		nth %= length;
	for (unsigned i = 0; i < sc->n; i++) {
		if (nth < sc->v[i].times)
			return &sc->v[i];
		nth -= sc->v[i].times;
	}
	return NULL;
}

/* FNV-1a over the numbers: it has to tell scripts apart, not to be secret. */
static uint64_t
mix(uint64_t h, uint64_t v)
{
	for (unsigned i = 0; i < 64; i += 8)
		h = (h ^ (v >> i & 0xff)) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t
script_digest(const struct script *sc)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (sc->n == 0)
		return 0;
	for (unsigned i = 0; i < sc->n; i++) {
		h = mix(h, (uint64_t)sc->v[i].kind);
		h = mix(h, (uint64_t)sc->v[i].status);
		h = mix(h, (uint64_t)sc->v[i].hint_ns);
		h = mix(h, sc->v[i].times);
	}
	return mix(h, sc->loop);
}
