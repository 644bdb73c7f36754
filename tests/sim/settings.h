/* SPDX-License-Identifier: MIT */
/*
 * settings: the policy of a service, by the names and with the defaults of the
 * configuration. The simulator stands below edge, so it reads them itself.
 */
#ifndef SIM_SETTINGS_H
#define SIM_SETTINGS_H

#include "engine/key.h"
#include "policy/policy.h"
#include "words.h"

#define SETTINGS_HINTS_MAX 16
#define SETTINGS_RULES 4
#define SETTINGS_RULES_MAX 4

struct settings {
	struct policy policy;
	unsigned burst; /* of rates without their own */
	struct hint_source hints[SETTINGS_HINTS_MAX]; /* of wait_headers */
	struct when_rule rules[SETTINGS_RULES][SETTINGS_RULES_MAX]; /* of each of
	                         * permanent_when, throttled_when, wait_body and
	                         * wait_when */
};

void settings_init(struct settings *s);
/* Takes "= VALUE" of this key. False: no such setting. */
bool settings_set(struct settings *s, const char *key, struct words *w);
/* `from`, with what follows from other settings filled in. *to then stays
 * where it is: its policy points into it. */
void settings_finish(struct settings *to, const struct settings *from);
struct key_cfg settings_key_cfg(const struct settings *s);

#endif
