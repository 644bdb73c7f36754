/* SPDX-License-Identifier: MIT */
/*
 * budget: how many retries the requests of a service pay for. Of the requests
 * of the last 10 s a share may be retried, and a floor of so many per time on
 * top of that, so that a quiet service can retry at all. Retries that refusals
 * make more of then never become the load itself. The form, a ratio with a
 * floor over a window of 10 s, is that of Finagle and Linkerd.
 *
 * The window moves in steps of 500 ms: what counts is 10 s to 10.5 s old at
 * most. Times of different threads may come a little out of order; none is
 * taken to be earlier than the one before.
 */
#ifndef AB_BUDGET_H
#define AB_BUDGET_H

#include "bucket.h"

#define BUDGET_WINDOW_MS 10000
#define BUDGET_STEP_MS   500
#define BUDGET_STEPS     (BUDGET_WINDOW_MS / BUDGET_STEP_MS + 1)

struct budget_cfg {
	bool on;                  /* false: retries cost nothing */
	unsigned percent;         /* of the requests of the window, 0..1000 */
	struct bucket_rate floor; /* count 0: none; else burst >= 1 */
};

struct budget_count {
	uint32_t requests, retries; /* retries: those that the share paid */
};

struct budget {
	struct budget_cfg cfg;
	struct bucket floor;
	int64_t step; /* the one now_ms falls in */
	struct budget_count steps[BUDGET_STEPS];
	struct budget_count sum; /* of all steps */
};

/* A whole floor, no requests yet. */
void budget_init(struct budget *b, const struct budget_cfg *cfg,
    int64_t now_ms);
/* After a reload: what was counted stays, what was taken stays taken. */
void budget_reconfigure(struct budget *b, const struct budget_cfg *cfg,
    int64_t now_ms);
/* A request begins its first attempt. */
void budget_request(struct budget *b, int64_t now_ms);
/* A retry is wanted. True: it is paid for, by the share where that has room,
 * else by the floor. False: there is nothing left. */
AB_MUST bool budget_retry(struct budget *b, int64_t now_ms);

#endif
