/* SPDX-License-Identifier: MIT */
/*
 * dispatch: the meeting of a request and its key: admission, the line, slots,
 * and what an outcome teaches. All under the key's lock; nothing here calls a
 * port but wake.
 */
#ifndef AB_DISPATCH_H
#define AB_DISPATCH_H

#include "request.h"

enum dispatch_result {
	DISPATCH_GO,        /* admitted: start now */
	DISPATCH_PARKED,    /* in line; flow_start or flow_refused will come */
	DISPATCH_SHUT,      /* shut for longer than it may wait */
	DISPATCH_FULL,      /* no place in line */
	DISPATCH_NO_MEMORY,
};

/* Asks for admission. A request that was admitted before keeps its place. */
AB_MUST enum dispatch_result dispatch_ask(struct request *r);
/*
 * Asked just before the first byte of an attempt that was admitted a while ago: a
 * refusal may have come in since, on any engine. GO, or the admission has been
 * given back and this is as if it had asked anew.
 */
AB_MUST enum dispatch_result dispatch_confirm(struct request *r);
/* The key is shut for longer than it may wait; asked before its body is read. */
bool dispatch_is_shut(struct request *r);
/* Takes it out of the line, or gives back what it was just granted. True
 * where it was in line or on its way; false: it was not waiting there. */
bool dispatch_leave(struct request *r);
/* An attempt has ended: learn, decide. The slot is given back unless the
 * verdict is DELIVER (or GIVE_UP with an answer to relay) or RECONNECT. */
struct verdict dispatch_outcome(struct request *r, const struct attempt *a);
/* Before it: the answer may name the bucket in which this request has counted. */
void dispatch_bucket(struct request *r, const struct attempt *a);
/* After a wait: if its route has been found to count in another bucket meanwhile,
 * an admission is given back, and it has to ask there (true). */
AB_MUST bool dispatch_follow(struct request *r);
/* Gives the slot back; `neutral`: the outcome was never learned. */
void dispatch_release(struct request *r, bool neutral);
/* Its slot, too, after an answer that was no refusal: that is all its key is to
 * learn of it. It holds one. */
void dispatch_served(struct request *r);

/* After a reload or an operator's hand: looks at the key afresh. */
void dispatch_poke(struct key *k, struct engine *e);
/* What it may wait for has become less: should it not wait for a wish of the
 * service any longer, its turn comes at once. */
void dispatch_hurry(struct request *r);
/* What holds the line up, and when that is known to end (TIMER_NEVER: not). */
enum wait_why dispatch_why(struct request *r, int64_t *ret_at_ms);
/* ms until the key may serve again, at least 1 s where unknown: Retry-After. */
int64_t dispatch_retry_after_ms(struct request *r, int *ret_shut_status);

/* The tick of a key: admits what may go. */
void dispatch_tick(struct timer *t, int64_t now_ms);

/* What own back-off would be after a refusal of this attempt; draws once. */
int64_t dispatch_own_ms(struct request *r);

#endif
