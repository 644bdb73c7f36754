/* SPDX-License-Identifier: MIT */
/*
 * flow: between the files that make a request's transitions: flow.c (events),
 * flow_answer.c (an answer), flow_end.c (the last events) and flow_time.c (time
 * running out).
 */
#ifndef AB_FLOW_H
#define AB_FLOW_H

#include "request.h"

static inline int64_t
flow_earlier(int64_t a_ms, int64_t b_ms)
{
	return a_ms < b_ms ? a_ms : b_ms;
}

/* ms from now, as a time. */
int64_t flow_in(const struct request *r, int64_t ms);
/* Enters a state that ends at due_ms at the latest. */
void flow_enter(struct request *r, enum request_state to, int64_t due_ms);
/* Asks the key for admission, and does what follows. */
void flow_ask(struct request *r);
/* An answer of our own; retry_after_ms < 0: waiting would not help. */
void flow_answer(struct request *r, int status, enum give_up why,
    int64_t retry_after_ms);
/* The same with the true time to come back. status 0: the one that shut the
 * key, or 503. */
void flow_answer_later(struct request *r, int status, enum give_up why);
/* Goes back to the line, or to a back-off of its own. */
void flow_retry(struct request *r, const struct verdict *v);
void flow_end(struct request *r);
/* Ends it with both connections; why: NONE leaves what it has. */
void flow_cut(struct request *r, enum give_up why);

#endif
