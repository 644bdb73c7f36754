/* SPDX-License-Identifier: MIT */
/*
 * dispatch_move decides in which state an answer counts, where the service says
 * itself in which of its buckets the request has counted. The attempt goes over
 * to that bucket's key before its outcome is learned, so that a refusal holds up
 * those who share the bucket, and nobody else.
 *
 *   base key --answer names a bucket--> key of (base key, bucket)
 *
 * Who waits for the same meanwhile goes over as well, at once, or when its turn
 * comes.
 *
 * A refusal that is about all that its owner does is put down in the group, and
 * every key of that owner takes it over when it is looked at next.
 */
#include "dispatch_line.h"

#include <stdio.h>

/* "api#1234abcd": of the base key the part in front, and the new id. */
static struct key *
bucket_key(const struct key *base, uint64_t id)
{
	const char *end = strchr(base->label, '#');
	int n = end ? (int)(end - base->label) : (int)strlen(base->label);
	char label[512];

	(void)snprintf(label, sizeof(label), "%.*s#%08llx", n < 400 ? n : 400,
	    base->label, (unsigned long long)(id & 0xffffffff));
	return key_get(base->group, id, base->owner, span_of(label));
}

/* r comes with an attempt under way, which is nobody's probe here. */
static void
key_adopt(struct key *k, struct request *r)
{
	r->ticket = (struct ticket){.epoch = k->service.epoch,
	    .round = k->service.round};
	r->start = quota_begin(&k->quota, key_now(r->engine));
	line_entry_init(&r->entry, r->entry.client, r->entry.urgency);
	line_pass(&k->line, &r->entry);
	k->in_use++;
	r->learned = false;
	r->grant = GRANT_HELD;
}

/* Those who wait for what r has got an answer to go over as well, in order. */
static void
key_send_after(struct key *k, const struct request *first)
{
	struct list out, *it;
	uint64_t place = 0;

	list_init(&out);
	pthread_mutex_lock(&k->lock);
	key_clock(k, key_now(first->engine));
	heap_sort(&k->line.heap);
	for (uint32_t i = 0; i < line_length(&k->line); i++) {
		struct request *r =
		    AB_CONTAINER(k->line.heap.v[i], struct request, entry.node);

		if (r->route == first->route)
			list_push_back(&out, &r->mail);
	}
	while ((it = list_first(&out))) {
		struct request *r = AB_CONTAINER(it, struct request, mail);

		list_del(it);
		line_leave(&k->line, &r->entry);
		request_charge(r, k);
		r->entry.tag = place++;
		r->moved = true;
		key_post(first->engine, r);
	}
	pthread_mutex_unlock(&k->lock);
}

/* served: it has passed the door, which the state that it leaves stands for. */
static void
request_move_to(struct request *r, uint64_t id, bool served)
{
	struct key *old = r->key, *k;

	if (r->grant != GRANT_HELD || old->node.hash == id)
		return;
	k = bucket_key(old, id);
	if (!k)
		return; /* no memory: it counts where it stands */
	key_send_after(old, r);
	if (served)
		dispatch_served(r);
	else
		dispatch_release(r, true);
	pthread_mutex_lock(&k->lock);
	r->key = k;
	key_clock(k, key_now(r->engine));
	key_adopt(k, r);
	pthread_mutex_unlock(&k->lock);
	key_put(old);
}

bool
dispatch_follow(struct request *r)
{
	struct key *old = r->key, *k = NULL;
	bool moved = r->moved;
	uint64_t id = 0, place = moved ? r->entry.tag : 0;

	if (r->route != 0)
		id = buckets_find(&old->group->buckets, r->route);
	if (id == 0 && moved)
		id = r->base;
	if (id != 0 && id != old->node.hash)
		k = bucket_key(old, id);
	if (!k && !moved)
		return false;
	(void)dispatch_leave(r);
	if (!k)
		return true; /* no memory: it asks where it was */
	pthread_mutex_lock(&k->lock);
	r->key = k;
	line_entry_init(&r->entry, r->entry.client, r->entry.urgency);
	line_join(&k->line, &r->entry, place);
	pthread_mutex_unlock(&k->lock);
	key_put(old);
	return true;
}

void
dispatch_bucket(struct request *r, const struct attempt *a)
{
	const struct verdict_cfg *cfg = &r->policy->verdict;
	const struct lesson *l = &a->lesson;
	struct keygroup *g = r->key->group;
	struct hash_key *hash = &g->keys->hash;
	uint64_t both[2], id = 0;

	if (r->route == 0)
		return;
	if (l->bucket.n > 0) {
		both[0] = r->base;
		both[1] = hash_bytes(hash, l->bucket.p, l->bucket.n);
		id = hash_bytes(hash, both, sizeof(both));
	} else if (a->status >= 300) {
		return; /* of a refusal at the door: it knows no routes */
	}
	buckets_learn(&g->buckets, r->route, id, r->policy->max_keys);
	request_move_to(r, id ? id : r->base,
	    !verdict_throttled(cfg, a) && a->says != SAYS_PERMANENT);
}

void
key_hold_all(struct key *k)
{
	struct keygroup *g = k->group;

	if (k->service.state != SERVICE_SHUT)
		return;
	buckets_raise(&g->holds, k->owner, (uint64_t)k->service.until_ms,
	    k->cfg.max_keys);
	atomic_fetch_add(&g->nholds, 1);
}

bool
key_take_hold(struct key *k, int64_t now_ms)
{
	unsigned long long n = atomic_load(&k->group->nholds);
	int64_t until_ms;

	if (n == k->holds_seen)
		return false;
	k->holds_seen = n;
	until_ms = (int64_t)buckets_find(&k->group->holds, k->owner);
	if (until_ms <= k->owner_hold_ms)
		return false;
	k->owner_hold_ms = until_ms;
	if (until_ms <= now_ms)
		return false;
	service_told(&k->service, until_ms, 429);
	return true;
}
