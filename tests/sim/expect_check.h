/* SPDX-License-Identifier: MIT */
/*
 * expect_check: the questions behind each kind of expectation. Each says
 * whether it is so and, in *why, what it found.
 */
#ifndef SIM_EXPECT_CHECK_H
#define SIM_EXPECT_CHECK_H

#include "base/strbuf.h"
#include "world.h"

bool expect_selects(const struct expect *x, const struct job *j);
/* "2.001s" */
void expect_put_time(struct strbuf *why, int64_t us);

/* expect_tries.c */
bool check_attempts(struct world *w, const struct expect *x, struct strbuf *why);
bool check_attempt(struct world *w, const struct expect *x, struct strbuf *why);
bool check_max_rate(struct world *w, const struct expect *x, struct strbuf *why);
bool check_pace(struct world *w, const struct expect *x, struct strbuf *why);
bool check_max_concurrent(struct world *w, const struct expect *x,
    struct strbuf *why);
bool check_order(struct world *w, const struct expect *x, struct strbuf *why);
bool check_starts(struct world *w, const struct expect *x, struct strbuf *why);
bool check_bursts(struct world *w, const struct expect *x, struct strbuf *why);

/* expect_jobs.c */
bool check_answer(struct world *w, const struct expect *x, struct strbuf *why);
bool check_gone(struct world *w, const struct expect *x, struct strbuf *why);
bool check_reason(struct world *w, const struct expect *x, struct strbuf *why);
bool check_waited(struct world *w, const struct expect *x, struct strbuf *why);
bool check_statuses(struct world *w, const struct expect *x, struct strbuf *why);
bool check_end(struct world *w, const struct expect *x, struct strbuf *why);
bool check_received(struct world *w, const struct expect *x, struct strbuf *why);
bool check_header(struct world *w, const struct expect *x, struct strbuf *why);
bool check_parked(struct world *w, const struct expect *x, struct strbuf *why);

#endif
