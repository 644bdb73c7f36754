/* SPDX-License-Identifier: MIT */
/*
 * keytab: what is remembered about each key, in bounded memory.
 *
 * The table owns its keys. When there are too many, or their limiters hold too
 * much memory, the one unused for longest is forgotten; a key with attempts in
 * progress is not.
 */
#ifndef AB_ORIGIN_KEYTAB_H
#define AB_ORIGIN_KEYTAB_H

#include "base/hash.h"
#include "base/list.h"
#include "base/map.h"
#include "wish.h"

struct key {
	struct map_node node;
	struct list lru;      /* of its table, the latest used last */
	char *name;           /* owns */
	size_t name_n;
	struct limit limits[WISH_RATES_MAX];
	unsigned nlimits;
	uint64_t max;         /* admitted at once; 0: any */
	uint64_t held;        /* admitted and not yet answered */
	uint64_t running;     /* all that are not yet answered */
	uint64_t script_id;   /* script_digest */
	uint64_t script_at;   /* attempts answered by the script's count */
	int64_t hinted_ns;    /* when the latest hint was sent; 0: never */
	int64_t until_ns;     /* the latest time that any hint told */
	size_t bytes;         /* limiters' heap, as the table has it on account */
};

struct keytab {
	struct map map;
	struct list lru;
	struct hash_key seed;
	size_t max;       /* keys */
	size_t bytes;     /* limiters' heap of all keys */
	size_t bytes_max;
};

AB_MUST int keytab_init(struct keytab *ks, const struct hash_key *seed, size_t max,
    size_t bytes_max);
void keytab_free(struct keytab *ks);
/* Finds or makes it; it becomes the latest used. NULL: out of memory. */
AB_MUST struct key *keytab_get(struct keytab *ks, struct span name);
struct key *keytab_find(const struct keytab *ks, struct span name);
/*
 * Every key (name.p NULL), or the one, starts anew; and those that are named
 * after it: name, LF, anything.
 */
void keytab_reset(struct keytab *ks, struct span name);
/* After limiters took attempts: their memory is put on the account. */
void keytab_account(struct keytab *ks, struct key *k);

/*
 * Makes the key's limits, or its script, those of the wish. Where they were
 * others, their state starts anew.
 */
void key_adopt_limits(struct key *k, const struct wish *w);
void key_adopt_script(struct key *k, const struct wish *w);

#endif
