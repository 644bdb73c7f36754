/* SPDX-License-Identifier: MIT */
/*
 * key decides how long the state of a service key lives: while anybody refers
 * to it, and after that until its group needs the place. It refuses to know
 * what the state means (policy/service) and who waits for it (dispatch).
 */
#include "key.h"

#include "base/mem.h"
#include "dispatch.h"

#define VICTIMS_MAX 16 /* looked at before the oldest has to go */

int
keys_init(struct keys *ks, const struct hash_key *h, unsigned nengines)
{
	*ks = (struct keys){.hash = *h, .nengines = nengines};
	list_init(&ks->all);
	if (map_init(&ks->groups) < 0)
		return -1;
	pthread_mutex_init(&ks->lock, NULL);
	return 0;
}

static void
key_free(struct key *k)
{
	line_free(&k->line);
	pthread_mutex_destroy(&k->lock);
	mem_free(k->ticks);
	mem_free(k);
}

static void
keygroup_free(struct keygroup *g)
{
	struct list *it;

	while ((it = list_first(&g->lru))) {
		struct key *k = AB_CONTAINER(it, struct key, lru);

		list_del(it);
		map_del(&g->map, &k->node);
		key_free(k);
	}
	map_clear(&g->map);
	buckets_free(&g->buckets);
	buckets_free(&g->holds);
	copies_free(&g->copies);
	pthread_mutex_destroy(&g->lock);
	pthread_mutex_destroy(&g->budget_lock);
	mem_free(g->name);
	mem_free(g);
}

void
keys_free(struct keys *ks)
{
	struct list *it;

	while ((it = list_first(&ks->all))) {
		list_del(it);
		keygroup_free(AB_CONTAINER(it, struct keygroup, all));
	}
	map_clear(&ks->groups);
	pthread_mutex_destroy(&ks->lock);
}

static int
keygroup_init_parts(struct keygroup *g)
{
	if (map_init(&g->map) < 0)
		return -1;
	if (buckets_init(&g->buckets) < 0) {
		map_clear(&g->map);
		return -1;
	}
	if (buckets_init(&g->holds) < 0) {
		buckets_free(&g->buckets);
		map_clear(&g->map);
		return -1;
	}
	if (copies_init(&g->copies) < 0) {
		buckets_free(&g->holds);
		buckets_free(&g->buckets);
		map_clear(&g->map);
		return -1;
	}
	return 0;
}

static struct keygroup *
keygroup_new(struct keys *ks, struct span name, const struct key_cfg *cfg,
    int64_t now_ms)
{
	struct keygroup *g = mem_zalloc(sizeof(*g));

	if (!g)
		return NULL;
	g->name = mem_dup(name);
	if (!g->name || keygroup_init_parts(g) < 0) {
		mem_free(g->name);
		mem_free(g);
		return NULL;
	}
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_init(&g->budget_lock, NULL);
	list_init(&g->lru);
	g->keys = ks;
	budget_init(&g->budget, &cfg->budget, now_ms);
	list_push_back(&ks->all, &g->all);
	map_add(&ks->groups, &g->node, hash_bytes(&ks->hash, name.p, name.n));
	return g;
}

static struct keygroup *
keygroup_find(struct keys *ks, struct span name)
{
	struct map_node *n;

	n = map_find(&ks->groups, hash_bytes(&ks->hash, name.p, name.n));
	for (; n; n = map_find_next(n)) {
		struct keygroup *g = AB_CONTAINER(n, struct keygroup, node);

		if (span_eq(span_of(g->name), name))
			return g;
	}
	return NULL;
}

/* The state stays, the rules change: a reload. */
static void
key_reconfigure(struct key *k, const struct key_cfg *cfg, int64_t now_ms)
{
	pthread_mutex_lock(&k->lock);
	bucket_reconfigure(&k->bucket, &k->cfg.bucket, &cfg->bucket, now_ms);
	quota_reconfigure(&k->quota, &cfg->quota);
	if (adapt_on(&cfg->adapt) != adapt_on(&k->cfg.adapt))
		adapt_init(&k->adapt, now_ms);
	k->cfg = *cfg;
	k->line.limit = cfg->queue;
	pthread_mutex_unlock(&k->lock);
}

