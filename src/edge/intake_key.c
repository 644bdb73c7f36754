/* SPDX-License-Identifier: MIT */
/*
 * intake_key decides which requests share a state: those of a service, or of a
 * server, or of a part of these that `key` names, or of a bucket that the
 * service itself has named.
 */
#include "intake.h"
#include "policy/template.h"

static uint64_t
mix_span(struct worker *w, uint64_t sum, struct span s)
{
	uint64_t both[2] = {sum, hash_bytes(&w->proc->hash, s.p, s.n)};

	return hash_bytes(&w->proc->hash, both, sizeof(both));
}

/* The value of one query parameter as it was sent. */
static struct span
query_value(struct span path, struct span name)
{
	struct span rest = path, part, key;

	if (!span_cut(&rest, '?', &part) || !rest.p)
		return (struct span){NULL, 0};
	while (span_cut(&rest, '&', &part)) {
		struct span value = part;

		if (span_cut(&value, '=', &key) && span_eq(key, name))
			return value;
	}
	return (struct span){NULL, 0};
}

static struct span
path_prefix(struct span path, unsigned depth)
{
	size_t i = 0;

	for (; i < path.n && path.p[i] != '?'; i++)
		if (path.p[i] == '/' && i > 0 && depth-- <= 1)
			break;
	return (struct span){path.p, i};
}

static uint64_t
key_part(struct intake *in, const struct policy_key_part *p, uint64_t place)
{
	struct worker *w = in->c->worker;

	switch (p->kind) {
	case POLICY_KEY_HOST:
		return place;
	case POLICY_KEY_HEADER:
		return mix_span(w, 1, head_find(in->h, p->name));
	case POLICY_KEY_PATH:
		return mix_span(w, 2, path_prefix(in->path, p->depth));
	case POLICY_KEY_QUERY:
		return mix_span(w, 3, query_value(in->path, p->name));
	case POLICY_KEY_CLIENT:
		return in->c->who;
	}
	return 0;
}

/* The service may have told in which of its buckets such requests count. */
static uint64_t
key_of_bucket(struct intake *in, uint64_t id)
{
	const struct hash_key *hash = &in->c->worker->proc->hash;
	struct keygroup *g = in->service->state;
	uint64_t both[2] = {id, 0}, bucket;

	if (in->service->policy.lesson.bucket.n == 0 || in->connect)
		return id;
	both[1] = template_hash(hash, in->h->method, in->path);
	in->route_id = hash_bytes(hash, both, sizeof(both));
	bucket = buckets_find(&g->buckets, in->route_id);
	return bucket ? bucket : id;
}

static uint64_t
mix(struct worker *w, uint64_t sum, uint64_t part)
{
	uint64_t both[2] = {sum, part};

	return hash_bytes(&w->proc->hash, both, sizeof(both));
}

/* What it asks for, and not for whom or where. */
static bool
part_is_a_place(const struct policy_key_part *p)
{
	return p->kind == POLICY_KEY_PATH || p->kind == POLICY_KEY_QUERY;
}

struct key *
intake_key(struct intake *in, uint64_t place)
{
	const struct policy *p = &in->service->policy;
	struct worker *w = in->c->worker;
	bool named = in->service->name[0] != '\0';
	struct strbuf label;
	struct key *k = NULL;
	uint64_t id = named ? 0 : place, owner = id;

	strbuf_init(&label, 512);
	if (named) {
		strbuf_span(&label, span_of(in->service->name));
	} else {
		strbuf_span(&label, in->host);
		strbuf_char(&label, ':');
		strbuf_u64(&label, in->port);
	}
	for (unsigned i = 0; i < p->nkey; i++) {
		uint64_t part = key_part(in, &p->key[i], place);

		id = mix(w, id, part);
		if (!part_is_a_place(&p->key[i]))
			owner = mix(w, owner, part);
	}
	if (in->key_text.n) {
		id = mix_span(w, id, in->key_text);
		owner = mix_span(w, owner, in->key_text);
	}
	in->base = id;
	id = key_of_bucket(in, id);
	if (p->nkey || in->key_text.n || id != in->base)
		strbuf_fmt(&label, "#%08llx",
		    (unsigned long long)(id & 0xffffffff));
	if (!label.failed)
		k = key_get(in->service->state, id, owner, strbuf_view(&label));
	strbuf_free(&label);
	return k;
}

uint64_t
intake_print(const struct intake *in, uint64_t place)
{
	const struct hash_key *hash = &in->c->worker->proc->hash;
	struct span auth = head_find(in->h, SPAN("authorization"));
	uint64_t parts[] = {in->c->who, place, in->base, in->body.length,
	    hash_bytes(hash, in->h->method.p, in->h->method.n),
	    hash_bytes(hash, in->path.p, in->path.n),
	    auth.n ? hash_bytes(hash, auth.p, auth.n) : 0};
	uint64_t sum = hash_bytes(hash, parts, sizeof(parts));

	return sum ? sum : 1;
}
