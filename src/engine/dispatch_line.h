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
/* May one more go, as far as holds and limits are concerned? False: why not, and
 * when to look again (TIMER_NEVER: when something is learned). */
bool key_open(const struct key *k, int64_t now_ms, enum wait_why *ret_why,
    int64_t *ret_at_ms);
/* May r go? That, and the wishes of the service do not keep it. */
bool key_ready(const struct key *k, const struct request *r, int64_t now_ms,
    enum wait_why *ret_why, int64_t *ret_at_ms);
/* Lets r go: a ticket, a token, a slot. Only after key_ready said so. */
void key_admit(struct key *k, struct request *r, int64_t now_ms);
/* The hold that is on ends after this request may wait. */
bool key_shut_for(const struct key *k, const struct request *r, int64_t now_ms);
/* A probe that streams makes way for r, if r would be a better one. */
void key_relieve_probe(struct key *k, const struct request *r, int64_t now_ms);
/* r leaves the line: the time it stood there is its own from now on. */
void request_charge(struct request *r, const struct key *k);
/* Hands a request that was admitted, refused or moved to its own engine. */
void key_post(struct engine *from, struct request *r);
/* Admits one of the line. Only after key_ready, or key_open for a hasty one. */
void key_grant(struct key *k, struct engine *e, struct request *r);
/* Takes over a hold on all keys, if there is a new one, and tells the line. */
void key_heed(struct key *k, struct engine *e);
/* Admits whoever may go and sees to it that the rest will be woken; nobody is
 * sent away. */
void key_run(struct key *k, struct engine *e);
/* Both. */
void key_pump(struct key *k, struct engine *e);
/* A hold has grown: those who can't wait it out are told now. */
void key_sweep(struct key *k, struct engine *e);

/* dispatch_move.c: */

/* The hold that is on is one for all keys of its owner. */
void key_hold_all(struct key *k);
/* Takes over such a hold, if there is a new one; the line is not told. */
bool key_take_hold(struct key *k, int64_t now_ms);

/* dispatch_wish.c: what a service wishes (quota, pause) and nobody has to obey. */

/* Does it let r go? As key_ready. */
bool key_pleases(const struct key *k, const struct request *r, int64_t now_ms,
    enum wait_why *ret_why, int64_t *ret_at_ms);
/* How long may r wait for a wish, being the last in line, and is that enough? */
void key_weigh(const struct key *k, struct request *r, int64_t now_ms);
/* Admits those in line who need not wait for it: has it any? *at_ms becomes
 * earlier where those who are left need a look before that. */
bool key_let_hasty(struct key *k, struct engine *e, int64_t *at_ms);
/* It holds up the line: who of those that stand there can't wait need not. */
void key_hurry(struct key *k, int64_t now_ms);
/* Learns what an answer that is no refusal tells. */
void key_learn(struct key *k, const struct request *r, const struct attempt *a,
    bool held);

#endif
