/* SPDX-License-Identifier: MIT */
/*
 * origin is the upstream's side: it follows a script, or its own limit, and
 * answers with the bytes of a real head, so that hints are read as in earnest.
 * It knows connections only by number: how many idle, how many opened.
 *
 *   start -> connected -> body received -> answer -> in hand -> over
 */
#include <stdio.h>
#include <stdlib.h>

#include "policy/hint.h"
#include "world.h"

#define DRAIN_BYTES 65536 /* a longer body of a discarded answer: close */
#define PIECES 10

static struct origin *
origin_of(const struct try *t)
{
	return &t->job->world->origins[t->job->service];
}

static void
try_over(struct try *t, bool keep)
{
	struct job *j = t->job;

	t->over = true;
	t->over_us = j->world->now_us;
	j->try = NULL;
	limit_over(j->world, t);
	origin_of(t)->live--;
	if (keep && t->sent_all && !t->step->close)
		origin_of(t)->idle[j->r.engine->index]++;
}

static void
try_fail(struct try *t, enum attempt_end end, bool sent)
{
	struct job *j = t->job;
	struct attempt a = {.end = end, .reused = t->reused, .sent = sent};

	if (end == ATTEMPT_PARENT)
		a.status = 502;
	world_tell(j->world, "#%u attempt %u failed", j->n, t->n);
	try_over(t, false);
	request_failed(&j->r, &a);
}

/* ---- the answer ---- */

/* The wait that this answer asks for, if it is a refusal, binds its key. */
static void
note_hint(struct try *t, const struct head *h, const struct body_view *body)
{
	struct job *j = t->job;
	const struct policy *p = j->r.policy;
	struct world *w = j->world;
	struct reading is;
	int64_t until_us;

	/* What a bucket was told is no matter of the key's. */
	if (p->dry_run || p->lesson.bucket.n > 0)
		return;
	is = reading_of(p, h, body, sim_ports.wall_ms(j->r.engine));
	if (!is.throttled || !is.hint.valid)
		return;
	until_us = is.hint.wait_ms < INT64_MAX / 2000
	    ? w->now_us + is.hint.wait_ms * 1000
	    : INT64_MAX;
	if (until_us > j->lane->hint_until_us)
		j->lane->hint_until_us = until_us;
}

static size_t
answer_text(const struct step *s, char *to, size_t cap)
{
	int n = 0;

	if (s->interim)
		n = snprintf(to, cap, "HTTP/1.1 %d Interim\r\n\r\n",
		    s->interim);
	if (s->kind == STEP_GARBAGE)
		n +=
		    snprintf(to + n, cap - (size_t)n, "220 smtp ready\r\n\r\n");
	else if (s->chunked)
		n += snprintf(to + n, cap - (size_t)n,
		    "HTTP/1.1 %d X\r\n%s"
		    "Transfer-Encoding: chunked\r\n\r\n",
		    s->status, s->fields);
	else
		n += snprintf(to + n, cap - (size_t)n,
		    "HTTP/1.1 %d X\r\n%s"
		    "Content-Length: %llu\r\n\r\n",
		    s->status, s->fields, (unsigned long long)s->body_bytes);
	return (size_t)n;
}

/* Reads what the upstream sent up to the final head. */
static bool
answer_read(const struct step *s, char *text, size_t cap, struct head *h)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	size_t n = answer_text(s, text, cap);
	const char *why;

	do {
		struct head_scan scan = {0};

		if (head_response(text, n, &scan, &limits, h, &why) != HEAD_OK)
			return false;
		text += h->bytes;
		n -= h->bytes;
	} while (h->status < 200 && h->status != 101);
	return true;
}

/* The head is in, and as much of the body as was asked for. */
static void
try_judged(struct try *t, const struct head *h, const struct body_view *body)
{
	struct job *j = t->job;
	struct world *w = j->world;

	t->in_hand = true;
	t->head_us = w->now_us;
	t->status = h->status;
	free(j->head);
	j->head = strdup(t->step->fields);
	note_hint(t, h, body);
	world_tell(w, "#%u attempt %u got %d", j->n, t->n, h->status);
	request_got_head(&j->r, h, body, t->reused);
}

/* What of the body has come in once it has been looked at for `ms`. */
static struct body_view
body_after(const struct step *s, size_t bytes, int64_t ms)
{
	struct body_view v = {.bytes = {s->text, s->body_bytes}};

	v.whole = !s->cut && s->over_us <= ms * 1000 && v.bytes.n <= bytes;
	if (s->over_us > ms * 1000)
		v.bytes.n = 0;
	if (v.bytes.n > bytes)
		v.bytes.n = bytes;
	return v;
}

static void
try_looked(struct world *w, void *arg)
{
	struct try *t = arg;
	char text[FIELDS_BYTES + 256];
	struct body_view body;
	static struct head h;

	if (t->over || !answer_read(t->step, text, sizeof(text), &h))
		return;
	world_enter(w, t->job->r.engine);
	body = body_after(t->step, t->look.bytes, t->look.ms);
	try_judged(t, &h, &body);
}

