/* SPDX-License-Identifier: MIT */
/*
 * expect asks whether what was expected came true, and says what was found
 * where it did not.
 */
#include <stdio.h>

#include "expect_check.h"

bool
expect_selects(const struct expect *x, const struct job *j)
{
	return (x->client < 0 || x->client == j->client) &&
	    (x->service < 0 || x->service == j->service);
}

void
expect_put_time(struct strbuf *why, int64_t us)
{
	if (us < 0)
		strbuf_lit(why, "never");
	else
		strbuf_fmt(why, "%lld.%06llds", (long long)(us / 1000000),
		    (long long)(us % 1000000));
}

static bool
check_connections(struct world *w, const struct expect *x, struct strbuf *why)
{
	int64_t n = 0;

	for (int i = 0; i < w->scene->nservices; i++)
		if (x->service < 0 || x->service == i)
			n += w->origins[i].connections;
	strbuf_fmt(why, "%lld connections", (long long)n);
	return range_has(x->value, n);
}

static unsigned long long
counter(const struct stats *s, const char *name)
{
#define X(field) \
	if (strcmp(name, #field) == 0) \
		return atomic_load(&s->field);
	STATS_LIST(X)
#undef X
	return 0;
}

static bool
check_counter(struct world *w, const struct expect *x, struct strbuf *why)
{
	unsigned long long n = 0;

	for (unsigned i = 0; i < w->scene->engines; i++)
		n += counter(&w->engines[i].stats, x->name);
	strbuf_fmt(why, "%llu", n);
	return range_has(x->value, (int64_t)n);
}

static bool
check_state(struct world *w, const struct expect *x, struct strbuf *why)
{
	struct map_node *n;
	size_t pos = 0;
	const char *name;

	n = map_walk(&w->groups[x->service]->map, &pos, NULL);
	if (!n) {
		strbuf_lit(why, "no key");
		return false;
	}
	name = service_state_name(
	    AB_CONTAINER(n, struct key, node)->service.state);
	strbuf_span(why, span_of(name));
	return strcmp(name, x->name) == 0;
}

static bool (*const checks[])(struct world *, const struct expect *,
    struct strbuf *) = {
    [EXPECT_ATTEMPTS] = check_attempts,
    [EXPECT_ATTEMPT] = check_attempt,
    [EXPECT_ANSWER] = check_answer,
    [EXPECT_GONE] = check_gone,
    [EXPECT_REASON] = check_reason,
    [EXPECT_MAX_RATE] = check_max_rate,
    [EXPECT_PACE] = check_pace,
    [EXPECT_MAX_CONCURRENT] = check_max_concurrent,
    [EXPECT_ORDER] = check_order,
    [EXPECT_STARTS] = check_starts,
    [EXPECT_BURSTS] = check_bursts,
    [EXPECT_WAITED] = check_waited,
    [EXPECT_STATUSES] = check_statuses,
    [EXPECT_CONNECTIONS] = check_connections,
    [EXPECT_END] = check_end,
    [EXPECT_COUNTER] = check_counter,
    [EXPECT_RECEIVED] = check_received,
    [EXPECT_HEADER] = check_header,
    [EXPECT_PARKED] = check_parked,
    [EXPECT_STATE] = check_state,
};

void
expect_check(struct world *w, const struct expect *x)
{
	struct strbuf why;

	strbuf_init(&why, 2048);
	if (checks[x->kind](w, x, &why) == x->negated)
		world_fault(w, "line %d: %s -- found: %.*s", x->line, x->text,
		    SPAN_ARG(strbuf_view(&why)));
	strbuf_free(&why);
}
