/* SPDX-License-Identifier: MIT */
/*
 * sfield: structured fields (RFC 9651), piece by piece: each call takes one off
 * the start of a value, and says what it was as text. Items only: an inner list
 * is a fault.
 *
 *	list        "api";r=0;t=55, "day";r=7
 *	dictionary  limit=10, remaining=0;x, reset=10
 */
#ifndef AB_SFIELD_H
#define AB_SFIELD_H

#include "base/span.h"

/* A bare item as it stands, quotes and all: a string, number, token, byte
 * sequence, boolean or date. Returns 0, or -1: malformed. */
AB_MUST int sfield_bare(struct span *s, struct span *ret);

/* A key: of a parameter, or of a member of a dictionary. 0 or -1. */
AB_MUST int sfield_key(struct span *s, struct span *ret);

/* [ "=" bare item ]; without one *ret is a span with p NULL. 0 or -1. */
AB_MUST int sfield_value(struct span *s, struct span *ret);

/* The next parameter of an item. 1: taken; 0: there is no more; -1: malformed.
 * Of several with one key the last one counts, which is for the caller. */
AB_MUST int sfield_param(struct span *s, struct span *ret_key,
    struct span *ret_value);

/* Behind a member: 1: a comma, and another one follows; 0: the end; -1:
 * malformed, which a comma at the end is too. */
AB_MUST int sfield_comma(struct span *s);

#endif
