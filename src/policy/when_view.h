/* SPDX-License-Identifier: MIT */
/*
 * when_view: what of a body rules look at. Internal to when.
 */
#ifndef AB_WHEN_VIEW_H
#define AB_WHEN_VIEW_H

#include "when.h"
#include "when_match.h"

/* By its Content-Type: none, anything with "json" or "javascript", text/... */
bool when_may_hold_json(const struct head *h);

/* Is the body as it is, or in codings that can be undone? */
bool when_can_undo(const struct head *h);

/* The text of the body: what there is of it, at most WHEN_BODY_MAX bytes, until
 * when_view_clear. False: it is not known. */
bool when_text_of(struct when_view *v, struct span *ret);

/* NULL: there is none that can be read, or it is not all there. */
const struct json_doc *when_json_of(struct when_view *v);

#endif
