/* SPDX-License-Identifier: MIT */
/*
 * scene_upstream reads how an upstream behaves: a script of steps, one for
 * each attempt, or a limit that it enforces.
 */
#include <stdio.h>

#include "scene.h"

static void
add_field(struct words *w, struct step *t, const char *name, const char *value)
{
	size_t n = strlen(t->fields);
	int put = snprintf(t->fields + n, sizeof(t->fields) - n, "%s%s%s\r\n",
	    name, value ? ": " : "", value ? value : "");

	if (put < 0 || (size_t)put >= sizeof(t->fields) - n)
		words_bad(w, "too many fields");
}

/* body 5KiB, or body "its text". */
static void
read_body(struct words *w, struct step *t)
{
	const char *text;

	if (!words_is_quoted(w)) {
		t->body_bytes = (uint64_t)words_size(w);
		return;
	}
	text = words_next(w, "a text");
	if (strlen(text) >= sizeof(t->text))
		words_bad(w, "the body is too long");
	memcpy(t->text, text, strlen(text) + 1);
	t->body_bytes = strlen(t->text);
}

/* What a step may say beside its kind. False: it is over. */
static bool
read_modifier(struct words *w, struct step *t)
{
	if (words_is_quoted(w))
		add_field(w, t, words_next(w, "a field"), NULL);
	else if (words_take(w, "after"))
		t->after_us = words_time_us(w);
	else if (words_take(w, "body"))
		read_body(w, t);
	else if (words_take(w, "over"))
		t->over_us = words_time_us(w);
	else if (words_take(w, "dial"))
		t->dial_us = words_time_us(w);
	else if (words_take(w, "interim"))
		t->interim = (int)words_count(w);
	else if (words_take(w, "chunked"))
		t->chunked = true;
	else if (words_take(w, "cut"))
		t->cut = true;
	else if (words_take(w, "close"))
		t->close = true;
	else if (words_take(w, "early"))
		t->early = true;
	else
		return false;
	return true;
}

static enum step_kind
step_kind(struct words *w)
{
	static const char *const names[] = {
#define X(id, text) [STEP_##id] = text,
	    STEP_LIST(X)
#undef X
	};
	const char *name = words_next(w, "an answer");

	for (unsigned i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return (enum step_kind)i;
	words_bad(w, "'%s' is nothing that an upstream does", name);
}

/* One step; returns how often it stands. */
static unsigned
read_step(struct words *w, struct step *t)
{
	unsigned times = 1;

	*t = (struct step){.kind = STEP_ANSWER};
	if (words_is_number(w))
		t->status = (int)words_count(w);
	else
		t->kind = step_kind(w);
	for (;;) {
		if (words_take(w, "times")) {
			times = (unsigned)words_count(w);
		} else if (!read_modifier(w, t)) {
			const char *name;

			if (words_end(w) || words_take(w, "|"))
				return times;
			name = words_next(w, "a field");
			words_need(w, "=");
			add_field(w, t, name, words_next(w, "its value"));
		}
	}
}

void
scene_steps(struct scene *s, struct service_def *d, struct words *w)
{
	(void)s;
	if (words_take(w, "each"))
		d->each = true;
	(void)words_take(w, ":");
	while (!words_end(w)) {
		struct step t;

		for (unsigned n = read_step(w, &t); n > 0; n--) {
			d->steps =
			    scene_grow(d->steps, d->nsteps, sizeof(*d->steps));
			d->steps[d->nsteps++] = t;
		}
	}
}

static void
read_limit_hint(struct limit *l, struct words *w)
{
	if (words_take(w, "none")) {
		l->hint = LIMIT_HINT_NONE;
	} else if (words_take(w, "true")) {
		l->hint = words_take(w, "ms") ? LIMIT_HINT_MS : LIMIT_HINT_S;
	} else {
		l->hint = LIMIT_HINT_FIXED;
		l->hint_us = words_time_us(w);
	}
}

static void
read_limit_kind(struct limit *l, struct words *w)
{
	struct bucket_rate r;

	if (words_take(w, "concurrency")) {
		l->kind = LIMIT_CONCURRENCY;
		l->count = words_count(w);
		return;
	}
	if (words_take(w, "window")) {
		l->kind = LIMIT_WINDOW;
		l->count = words_count(w);
		words_need(w, "per");
		l->per_us = words_time_us(w);
		return;
	}
	r = words_rate(w);
	l->kind = LIMIT_BUCKET;
	l->count = (int64_t)r.count;
	l->per_us = r.per_ms * 1000;
	l->burst = r.burst ? (int64_t)r.burst : 1;
}

void
scene_limit(struct service_def *d, struct words *w)
{
	struct limit *l = &d->limit;

	*l = (struct limit){.status = 429, .hint = LIMIT_HINT_S};
	read_limit_kind(l, w);
	while (!words_end(w)) {
		if (words_take(w, "status"))
			l->status = (int)words_count(w);
		else if (words_take(w, "hint"))
			read_limit_hint(l, w);
		else if (words_take(w, "after"))
			l->after_us = words_time_us(w);
		else if (words_take(w, "refusal-after"))
			l->refuse_after_us = words_time_us(w);
		else if (words_take(w, "tells"))
			l->tells = true;
		else
			words_done(w);
	}
}
