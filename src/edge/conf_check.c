/* SPDX-License-Identifier: MIT */
/*
 * conf_check.c: values that must fit together.
 *
 * Decides which values contradict each other, and fills in those that follow
 * from others. What contradicts is reported where it was written: by a service
 * only for what that service says itself, so that a mistake in [defaults] is
 * one problem and not one per service.
 */
#include "edge/conf_build.h"

#include "edge/conf_value.h"
#include "policy/pattern.h"

/* Where a value comes from, for a service that may have inherited it. */
struct origin {
	const struct conf_option *opt;
	const struct conf_setting *set; /* NULL: the built-in default */
	bool own;                       /* of this very section */
};

static struct origin
origin_of(const struct conf_draft *d, const struct conf_section *sec,
    const char *key)
{
	struct origin o = {.opt = conf_option_find(sec->in, span_of(key))};
	size_t i = conf_option_index(o.opt);

	o.set = sec->slots[i].first;
	o.own = o.set != NULL;
	if (o.set == NULL)
		o.set = d->defaults.slots[i].first;
	return o;
}

static bool
is_bad(const struct origin *o)
{
	return o->set != NULL && o->set->bad;
}

static const char *
text_of(const struct origin *o)
{
	return o->set != NULL ? o->set->value : o->opt->def;
}

/* "the default", or where it was written. */
static const char *
place_of(const struct origin *o, char buf[CONF_WHERE_MAX])
{
	return o->set ? conf_where_text(o->set->where, buf) : "the default";
}

/* Short <= long, or a problem at the one that this section gives. */
static void
check_order(struct conf_draft *d, const struct conf_section *sec,
    const char *short_key, int64_t short_ms, const char *long_key,
    int64_t long_ms)
{
	struct origin s = origin_of(d, sec, short_key);
	struct origin l = origin_of(d, sec, long_key);
	char place[CONF_WHERE_MAX];

	if (short_ms <= long_ms || is_bad(&s) || is_bad(&l))
		return;
	if (s.own)
		conf_problem(d->problems, s.set->where,
		    "%s (%s) is longer than %s (%s, %s); lower it or raise %s",
		    short_key, text_of(&s), long_key, text_of(&l),
		    place_of(&l, place), long_key);
	else if (l.own)
		conf_problem(d->problems, l.set->where,
		    "%s (%s) is shorter than %s (%s, %s); raise it or lower %s",
		    long_key, text_of(&l), short_key, text_of(&s),
		    place_of(&s, place), short_key);
}

/*
 * The burst of rates without their own. A burst in [defaults] may be meant for
 * the rates of services: conf_check_whole asks.
 */
static void
finish_rates(struct conf_draft *d, const struct conf_section *sec,
    struct conf_service *s)
{
	struct bucket_cfg *rates = &s->policy.bucket;
	struct origin burst = origin_of(d, sec, "burst");
	struct origin rate = origin_of(d, sec, "rate");
	bool used = false;

	for (unsigned i = 0; i < rates->n; i++) {
		if (rates->v[i].burst == 0) {
			rates->v[i].burst = s->burst;
			used = true;
		}
	}
	s->policy.service.has_rate = rates->n > 0;
	if (sec->in == CONF_IN_SERVICE && burst.own && !used &&
	    !is_bad(&rate) && !is_bad(&burst))
		conf_problem(d->problems, burst.set->where,
		    "burst (%s) has no effect: service '%s' has no rate "
		    "without a burst of its own",
		    text_of(&burst), sec->name);
}

/* The host of a pattern that is no wildcard, without brackets and port. */
static bool
plain_host(struct span pattern, struct span *ret_host, uint16_t *ret_port)
{
	struct pattern p;
	struct span rest = pattern;

	if (pattern_parse(pattern, &p) != NULL || p.is_any || p.is_wildcard)
		return false;
	bool bracket = pattern.p[0] == '[';
	if (bracket)
		rest = (struct span){pattern.p + 1, pattern.n - 1};
	(void)span_cut(&rest, bracket ? ']' : ':', ret_host);
	*ret_port = p.port ? p.port : 80;
	return true;
}

static void
finish_route(struct conf_draft *d, struct conf *c,
    const struct conf_section *sec, struct conf_service *s)
{
	struct origin route = origin_of(d, sec, "route");
	struct origin hosts = origin_of(d, sec, "hosts");
	struct span host;

	if (s->route == NULL && s->nhosts == 0 && !route.own && !hosts.own) {
		conf_problem(d->problems, sec->where,
		    "service '%s' has neither hosts nor a route, so no request "
		    "belongs to it; add hosts",
		    s->name);
		return;
	}
	if (s->route == NULL)
		return;
	for (size_t i = 0; i < s->nhosts; i++) {
		if (plain_host(span_of(s->hosts[i]), &host, &s->route_port)) {
			s->route_host = conf_pool_dup(&c->pool, host);
			return;
		}
	}
	if (!is_bad(&hosts))
		conf_problem(d->problems, route.set->where,
		    "route (%s) leads nowhere: hosts of service '%s' names no "
		    "host without a wildcard; add one",
		    s->route, s->name);
}

void
conf_check_service(struct conf_draft *d, struct conf *c,
    const struct conf_section *sec, struct conf_service *s)
{
	struct policy *p = &s->policy;

	if (p->max_wait_ms == CONF_AS_DEADLINE)
		p->max_wait_ms = p->deadline_ms;
	if (p->queue_timeout_ms == CONF_AS_DEADLINE)
		p->queue_timeout_ms = p->deadline_ms;
	check_order(d, sec, "base_delay", p->backoff.base_ms, "max_delay",
	    p->backoff.max_ms);
	check_order(d, sec, "max_wait", p->max_wait_ms, "deadline",
	    p->deadline_ms);
	check_order(d, sec, "queue_timeout", p->queue_timeout_ms, "deadline",
	    p->deadline_ms);
	p->service.half_open_ms = SERVICE_HALF_OPEN_MS;
	finish_rates(d, sec, s);
	if (sec->in == CONF_IN_SERVICE)
		finish_route(d, c, sec, s);
}

void
conf_check_whole(struct conf_draft *d, struct conf *c)
{
	struct origin burst = origin_of(d, &d->defaults, "burst");
	struct origin rate = origin_of(d, &d->defaults, "rate");
	bool any = c->defaults.policy.bucket.n > 0 || rate.own;

	for (const struct conf_section *s = d->services; s; s = s->next)
		any = any || origin_of(d, s, "rate").own;
	if (burst.own && !any && !is_bad(&burst))
		conf_problem(d->problems, burst.set->where,
		    "burst (%s) has no effect: there is no rate; add one",
		    text_of(&burst));
}