struct keygroup *
keys_group(struct keys *ks, struct span name, const struct key_cfg *cfg,
    int64_t now_ms)
{
	struct map_node *n = NULL;
	struct keygroup *g;
	size_t pos = 0;

	pthread_mutex_lock(&ks->lock);
	g = keygroup_find(ks, name);
	if (!g)
		g = keygroup_new(ks, name, cfg, now_ms);
	pthread_mutex_unlock(&ks->lock);
	if (!g)
		return NULL;
	pthread_mutex_lock(&g->budget_lock);
	budget_reconfigure(&g->budget, &cfg->budget, now_ms);
	pthread_mutex_unlock(&g->budget_lock);
	pthread_mutex_lock(&g->lock);
	g->cfg = *cfg;
	while ((n = map_walk(&g->map, &pos, n)))
		key_reconfigure(AB_CONTAINER(n, struct key, node), cfg, now_ms);
	pthread_mutex_unlock(&g->lock);
	return g;
}

static void
key_init_ticks(struct key *k, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		k->ticks[i] = (struct key_tick){.key = k};
		timer_init(&k->ticks[i].timer, dispatch_tick);
		list_init(&k->ticks[i].late);
	}
}

static struct key *
key_new(struct keygroup *g, uint64_t id, struct span label)
{
	unsigned n = g->keys->nengines;
	struct key *k = mem_zalloc(sizeof(*k) + label.n + 1);

	if (!k)
		return NULL;
	k->ticks = mem_alloc(n * sizeof(*k->ticks));
	if (!k->ticks || line_init(&k->line, g->cfg.queue) < 0) {
		mem_free(k->ticks);
		mem_free(k);
		return NULL;
	}
	key_init_ticks(k, n);
	pthread_mutex_init(&k->lock, NULL);
	list_init(&k->lru);
	service_init(&k->service);
	bucket_init(&k->bucket);
	quota_init(&k->quota);
	adapt_init(&k->adapt, 0);
	k->group = g;
	k->cfg = g->cfg;
	k->wake_ms = TIMER_NEVER;
	k->least_deadline_ms = k->least_max_wait_ms = INT64_MAX;
	k->least_patience_ms = INT64_MAX;
	memcpy(k->label, label.p, label.n);
	map_add(&g->map, &k->node, id);
	return k;
}

/*
 * Whom to put out: the one unused longest; but rather one of the next few than
 * one with a hold, which would be forgotten: we would knock before the time that
 * we were told. NULL: all are in use.
 */
static struct key *
keygroup_victim(struct keygroup *g)
{
	struct list *it = list_first(&g->lru);
	struct key *oldest = it ? AB_CONTAINER(it, struct key, lru) : NULL;

	for (int i = 0; it && i < VICTIMS_MAX; i++) {
		struct key *k = AB_CONTAINER(it, struct key, lru);

		if (k->service.state != SERVICE_SHUT)
			return k;
		it = it->next == &g->lru ? NULL : it->next;
	}
	return oldest;
}

/* Makes room for one more; keys in use are never put out. */
static void
keygroup_shrink(struct keygroup *g)
{
	struct key *k;

	while (g->map.n >= g->cfg.max_keys && (k = keygroup_victim(g))) {
		list_del(&k->lru);
		map_del(&g->map, &k->node);
		key_free(k);
	}
}

struct key *
key_get(struct keygroup *g, uint64_t id, uint64_t owner, struct span label)
{
	struct map_node *n;
	struct key *k;

	pthread_mutex_lock(&g->lock);
	n = map_find(&g->map, id);
	if (n) {
		k = AB_CONTAINER(n, struct key, node);
		list_del(&k->lru);
	} else {
		keygroup_shrink(g);
		k = key_new(g, id, label);
		if (k)
			k->owner = owner;
	}
	if (k)
		atomic_fetch_add(&k->refs, 1);
	pthread_mutex_unlock(&g->lock);
	return k;
}

void
key_ref(struct key *k)
{
	atomic_fetch_add(&k->refs, 1);
}

void
key_put(struct key *k)
{
	struct keygroup *g = k->group;
	unsigned refs = atomic_load(&k->refs);

	while (refs > 1)
		if (atomic_compare_exchange_weak(&k->refs, &refs, refs - 1))
			return;
	pthread_mutex_lock(&g->lock);
	if (atomic_fetch_sub(&k->refs, 1) == 1)
		list_push_back(&g->lru, &k->lru);
	pthread_mutex_unlock(&g->lock);
}

void
keygroup_count_request(struct keygroup *g, int64_t now_ms)
{
	pthread_mutex_lock(&g->budget_lock);
	budget_request(&g->budget, now_ms);
	pthread_mutex_unlock(&g->budget_lock);
}

bool
keygroup_take_retry(struct keygroup *g, int64_t now_ms)
{
	bool may;

	pthread_mutex_lock(&g->budget_lock);
	may = budget_retry(&g->budget, now_ms);
	pthread_mutex_unlock(&g->budget_lock);
	return may;
}
