/* SPDX-License-Identifier: MIT */
/*
 * dispatch_move decides in which state an answer counts, where the service says
 * itself in which of its buckets the request has counted. The attempt goes over
 * to that bucket's key before its outcome is learned, so that a refusal holds up
 * those who share the bucket, and nobody else.
 *
 *   base key --answer names a bucket--> key of (base key, bucket)
 *
 * A refusal that is about all buckets is put down in the group, and every key
 * takes it over when it is looked at next.
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
	return key_get(base->group, id, span_of(label));
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

static void
request_move_to(struct request *r, uint64_t id)
{
	struct key *old = r->key, *k;

	if (r->grant != GRANT_HELD || old->node.hash == id)
		return;
	k = bucket_key(old, id);
	if (!k)
		return; /* no memory: it counts where it stands */
	dispatch_release(r, true);
	pthread_mutex_lock(&k->lock);
	r->key = k;
	key_clock(k, key_now(r->engine));
	key_adopt(k, r);
	pthread_mutex_unlock(&k->lock);
	key_put(old);
}

void
dispatch_bucket(struct request *r, const struct lesson *l, int status)
{
	struct keygroup *g = r->key->group;
	struct hash_key *hash = &g->keys->hash;
	uint64_t both[2], id = 0;

	if (r->route == 0)
		return;
	if (l->bucket.n > 0) {
		both[0] = r->base;
		both[1] = hash_bytes(hash, l->bucket.p, l->bucket.n);
		id = hash_bytes(hash, both, sizeof(both));
	} else if (status >= 300) {
		return; /* of a refusal at the door: it knows no routes */
	}
	buckets_learn(&g->buckets, r->route, id, g->cfg.max_keys);
	request_move_to(r, id ? id : r->base);
}

void
key_hold_all(struct key *k)
{
	struct keygroup *g = k->group;
	long long was = atomic_load(&g->hold_ms), until = k->service.until_ms;

	if (k->service.state != SERVICE_SHUT)
		return;
	k->group_hold_ms = until;
	while (was < until)
		if (atomic_compare_exchange_weak(&g->hold_ms, &was, until))
			return;
}

bool
key_take_hold(struct key *k, int64_t now_ms)
{
	int64_t until_ms =
	    atomic_load_explicit(&k->group->hold_ms, memory_order_relaxed);

	if (until_ms <= k->group_hold_ms)
		return false;
	k->group_hold_ms = until_ms;
	if (until_ms <= now_ms)
		return false;
	service_told(&k->service, until_ms, 429);
	return true;
}
