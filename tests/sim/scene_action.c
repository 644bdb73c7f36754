/* SPDX-License-Identifier: MIT */
/*
 * scene_action reads what happens at a point in time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "scene.h"

static void
copy_name(struct words *w, char to[NAME_BYTES], const char *what)
{
	const char *name = words_next(w, what);

	if (strlen(name) >= NAME_BYTES)
		words_bad(w, "'%s' is too long", name);
	snprintf(to, NAME_BYTES, "%s", name);
}

static void
read_from(struct scene *s, struct words *w, struct action *a)
{
	if (words_is_number(w)) {
		a->nclients = (unsigned)words_count(w);
		words_need(w, "clients");
		a->client = scene_crowd(s, a->nclients);
	} else {
		a->client = scene_client(s, words_next(w, "a client"));
	}
}

static void
read_field(struct words *w, struct action *a)
{
	size_t n = strlen(a->fields);

	if (!words_is_quoted(w))
		words_bad(w, "a field stands in quotes");
	snprintf(a->fields + n, sizeof(a->fields) - n, "%s\r\n",
	    words_next(w, "a field"));
}

static bool
read_request_body(struct words *w, struct action *a)
{
	if (words_take(w, "body"))
		a->body_bytes = (uint64_t)words_size(w);
	else if (words_take(w, "over"))
		a->body_over_us = words_time_us(w);
	else if (words_take(w, "chunked"))
		a->chunked = true;
	else
		return false;
	return true;
}

static void
read_request_part(struct scene *s, struct words *w, struct action *a)
{
	if (read_request_body(w, a))
		return;
	if (words_take(w, "from"))
		read_from(s, w, a);
	else if (words_take(w, "every"))
		a->every_us = words_time_us(w);
	else if (words_take(w, "key"))
		copy_name(w, a->key, "a key");
	else if (words_take(w, "path"))
		copy_name(w, a->path, "a path");
	else if (words_take(w, "priority"))
		a->urgency = (int)words_count(w);
	else if (words_take(w, "field"))
		read_field(w, a);
	else if (words_take(w, "max-wait"))
		a->max_wait_ms = words_time_us(w) / 1000;
	else if (words_take(w, "max-retries"))
		a->max_retries = (int)words_count(w);
	else if (words_take(w, "engine"))
		a->engine = (int)words_count(w);
	else if (words_take(w, "tunnel"))
		a->tunnel_us = words_time_us(w);
	else
		words_done(w);
}

static void
read_requests(struct scene *s, struct words *w, struct action *a)
{
	a->kind = ACTION_REQUESTS;
	a->n = a->nclients = 1;
	a->client = -1;
	a->urgency = 3;
	a->max_wait_ms = a->max_retries = a->engine = -1;
	if (words_is_number(w))
		a->n = (unsigned)words_count(w);
	if (!words_take(w, "requests"))
		words_need(w, "request");
	copy_name(w, a->method, "a method");
	a->service = scene_service(s, w);
	while (!words_end(w))
		read_request_part(s, w, a);
	if (a->client < 0)
		a->client = scene_client(s, "A");
}

static void
read_client(struct scene *s, struct words *w, struct action *a)
{
	a->client = scene_client(s, words_next(w, "a client"));
	a->kind = ACTION_LEAVE;
	if (words_take(w, "half-closes"))
		a->kind = ACTION_HALF_CLOSE;
	else
		words_need(w, "leaves");
}

static void
read_reload(struct scene *s, struct words *w, struct action *a)
{
	struct version *v;

	a->kind = ACTION_RELOAD;
	a->service = scene_service(s, w);
	a->version = s->nversions;
	s->versions =
	    scene_grow(s->versions, s->nversions, sizeof(*s->versions));
	v = &s->versions[s->nversions++];
	v->service = a->service;
	v->settings = s->services[a->service].settings;
	while (!words_end(w)) {
		const char *key = words_next(w, "a setting");

		if (!settings_set(&v->settings, key, w))
			words_bad(w, "no setting '%s'", key);
	}
}

static void
read_wall_jump(struct words *w, struct action *a)
{
	a->kind = ACTION_WALL;
	words_need(w, "jump");
	if (words_take(w, "back"))
		a->time_us = -words_time_us(w);
	else
		a->time_us = words_time_us(w);
}

static void
read_hand(struct scene *s, struct words *w, struct action *a)
{
	a->service = scene_service(s, w);
	if (a->kind != ACTION_HOLD)
		return;
	words_need(w, "until");
	a->time_us = words_time_us(w);
}

static void
read_look(struct scene *s, struct words *w, struct action *a, const char *line)
{
	a->kind = ACTION_LOOK;
	a->expect = s->nexpects;
	s->expects = scene_grow(s->expects, s->nexpects, sizeof(*s->expects));
	expect_parse(&s->expects[s->nexpects++], s, w, line);
	s->expects[a->expect].is_look = true;
}

static void
read_kind(struct scene *s, struct words *w, struct action *a, const char *line)
{
	if (words_take(w, "client")) {
		read_client(s, w, a);
	} else if (words_take(w, "drain")) {
		a->kind = ACTION_DRAIN;
		words_need(w, "within");
		a->time_us = a->at_us + words_time_us(w);
	} else if (words_take(w, "reload")) {
		read_reload(s, w, a);
	} else if (words_take(w, "wall")) {
		read_wall_jump(w, a);
	} else if (words_take(w, "hold")) {
		a->kind = ACTION_HOLD;
		read_hand(s, w, a);
	} else if (words_take(w, "release")) {
		a->kind = ACTION_RELEASE;
		read_hand(s, w, a);
	} else if (words_take(w, "disk")) {
		a->kind = ACTION_DISK;
		words_need(w, "unreadable");
	} else if (words_take(w, "expect")) {
		read_look(s, w, a, line);
	} else {
		read_requests(s, w, a);
	}
}

static void
add_action(struct scene *s, const struct action *a)
{
	s->actions = scene_grow(s->actions, s->nactions, sizeof(*s->actions));
	s->actions[s->nactions++] = *a;
}

/* "every": one by one. */
static void
add_spread(struct scene *s, const struct action *a)
{
	struct action one = *a;

	one.n = one.nclients = 1;
	for (unsigned i = 0; i < a->n; i++) {
		one.at_us = a->at_us + i * a->every_us;
		one.client = a->client + (int)(i % a->nclients);
		add_action(s, &one);
	}
}

void
scene_action(struct scene *s, struct words *w, const char *line)
{
	struct action a = {.line = w->line};

	a.at_us = words_time_us(w);
	(void)words_take(w, ":");
	read_kind(s, w, &a, line);
	if (a.kind == ACTION_REQUESTS && a.every_us)
		add_spread(s, &a);
	else
		add_action(s, &a);
}
