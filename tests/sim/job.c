/* SPDX-License-Identifier: MIT */
/*
 * job is the client's side: it builds a request from real head bytes, sends
 * its body as fast as it is wanted, and keeps what it got.
 */
#include <stdio.h>
#include <stdlib.h>

#include "policy/expiry.h"
#include "policy/template.h"
#include "world.h"

#define PIECES 10        /* of a body that takes its time */
#define PIECE_MOST 65536 /* bytes */

const char *
job_client(const struct job *j)
{
	return j->world->scene->clients[j->client];
}

char
job_body_byte(const struct job *j, uint64_t at)
{
	return (char)(at * 7 + at / 251 + j->n * 31);
}

static struct lane *
lane_of(struct world *w, const struct action *a)
{
	struct lane *l;

	for (unsigned i = 0; i < w->nlanes; i++) {
		l = w->lanes[i];
		if (l->service == a->service && strcmp(l->key, a->key) == 0)
			return l;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		abort();
	l->service = a->service;
	memcpy(l->key, a->key, sizeof(l->key));
	w->lanes = scene_grow(w->lanes, w->nlanes, sizeof(l));
	w->lanes[w->nlanes++] = l;
	return l;
}

static struct job *
job_new(struct world *w, const struct action *a, unsigned i)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		abort();
	w->jobs = scene_grow(w->jobs, w->njobs, sizeof(j));
	w->jobs[w->njobs++] = j;
	j->world = w;
	j->action = a;
	j->n = w->njobs;
	j->client = a->client + (int)(i % a->nclients);
	j->service = a->service;
	j->lane = lane_of(w, a);
	j->came_us = w->now_us;
	j->end_us = j->head_us = -1;
	j->retry_after_ms = -1;
	return j;
}

/* As edge does it. */
static void
apply_expiry(struct job *j, const struct head *h)
{
	const char *host = j->world->scene->services[j->service].name;
	int64_t left;

	left = expiry_left_ms(h, span_of(host), SPAN("/"),
	    sim_ports.wall_ms(j->r.engine));
	if (left >= 0)
		request_expires(&j->r, left);
}

static void
apply_wishes(struct job *j)
{
	const struct action *a = j->action;
	struct request *r = &j->r;

	if (a->max_wait_ms >= 0 && a->max_wait_ms < r->max_wait_ms)
		r->max_wait_ms = a->max_wait_ms;
	if (a->max_retries >= 0 && (unsigned)a->max_retries < r->max_retries)
		r->max_retries = (unsigned)a->max_retries;
}

static void
job_fill(struct job *j, struct engine *e, struct key *key)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	struct world *w = j->world;
	const struct action *a = j->action;
	const char *client = job_client(j), *why = "";
	struct hash_key *hash = &w->shared.keys.hash;
	struct request *r = &j->r;
	struct head_scan scan = {0};
	char text[FIELDS_BYTES + 256];
	static struct head h;
	int n;

	n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
	    a->method, a->path[0] ? a->path : "/",
	    w->scene->services[a->service].name, a->fields);
	if (head_request(text, (size_t)n, &scan, &limits, &h, &why) != HEAD_OK)
		world_fault(w, "line %d is no request: %s", a->line, why);
	request_init(r, e, key, &w->settings[a->service]->policy,
	    hash_bytes(hash, client, strlen(client)), (uint8_t)a->urgency);
	r->id = j->n;
	r->connect = strcmp(a->method, "CONNECT") == 0;
	r->repeatable = verdict_idempotent(span_of(a->method)) ||
	    head_has(&h, FIELD_IDEMPOTENCY_KEY);
	r->has_body = a->body_bytes > 0 || a->chunked;
	apply_wishes(j);
	apply_expiry(j, &h);
}

/* A group that has more keys than room may forget what one of them was told. */
static void
job_look_forgotten(struct job *j, const struct key *key)
{
	struct world *w = j->world;
	unsigned lanes = 0;

	for (unsigned i = 0; i < w->nlanes; i++)
		lanes += w->lanes[i]->service == j->service;
	if (lanes > w->settings[j->service]->policy.max_keys &&
	    key->service.last_fail_ms < 0)
		j->lane->hint_until_us = 0;
}

static struct engine *
job_engine(struct world *w, const struct action *a)
{
	unsigned n = w->scene->engines;
	unsigned i = a->engine >= 0 ? (unsigned)a->engine : w->next_engine++;

	return &w->engines[i % n];
}

/* The same for a copy of it. */
static uint64_t
job_print(const struct job *j)
{
	const struct hash_key *hash = &j->world->shared.keys.hash;
	const struct action *a = j->action;
	const char *client = job_client(j);
	uint64_t parts[5] = {hash_bytes(hash, client, strlen(client)),
	    (uint64_t)j->service, a->body_bytes,
	    hash_bytes(hash, a->method, strlen(a->method)),
	    hash_bytes(hash, a->path, strlen(a->path))};

	return hash_bytes(hash, parts, sizeof(parts)) | 1;
}

