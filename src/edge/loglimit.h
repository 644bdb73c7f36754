/* SPDX-License-Identifier: MIT */
/*
 * loglimit: a peer that makes us log the same thing over and over gets one line
 * a second. Any thread may ask. Its memory is bounded: two addresses that share
 * a row may each get more lines, and none is ever kept from its first one.
 */
#ifndef AB_LOGLIMIT_H
#define AB_LOGLIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOGLIMIT_ROWS 1024
#define LOGLIMIT_MS   1000

struct loglimit {
	pthread_mutex_t lock;
	struct loglimit_row {
		uint64_t who;
		int64_t next_ms; /* 0: not used yet */
		unsigned silent;
	} rows[LOGLIMIT_ROWS];
};

void loglimit_init(struct loglimit *l);
void loglimit_free(struct loglimit *l);
/*
 * May something about this peer (hash of its address) be logged now? If so,
 * *ret_silent is how often it might not since the last time.
 */
bool loglimit_may(struct loglimit *l, uint64_t who, int64_t now_ms,
    unsigned *ret_silent);

#endif
