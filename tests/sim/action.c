/* SPDX-License-Identifier: MIT */
/*
 * action does what the scenario says happens: to clients, to the service, to
 * the clock of the wall.
 */
#include "world.h"

static void
run_requests(struct world *w, const struct action *a)
{
	for (unsigned i = 0; i < a->n; i++)
		job_arrive(w, a, i);
}

/* The requests of one client that are not over. */
static void
run_client(struct world *w, const struct action *a)
{
	for (unsigned i = 0; i < w->njobs; i++) {
		struct job *j = w->jobs[i];

		if (j->client != a->client || j->end != JOB_OPEN)
			continue;
		if (a->kind == ACTION_LEAVE)
			job_leave(j);
		else
			job_half_close(j);
	}
}

/* The rules have changed: every worker looks at its lines afresh. */
static void
recheck(struct world *w)
{
	for (unsigned i = 0; i < w->scene->engines; i++) {
		if (w->stopped[i])
			continue;
		world_enter(w, &w->engines[i]);
		engine_recheck(&w->engines[i]);
	}
}

static void
run_reload(struct world *w, const struct action *a)
{
	const struct version *v = &w->scene->versions[a->version];
	const struct service_def *d = &w->scene->services[v->service];
	struct settings *s = world_settings(w, &v->settings);
	struct key_cfg cfg = settings_key_cfg(s);

	if (!keys_group(&w->shared.keys, span_of(d->name), &cfg,
		w->now_us / 1000))
		return; /* no memory: what is in force stays */
	w->settings[v->service] = s;
	recheck(w);
}

static void
run_drain(struct world *w, const struct action *a)
{
	w->draining = true;
	for (unsigned i = 0; i < w->scene->engines; i++) {
		world_enter(w, &w->engines[i]);
		engine_drain(&w->engines[i], a->time_us / 1000);
	}
}

/* An operator's hand on every key of the service. */
static void
run_hand(struct world *w, const struct action *a)
{
	struct keygroup *g = w->groups[a->service];
	struct map_node *n = NULL;
	size_t pos = 0;

	while ((n = map_walk(&g->map, &pos, n))) {
		struct key *k = AB_CONTAINER(n, struct key, node);

		pthread_mutex_lock(&k->lock);
		if (a->kind == ACTION_HOLD)
			service_hold(&k->service, a->time_us / 1000);
		else
			service_release(&k->service);
		pthread_mutex_unlock(&k->lock);
	}
	recheck(w);
	for (unsigned i = 0; i < w->nlanes && a->kind == ACTION_RELEASE; i++)
		if (w->lanes[i]->service == a->service)
			w->lanes[i]->hint_until_us = 0;
}

void
action_run(struct world *w, void *arg)
{
	const struct action *a = arg;

	switch (a->kind) {
	case ACTION_REQUESTS:
		run_requests(w, a);
		break;
	case ACTION_LEAVE:
	case ACTION_HALF_CLOSE:
		run_client(w, a);
		break;
	case ACTION_DRAIN:
		run_drain(w, a);
		break;
	case ACTION_RELOAD:
		run_reload(w, a);
		break;
	case ACTION_WALL:
		w->wall_us += a->time_us;
		break;
	case ACTION_HOLD:
	case ACTION_RELEASE:
		run_hand(w, a);
		break;
	case ACTION_DISK:
		w->disk_unreadable = true;
		break;
	case ACTION_LOOK:
		if (w->nlooks < LOOKS_MAX)
			w->looks[w->nlooks++] = &w->scene->expects[a->expect];
		break;
	}
}
