/* SPDX-License-Identifier: MIT */
/*
 * hint_form: the parts of hint that read one value, for its other files.
 */
#ifndef AB_HINT_FORM_H
#define AB_HINT_FORM_H

#include "policy/decimal.h"
#include "policy/hint.h"

#define HINT_FOREVER_MS (INT64_MAX / 4)

int64_t hint_saturated(decimal_wide ms);

/* A wait from the receipt of the response until at_ms (since the epoch); 0
 * where that is over, or too far ahead to be meant. */
int64_t hint_until(const struct hint_clock *clk, int64_t at_ms);

/* A number in HINT_AUTO; 0: no hint. */
int64_t hint_auto_number(const struct decimal *d, const struct hint_clock *clk);

/* A value without commas in HINT_AUTO; 0: no hint. */
int64_t hint_auto(struct span s, const struct hint_clock *clk);

#endif