static void
try_answer(struct world *w, void *arg)
{
	static const struct body_view unseen = {.whole = false};
	struct try *t = arg;
	struct job *j = t->job;
	char text[FIELDS_BYTES + 256];
	static struct head h;
	int64_t us;

	if (t->over)
		return;
	world_enter(w, j->r.engine);
	if (t->step->kind == STEP_RESET) {
		try_fail(t, ATTEMPT_RESET, true);
		return;
	}
	if (!answer_read(t->step, text, sizeof(text), &h)) {
		try_fail(t, ATTEMPT_BAD_RESPONSE, true);
		return;
	}
	t->look = request_look(&j->r, &h);
	if (t->look.bytes == 0 || !t->step->text[0]) {
		try_judged(t, &h, &unseen);
		return;
	}
	us = t->look.ms * 1000;
	world_after(w, t->step->over_us < us ? t->step->over_us : us,
	    try_looked, t);
}

static void
relay_end(struct try *t)
{
	struct job *j = t->job;
	bool cut = t->step->cut;

	try_over(t, !cut);
	if (cut) {
		job_end(j, JOB_CUT, t->status);
		request_cut(&j->r);
	} else {
		j->received = t->step->body_bytes;
		job_end(j, JOB_RELAYED, t->status);
		request_relayed(&j->r);
	}
}

static void
relay_piece(struct world *w, void *arg)
{
	struct try *t = arg;

	if (t->over)
		return;
	world_enter(w, t->job->r.engine);
	if (t->step->over_us == 0 || ++t->pieces == PIECES) {
		relay_end(t);
		return;
	}
	request_progress(&t->job->r);
	world_after(w, t->step->over_us / PIECES, relay_piece, t);
}

static void
tunnel_end(struct world *w, void *arg)
{
	struct try *t = arg;

	if (t->over)
		return;
	world_enter(w, t->job->r.engine);
	try_over(t, false);
	job_end(t->job, JOB_RELAYED, t->status);
	request_closed(&t->job->r);
}

static void
tunnel_begin(struct try *t, int status)
{
	struct job *j = t->job;

	t->status = status;
	j->head_us = j->world->now_us;
	world_after(j->world, j->action->tunnel_us, tunnel_end, t);
	request_tunnel(&j->r);
}

void
origin_relay(struct job *j)
{
	struct try *t = j->try;
	struct world *w = j->world;

	if (!t || !t->in_hand || j->relaying) {
		world_fault(w, "#%u relays what is not there", j->n);
		return;
	}
	j->relaying = true;
	j->head_us = w->now_us;
	if (t->status == 101)
		tunnel_begin(t, 101);
	else if (t->step->over_us == 0 && t->step->body_bytes == 0)
		relay_end(t);
	else
		world_after(w, t->step->over_us / PIECES, relay_piece, t);
}

void
origin_discard(struct job *j)
{
	struct try *t = j->try;

	if (t && t->connected && !t->sent_all && !t->in_hand) {
		world_tell(j->world, "#%u attempt called off", j->n);
		t->off = true;
		if (!j->r.connect)
			origin_of(t)->idle[j->r.engine->index]++;
		try_over(t, false);
	} else if (!t || !t->in_hand) {
		world_fault(j->world, "#%u discards what is not there", j->n);
	} else {
		try_over(t, t->step->body_bytes <= DRAIN_BYTES);
	}
}

void
origin_abort(struct job *j)
{
	if (j->try)
		try_over(j->try, false);
}

/* ---- the request ---- */

/* What comes after the request has been received whole. */
static void
try_received(struct try *t)
{
	struct job *j = t->job;

	if (t->sent != j->action->body_bytes)
		world_fault(j->world, "#%u sent %llu bytes of %llu", j->n,
		    (unsigned long long)t->sent,
		    (unsigned long long)j->action->body_bytes);
	t->sent_all = true;
	request_sent(&j->r);
	if (t->over || t->in_hand)
		return;
	if (!t->step)
		limit_judge(j->world, t);
	if (t->step->kind != STEP_HANG && !t->step->early)
		world_after(j->world, t->step->after_us, try_answer, t);
}

/* The next bytes from the replay buffer, which must be the client's. */
static int
try_take(struct try *t)
{
	struct job *j = t->job;
	char buf[16384];
	struct span s;

	if (body_at(&j->r.body, j->r.engine, t->sent, buf, sizeof(buf), &s) < 0)
		return -1;
	if (s.n == 0)
		world_fault(j->world, "#%u the buffer ends early", j->n);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != job_body_byte(j, t->sent + i)) {
			world_fault(j->world,
			    "#%u byte %llu is not the "
			    "client's",
			    j->n, (unsigned long long)(t->sent + i));
			break;
		}
	t->sent += s.n ? s.n : j->r.body.bytes;
	return 0;
}

