/* SPDX-License-Identifier: MIT */
/* loglimit decides whether a peer has had its line already. */
#include "edge/loglimit.h"

void
loglimit_init(struct loglimit *l)
{
	*l = (struct loglimit){.rows = {{0}}};
	pthread_mutex_init(&l->lock, NULL);
}

void
loglimit_free(struct loglimit *l)
{
	pthread_mutex_destroy(&l->lock);
}

bool
loglimit_may(struct loglimit *l, uint64_t who, int64_t now_ms,
    unsigned *ret_silent)
{
	struct loglimit_row *row = &l->rows[who % LOGLIMIT_ROWS];
	bool may;

	pthread_mutex_lock(&l->lock);
	if (row->who != who)
		*row = (struct loglimit_row){.who = who};
	may = row->next_ms == 0 || now_ms >= row->next_ms;
	if (may) {
		*ret_silent = row->silent;
		row->silent = 0;
		row->next_ms = now_ms + LOGLIMIT_MS;
	} else {
		row->silent++;
	}
	pthread_mutex_unlock(&l->lock);
	return may;
}
