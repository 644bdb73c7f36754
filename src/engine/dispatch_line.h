/* SPDX-License-Identifier: MIT */
/*
 * dispatch_line: between the files of dispatch: what happens at the line of one
 * key. Everything here is called with the key's lock held.
 */
#ifndef AB_DISPATCH_LINE_H
#define AB_DISPATCH_LINE_H

#include "dispatch.h"

/* The time of this turn of e, ms, monotonic. */
static inline int64_t
key_now(const struct engine *e)
{
	return e->now_ms;
}

/* Charges the time since the last look to what held the line up. */
void key_clock(struct key *k, int64_t now_ms);
/* May one more go? False: why not, and when to look again (TIMER_NEVER: when
 * something is learned). */
bool key_ready(const struct key *k, int64_t now_ms, enum wait_why *ret_why,
    int64_t *ret_at_ms);
/* Lets r go: a ticket, a token, a slot. Only after key_ready said so. */
void key_admit(struct key *k, struct request *r, int64_t now_ms);
/* The hold that is on ends after this request may wait. */
bool key_shut_for(const struct key *k, const struct request *r, int64_t now_ms);
/* A probe that streams makes way for r, if r would be a better one. */
void key_relieve_probe(struct key *k, const struct request *r, int64_t now_ms);
/* r leaves the line: the time it stood there is its own from now on. */
void request_charge(struct request *r, const struct key *k);
/* Admits whoever may go and sees to it that the rest will be woken. */
void key_pump(struct key *k, struct engine *e);
/* A hold has grown: those who can't wait it out are told now. */
void key_sweep(struct key *k, struct engine *e);

#endif
