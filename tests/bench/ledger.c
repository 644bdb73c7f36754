/* SPDX-License-Identifier: MIT */
/*
 * ledger.c: arrivals, for the rows that judge when requests are let go.
 *
 * Decides nothing about them: what is early, late or too many is computed
 * from the printed list.
 */
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

#define ROWS 200000u
#define LINE_BYTES 24u /* "-9223372036854775\n" and then some */
#define SECOND_NS UINT64_C(1000000000)

int
ledger_init(struct ledger *l)
{
	*l = (struct ledger){.arrived_ns = mem_alloc(ROWS * sizeof(uint64_t))};
	return l->arrived_ns == NULL ? -1 : 0;
}

void
ledger_free(struct ledger *l)
{
	mem_free(l->arrived_ns);
	*l = (struct ledger){0};
}

void
ledger_clear(struct ledger *l)
{
	*l = (struct ledger){.arrived_ns = l->arrived_ns};
}

void
ledger_note(struct ledger *l, uint64_t now_ns)
{
	if (l->n < ROWS)
		l->arrived_ns[l->n++] = now_ns;
	else
		l->lost++;
}

unsigned
ledger_hold(struct ledger *l, unsigned seconds, uint64_t now_ns)
{
	if (l->until_ns == 0)
		l->until_ns = now_ns + seconds * SECOND_NS;
	else if (now_ns < l->until_ns)
		l->early++;
	if (now_ns >= l->until_ns) {
		ledger_note(l, now_ns);
		return 0;
	}
	return (unsigned)((l->until_ns - now_ns + SECOND_NS - 1) / SECOND_NS);
}

size_t
ledger_room(const struct ledger *l)
{
	return (l->n + 2) * (LINE_BYTES + 8);
}

size_t
ledger_print(const struct ledger *l, char *to)
{
	uint64_t from = l->until_ns;
	char *p = to;

	if (from == 0 && l->n > 0)
		from = l->arrived_ns[0];
	p += sprintf(p, "early %" PRIu64 "\nlost %" PRIu64 "\n", l->early,
	    l->lost);
	for (size_t i = 0; i < l->n; i++)
		p += sprintf(p, "%" PRId64 "\n",
		    ((int64_t)l->arrived_ns[i] - (int64_t)from) / 1000);
	return (size_t)(p - to);
}
