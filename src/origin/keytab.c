/* SPDX-License-Identifier: MIT */
/*
 * Keys. This file decides what is remembered and when it is forgotten; what a
 * limiter says is left to limit.c, who is refused to judge.c.
 */
#include "keytab.h"

#include "base/mem.h"

#define KEY_OF(l) AB_CONTAINER((l), struct key, lru)

int
keytab_init(struct keytab *ks, const struct hash_key *seed, size_t max,
    size_t bytes_max)
{
	*ks = (struct keytab){
	    .seed = *seed,
	    .max = max,
	    .bytes_max = bytes_max,
	};
	list_init(&ks->lru);
	return map_init(&ks->map);
}

static void
key_reset(struct keytab *ks, struct key *k)
{
	for (unsigned i = 0; i < k->nlimits; i++)
		limit_clear(&k->limits[i]);
	k->script_at = 0;
	k->hinted_ns = k->until_ns = 0;
	keytab_account(ks, k);
}

static void
key_forget(struct keytab *ks, struct key *k)
{
	key_reset(ks, k);
	map_del(&ks->map, &k->node);
	list_del(&k->lru);
	mem_free(k->name);
	mem_free(k);
}

void
keytab_free(struct keytab *ks)
{
	while (!list_empty(&ks->lru))
		key_forget(ks, KEY_OF(list_first(&ks->lru)));
	map_clear(&ks->map);
}

static struct key *
find(const struct keytab *ks, struct span name, uint64_t hash)
{
	struct map_node *it;

	for (it = map_find(&ks->map, hash); it != NULL;
	     it = map_find_next(it)) {
		struct key *k = AB_CONTAINER(it, struct key, node);

		if (span_eq(name, (struct span){k->name, k->name_n}))
			return k;
	}
	return NULL;
}

struct key *
keytab_find(const struct keytab *ks, struct span name)
{
	return find(ks, name, hash_bytes(&ks->seed, name.p, name.n));
}

/* Forgets idle keys, longest unused first, until the bounds hold. */
static void
keytab_trim(struct keytab *ks)
{
	struct list *it, *tmp;

	LIST_EACH_SAFE(it, tmp, &ks->lru) {
		if (ks->map.n <= ks->max && ks->bytes <= ks->bytes_max)
			return;
		if (KEY_OF(it)->running == 0)
			key_forget(ks, KEY_OF(it));
	}
}

static struct key *
key_make(struct keytab *ks, struct span name, uint64_t hash)
{
	struct key *k = mem_zalloc(sizeof *k);

	if (k == NULL)
		return NULL;
	k->name = mem_dup(name);
	if (k->name == NULL) {
		mem_free(k);
		return NULL;
	}
	k->name_n = name.n;
	list_init(&k->lru);
	map_add(&ks->map, &k->node, hash);
	return k;
}

struct key *
keytab_get(struct keytab *ks, struct span name)
{
	uint64_t hash = hash_bytes(&ks->seed, name.p, name.n);
	struct key *k = find(ks, name, hash);

	if (k == NULL)
		k = key_make(ks, name, hash);
	if (k == NULL)
		return NULL;
	list_del(&k->lru);
	list_push_back(&ks->lru, &k->lru);
	k->running++; /* so that the trim spares it */
	keytab_trim(ks);
	k->running--;
	return k;
}

void
keytab_reset(struct keytab *ks, struct span name)
{
	struct list *it, *tmp;

	LIST_EACH_SAFE(it, tmp, &ks->lru) {
		struct key *k = KEY_OF(it);
		struct span own = {k->name, k->name_n};

		if (name.p == NULL || span_eq(name, own) ||
		    (span_starts(own, name) && own.p[name.n] == '\n'))
			key_reset(ks, k);
	}
}

void
keytab_account(struct keytab *ks, struct key *k)
{
	size_t now = 0;

	for (unsigned i = 0; i < k->nlimits; i++)
		now += limit_bytes(&k->limits[i]);
	ks->bytes = ks->bytes - k->bytes + now;
	k->bytes = now;
}

void
key_adopt_script(struct key *k, const struct wish *w)
{
	uint64_t id = script_digest(&w->script);

	if (k->script_id != id) {
		k->script_id = id;
		k->script_at = 0;
	}
}

void
key_adopt_limits(struct key *k, const struct wish *w)
{
	bool same = k->nlimits == w->nrates;

	for (unsigned i = 0; same && i < w->nrates; i++)
		same = limit_cfg_eq(&k->limits[i].cfg, &w->rates[i]);
	if (!same) {
		for (unsigned i = 0; i < k->nlimits; i++)
			limit_clear(&k->limits[i]);
		for (unsigned i = 0; i < w->nrates; i++)
			limit_init(&k->limits[i], &w->rates[i]);
		k->nlimits = w->nrates;
	}
	k->max = w->max;
}