void
origin_send(struct try *t)
{
	struct job *j = t->job;
	struct request *r = &j->r;

	if (t->over || t->sent_all)
		return;
	while (t->sent < r->body.bytes) {
		if (try_take(t) == 0)
			continue;
		try_over(t, false);
		request_give_up(r, 502, GIVE_UP_SPILL);
		return;
	}
	/* What was not kept comes straight from the client, once. */
	if (t->sent < j->fed)
		t->sent = j->streamed = j->fed;
	if (!r->has_body || r->body.complete)
		try_received(t);
	else
		job_feed_more(j);
}

static void
try_connected(struct world *w, void *arg)
{
	struct try *t = arg;
	struct job *j = t->job;

	if (t->over)
		return;
	world_enter(w, j->r.engine);
	t->connected = true;
	if (j->streamed > 0)
		world_fault(w, "#%u a body that was not kept is sent again",
		    j->n);
	if (!request_connected(&j->r, t->reused))
		return;
	invariant_attempt(w, j);
	if (j->r.connect) {
		tunnel_begin(t, 200);
		return;
	}
	if (t->step && t->step->kind == STEP_RESET_UNSENT) {
		try_fail(t, ATTEMPT_RESET, false);
		return;
	}
	if (t->step && t->step->early)
		world_after(w, t->step->after_us, try_answer, t);
	origin_send(t);
}

/* ---- the beginning ---- */

static bool
connect_failure(const struct step *s, enum attempt_end *ret)
{
	static const struct {
		enum step_kind kind;
		enum attempt_end end;
	} all[] = {{STEP_REFUSED, ATTEMPT_CONNECT_FAILED},
	    {STEP_CONNECT_TIMEOUT, ATTEMPT_CONNECT_TIMEOUT},
	    {STEP_DNS_FAILED, ATTEMPT_DNS_FAILED},
	    {STEP_NO_NAME, ATTEMPT_DNS_NAME},
	    {STEP_NO_FILES, ATTEMPT_NO_MEMORY},
	    {STEP_CERTIFICATE, ATTEMPT_TLS_CERTIFICATE},
	    {STEP_NO_TLS, ATTEMPT_TLS}, {STEP_PARENT, ATTEMPT_PARENT}};

	for (size_t i = 0; s && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].kind == s->kind) {
			*ret = all[i].end;
			return true;
		}
	return false;
}

static void
try_unconnected(struct world *w, void *arg)
{
	struct try *t = arg;
	enum attempt_end end;

	if (t->over || !connect_failure(t->step, &end))
		return;
	world_enter(w, t->job->r.engine);
	try_fail(t, end, false);
}

/* The script's next step, or NULL where a limit decides. */
static const struct step *
next_step(struct job *j)
{
	const struct service_def *d = &j->world->scene->services[j->service];
	unsigned *n =
	    d->each ? &j->steps : &j->world->origins[j->service].steps;
	static const struct step ok = {.kind = STEP_ANSWER, .status = 200};

	if (d->limit.kind != LIMIT_NONE)
		return NULL;
	if (d->nsteps == 0)
		return &ok;
	if (*n < d->nsteps)
		return &d->steps[(*n)++];
	return &d->steps[d->nsteps - 1];
}

static struct try *
try_new(struct job *j, bool fresh)
{
	struct world *w = j->world;
	struct try *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	w->tries = scene_grow(w->tries, w->ntries, sizeof(t));
	w->tries[w->ntries++] = t;
	t->job = j;
	t->n = j->r.attempts;
	t->fresh = fresh;
	t->start_us = w->now_us;
	t->head_us = t->over_us = -1;
	t->step = next_step(j);
	t->live = ++origin_of(t)->live;
	j->try = t;
	return t;
}

void
origin_start(struct job *j, bool fresh)
{
	unsigned at = j->r.engine->index;
	struct origin *o = &j->world->origins[j->service];
	enum attempt_end end;
	struct try *t;

	if (j->try)
		world_fault(j->world, "#%u two attempts at a time", j->n);
	invariant_attempt(j->world, j);
	t = try_new(j, fresh);
	world_tell(j->world, "#%u attempt %u%s", j->n, t->n,
	    fresh ? " again, on a fresh connection" : "");
	if (connect_failure(t->step, &end)) {
		if (t->step->after_us)
			world_after(j->world, t->step->after_us,
			    try_unconnected, t);
		else
			try_fail(t, end, false);
		return;
	}
	if (t->step && t->step->kind == STEP_CONNECT_HANG)
		return;
	if (!fresh && !j->r.connect && o->idle[at] > 0) {
		o->idle[at]--;
		t->reused = true;
		try_connected(j->world, t);
		return;
	}
	o->connections++;
	world_after(j->world, t->step ? t->step->dial_us : 0, try_connected, t);
}
