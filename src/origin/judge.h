/* SPDX-License-Identifier: MIT */
/*
 * judge: who is refused, who came early. Pure: keys in, verdict out.
 */
#ifndef AB_ORIGIN_JUDGE_H
#define AB_ORIGIN_JUDGE_H

#include "keytab.h"

struct verdict {
	enum step_kind kind; /* STEP_STATUS: there is an answer */
	bool refused;
	int status;          /* 0: the path's own status */
	bool held;           /* counted in key->held: give back at the end */
	bool hinted;         /* a hint is due: after_ns, or else ready_ns */
	int64_t after_ns;    /* >= 0: tell this wait */
	int64_t ready_ns;    /* monotonic: the true end of the wait */
	struct advice_quota quota;
};

/*
 * Judges one attempt on k, which has adopted w, and takes what it may take.
 * `self` is what the script counts by: the request that named itself, or k.
 * 0, or -1 when out of memory: the attempt can only be dropped then.
 */
AB_MUST int judge_attempt(struct keytab *ks, struct key *k, struct key *self,
    const struct wish *w, int64_t now_ns, struct verdict *ret);

/*
 * How much too early an attempt at now_ns is, by the hints told to k; 0: it is
 * not. *ret_age_ns: time since the last hint, -1 without one. Within grace_ns
 * after the hint was sent an attempt may have crossed it on the way and is not
 * early.
 */
int64_t judge_early_ns(const struct key *k, int64_t now_ns, int64_t grace_ns,
    int64_t *ret_age_ns);
/* A hint of told_ns went out to k. */
void judge_told(struct key *k, int64_t now_ns, int64_t told_ns);

#endif
