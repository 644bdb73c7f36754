/* SPDX-License-Identifier: MIT */
/*
 * decimal.c: reading decimal numbers exactly, in integers from end to end.
 */
#include "policy/decimal.h"
#include "proto/octet.h"

size_t
decimal_digits(struct span s)
{
	size_t n = 0;

	while (n < s.n && octet_is_digit(s.p[n]))
		n++;
	return n;
}

static void
skip(struct span *s, size_t n)
{
	*s = (struct span){s->p + n, s->n - n};
}

static uint64_t
read_parts(struct span places)
{
	uint64_t parts = 0, scale = DECIMAL_ONE / 10;
	bool more = false;

	for (size_t i = 0; i < places.n; i++) {
		parts += (uint64_t)(places.p[i] - '0') * scale;
		more = more || (scale == 0 && places.p[i] != '0');
		scale /= 10;
	}
	return more ? parts + 1 : parts;
}

bool
decimal_take(struct span *s, struct decimal *ret)
{
	size_t n = decimal_digits(*s);

	*ret = (struct decimal){.parts = 0};
	if (span_u64((struct span){s->p, n}, &ret->whole))
		return false;
	skip(s, n);
	if (s->n == 0 || s->p[0] != '.')
		return true;
	skip(s, 1);
	n = decimal_digits(*s);
	ret->parts = read_parts((struct span){s->p, n});
	skip(s, n);
	return n > 0;
}

bool
decimal_is(struct span s, struct decimal *ret)
{
	return decimal_take(&s, ret) && s.n == 0;
}

decimal_wide
decimal_times(const struct decimal *d, uint64_t unit)
{
	decimal_wide parts = (decimal_wide)d->parts * unit;

	return (decimal_wide)d->whole * unit +
	    (parts + DECIMAL_ONE - 1) / DECIMAL_ONE;
}
