/* SPDX-License-Identifier: MIT */
/*
 * scene decides which statement a line is. What upstreams and events are made
 * of is in scene_upstream.c and scene_action.c, what is expected in
 * expect_parse.c.
 */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#include "policy/instant.h"

#define WALL_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

struct reader {
	struct scene *scene;
	struct settings defaults;
	struct service_def *service;  /* whose settings follow, or NULL */
	struct service_def *upstream; /* whose steps may go on */
	struct words words;
};

void *
scene_grow(void *v, unsigned n, size_t size)
{
	/* Doubles at powers of two. */
	if (n & (n - 1))
		return v;
	v = realloc(v, (n ? 2 * (size_t)n : 1) * size);
	if (!v)
		abort();
	return v;
}

int
scene_service(const struct scene *s, struct words *w)
{
	const char *name = words_next(w, "a service");

	for (int i = 0; i < s->nservices; i++)
		if (strcmp(s->services[i].name, name) == 0)
			return i;
	words_bad(w, "no service '%s'", name);
}

int
scene_client(struct scene *s, const char *name)
{
	for (unsigned i = 0; i < s->nclients; i++)
		if (strcmp(s->clients[i], name) == 0)
			return (int)i;
	s->clients = scene_grow(s->clients, s->nclients, sizeof(*s->clients));
	snprintf(s->clients[s->nclients], NAME_BYTES, "%s", name);
	return (int)s->nclients++;
}

int
scene_crowd(struct scene *s, unsigned n)
{
	int first = (int)s->nclients;

	for (unsigned i = 0; i < n; i++) {
		s->clients =
		    scene_grow(s->clients, s->nclients, sizeof(*s->clients));
		snprintf(s->clients[s->nclients], NAME_BYTES, "c%u",
		    s->nclients + 1);
		s->nclients++;
	}
	return first;
}

static void
read_service(struct reader *rd)
{
	struct scene *s = rd->scene;
	struct service_def *d;

	if (s->nservices == SERVICES_MAX)
		words_bad(&rd->words, "too many services");
	d = &s->services[s->nservices++];
	*d = (struct service_def){.settings = rd->defaults};
	snprintf(d->name, sizeof(d->name), "%s",
	    words_next(&rd->words, "a name"));
	rd->service = d;
}

static void
read_random(struct scene *s, struct words *w)
{
	const char *text;
	char *end;

	if (words_take(w, "seed")) {
		s->random = -1;
		s->seed = (uint64_t)words_count(w);
		return;
	}
	text = words_next(w, "a draw");
	s->random = strtod(text, &end);
	if (*end || s->random < 0 || s->random > 1)
		words_bad(w, "random takes 0 .. 1 or seed N");
	if (s->random >= 1)
		s->random = 1 - 0x1.0p-53; /* the draws are below 1 */
}

static void
read_wall(struct scene *s, struct words *w)
{
	struct instant at;

	if (instant_parse(span_of(words_next(w, "a time")), &at) < 0)
		words_bad(w, "wall takes a time as 2026-01-01T00:00:00Z");
	s->wall_ms = at.ms;
}

/* Statements about the whole. False: this is none. */
static bool
read_global(struct scene *s, struct words *w)
{
	if (words_take(w, "engines")) {
		s->engines = (unsigned)words_count(w);
	} else if (words_take(w, "random")) {
		read_random(s, w);
	} else if (words_take(w, "wall")) {
		read_wall(s, w);
	} else if (words_take(w, "clock")) {
		words_need(w, "fine");
		s->fine = true;
	} else if (words_take(w, "max_parked")) {
		words_need(w, "=");
		s->max_parked = (unsigned)words_count(w);
	} else if (words_take(w, "max_body_memory")) {
		words_need(w, "=");
		s->max_body_memory = (uint64_t)words_size(w);
	} else if (words_take(w, "disk")) {
		words_need(w, "full");
		words_need(w, "after");
		s->disk_bytes = (uint64_t)words_size(w);
	} else if (words_take(w, "fail")) {
		words_need(w, "every");
		words_need(w, "alloc");
		s->fail_allocs = true;
	} else {
		return false;
	}
	return true;
}

static void
read_expect(struct scene *s, struct words *w, const char *line)
{
	s->expects = scene_grow(s->expects, s->nexpects, sizeof(*s->expects));
	expect_parse(&s->expects[s->nexpects++], s, w, line);
}

static void
read_setting(struct reader *rd)
{
	const char *key = words_next(&rd->words, "a statement");
	struct settings *to =
	    rd->service ? &rd->service->settings : &rd->defaults;

	if (words_end(&rd->words))
		words_bad(&rd->words, "'%s' is not understood", key);
	if (!settings_set(to, key, &rd->words))
		words_bad(&rd->words, "no setting '%s'", key);
}

static void
read_line(struct reader *rd, const char *line)
{
	struct words *w = &rd->words;
	struct scene *s = rd->scene;

	if (words_end(w) || read_global(s, w))
		return;
	if (words_take(w, "service")) {
		read_service(rd);
	} else if (words_take(w, "upstream")) {
		rd->upstream = &s->services[scene_service(s, w)];
		scene_steps(s, rd->upstream, w);
	} else if (words_take(w, "|") && rd->upstream) {
		scene_steps(s, rd->upstream, w);
	} else if (words_take(w, "limit")) {
		scene_limit(&s->services[scene_service(s, w)], w);
	} else if (words_take(w, "at")) {
		scene_action(s, w, line);
	} else if (words_take(w, "expect")) {
		read_expect(s, w, line);
	} else {
		read_setting(rd);
	}
}

void
scene_load(struct scene *s, const char *file)
{
	struct reader rd = {.scene = s};
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(file, "r");

	if (!f) {
		perror(file);
		exit(2);
	}
	*s = (struct scene){
	    .file = file,
	    .engines = 1,
	    .wall_ms = WALL_MS,
	    .max_parked = UINT32_MAX,
	    .max_body_memory = UINT64_MAX,
	    .disk_bytes = UINT64_MAX,
	};
	settings_init(&rd.defaults);
	for (int n = 1; fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = '\0';
		words_split(&rd.words, file, n, line);
		read_line(&rd, line);
		words_done(&rd.words);
	}
	fclose(f);
	if (s->nservices == 0 || s->nactions == 0 ||
	    (s->nexpects == 0 && !s->fail_allocs))
		words_bad(&rd.words,
		    "a scenario needs a service, something "
		    "that happens and something that is expected");
}

void
scene_free(struct scene *s)
{
	for (int i = 0; i < s->nservices; i++)
		free(s->services[i].steps);
	for (unsigned i = 0; i < s->nexpects; i++)
		expect_free(&s->expects[i]);
	free(s->versions);
	free(s->actions);
	free(s->expects);
	free(s->clients);
}