/* As edge does it: the bucket that its route is known to count in. */
static uint64_t
job_bucket(struct job *j, uint64_t base, uint64_t *ret_route)
{
	struct world *w = j->world;
	const struct action *a = j->action;
	const struct hash_key *hash = &w->shared.keys.hash;
	uint64_t both[2] = {base, 0}, bucket;

	*ret_route = 0;
	if (w->settings[a->service]->policy.lesson.bucket.n == 0)
		return base;
	both[1] = template_hash(hash, span_of(a->method), span_of(a->path));
	*ret_route = hash_bytes(hash, both, sizeof(both));
	bucket = buckets_find(&w->groups[a->service]->buckets, *ret_route);
	return bucket ? bucket : base;
}

void
job_arrive(struct world *w, const struct action *a, unsigned i)
{
	struct job *j = job_new(w, a, i);
	struct engine *e = job_engine(w, a);
	char label[2 * NAME_BYTES + 2];
	uint64_t base, route, id, owner = 0;
	struct key *key = NULL;

	if (strchr(a->key, '/'))
		owner = hash_bytes(&w->shared.keys.hash, a->key,
		    strcspn(a->key, "/"));
	base = hash_bytes(&w->shared.keys.hash, a->key, strlen(a->key));
	id = job_bucket(j, base, &route);
	world_enter(w, e);
	snprintf(label, sizeof(label), "%s#%s",
	    w->scene->services[a->service].name, a->key);
	if (!w->stopped[e->index])
		key = key_get(w->groups[a->service], id, owner, span_of(label));
	if (!key) {
		job_end(j, JOB_REFUSED, 503);
		return;
	}
	world_tell(w, "#%u %s %s from %s", j->n, a->method, label,
	    job_client(j));
	j->begun = true;
	job_look_forgotten(j, key);
	job_fill(j, e, key);
	request_printed(&j->r, job_print(j));
	j->r.base = base;
	j->r.route = route;
	request_begin(&j->r);
}

void
job_end(struct job *j, enum job_end end, int status)
{
	struct world *w = j->world;

	if (j->end != JOB_OPEN)
		world_fault(w, "#%u ended twice", j->n);
	j->end = end;
	j->status = status;
	j->end_us = w->now_us;
	if (j->head_us < 0)
		j->head_us = w->now_us;
}

void
job_leave(struct job *j)
{
	struct world *w = j->world;

	world_tell(w, "#%u its client leaves (%s)", j->n,
	    request_state_name(j->r.state));
	job_end(j, JOB_LEFT, 0);
	world_enter(w, j->r.engine);
	request_gone(&j->r);
}

void
job_half_close(struct job *j)
{
	j->fin = true;
	if (j->r.state == REQUEST_WAITING && !j->r.policy->allow_half_close)
		job_leave(j);
}

/* Sends n more bytes; what finds no place in the buffer is streamed. */
static void
job_give(struct job *j, uint64_t n)
{
	struct request *r = &j->r;
	struct body_cfg cfg = {r->policy->body_buffer_bytes,
	    r->policy->body_spill_bytes};
	char piece[PIECE_MOST];
	size_t done;

	while (n > 0) {
		size_t k = n < PIECE_MOST ? (size_t)n : PIECE_MOST;

		for (size_t i = 0; i < k; i++)
			piece[i] = job_body_byte(j, j->fed + i);
		if (r->body.once == BODY_WHOLE) {
			done = body_append(&r->body, r->engine, &cfg, piece, k);
			if (done < k && r->body.once == BODY_WHOLE)
				world_fault(j->world,
				    "#%u a body that is "
				    "neither kept nor once",
				    j->n);
		}
		j->fed += k;
		n -= k;
		if (r->state == REQUEST_READING && r->body.once != BODY_WHOLE)
			return;
	}
}

static void
job_feed(struct world *w, void *arg)
{
	struct job *j = arg;
	struct request *r = &j->r;
	uint64_t all = j->action->body_bytes, left = all - j->fed;
	uint64_t piece = j->action->body_over_us ? all / PIECES + 1 : all;

	j->feeding = false;
	if (j->end != JOB_OPEN)
		return;
	world_enter(w, r->engine);
	job_give(j, piece < left ? piece : left);
	if (j->fed == all)
		r->body.complete = true;
	if (r->state != REQUEST_READING) {
		if (j->try)
			origin_send(j->try);
	} else if (r->body.once != BODY_WHOLE) {
		request_body_over(r);
	} else if (r->body.complete) {
		request_body_done(r);
	} else {
		job_feed_more(j);
	}
}

void
job_feed_more(struct job *j)
{
	int64_t over_us = j->action->body_over_us;

	if (j->feeding)
		return;
	j->feeding = true;
	if (over_us)
		world_after(j->world, over_us / PIECES, job_feed, j);
	else
		job_feed(j->world, j);
}
