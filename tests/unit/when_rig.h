/* SPDX-License-Identifier: MIT */
/*
 * when_rig: one rule and one answer, from texts. It is 2030-01-01T00:00:00Z.
 */
#ifndef AB_WHEN_RIG_H
#define AB_WHEN_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "policy/when.h"

static const struct hint_clock rig_clock = {
    .wall_ms = INT64_C(1893456000000),
    .date_ms = -1,
};

struct rig {
	struct when_rule rule;
	struct head head;
	struct when_view view;
};

static inline void
rig_head(struct head *ret, const char *text)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	const char *why = "";

	if (head_response(text, strlen(text), &scan, &limits, ret, &why) !=
	    HEAD_OK)
		fail_msg("%s: %s", text, why);
}

/* body NULL: it was not looked at; else it is whole. */
static inline void
rig_open(struct rig *rig, const char *head, const char *body)
{
	struct span none = {.p = NULL};

	rig_head(&rig->head, head);
	when_view_init(&rig->view, &rig->head, body ? span_of(body) : none,
	    true);
}

static inline void
rig_rule(struct rig *rig, const char *text, enum when_kind kind)
{
	struct when_fault f;

	if (when_parse(span_of(text), kind, &rig->rule, &f) != 0)
		fail_msg("%s: %s", text, f.why);
}

static inline void
rig_close(struct rig *rig)
{
	when_view_clear(&rig->view);
}

#endif
