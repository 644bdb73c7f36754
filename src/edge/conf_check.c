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
#include "edge/dest.h"

/* Where a value comes from, for a service that may have inherited it. */
struct origin {
	const struct conf_option *opt;
	const struct conf_setting *set; /* NULL: the built-in default */
	bool own;                       /* of this section or its preset */
	bool lent;                      /* of its preset */
};

static struct origin
origin_of(const struct conf_draft *d, const struct conf_section *sec,
    const char *key)
{
	struct origin o = {.opt = conf_option_find(sec->in, span_of(key))};
	size_t i = conf_option_index(o.opt);

	o.set = sec->slots[i].first;
	if (o.set == NULL && sec->preset != NULL) {
		o.set = sec->preset->slots[i].first;
		o.lent = o.set != NULL;
	}
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

/*
 * Short <= long, or a problem at the one that this section gives. What comes
 * from [defaults] was written without knowledge of the preset, and gives way.
 */
static void
check_order(struct conf_draft *d, const struct conf_section *sec,
    const char *short_key, int64_t *short_ms, const char *long_key,
    int64_t *long_ms)
{
	struct origin s = origin_of(d, sec, short_key);
	struct origin l = origin_of(d, sec, long_key);
	char place[CONF_WHERE_MAX];

	if (*short_ms <= *long_ms || is_bad(&s) || is_bad(&l))
		return;
	if (s.lent && !l.own) {
		*long_ms = *short_ms;
		return;
	}
	if (l.lent && !s.own) {
		*short_ms = *long_ms;
		return;
	}
	/* Of two layers the upper one is to blame. */
	if (s.own && !(s.lent && l.own && !l.lent))
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
	s->policy.service.has_rate = rates->n > 0 || adapt_on(&s->policy.adapt);
	if (sec->in == CONF_IN_SERVICE && burst.own && !used &&
	    !(burst.lent && rate.own && !rate.lent) && !is_bad(&rate) &&
	    !is_bad(&burst))
		conf_problem(d->problems, burst.set->where,
		    "burst (%s) has no effect: service '%s' has no rate "
		    "without a burst of its own",
		    text_of(&burst), sec->name);
}

static void
finish_route(struct conf_draft *d, struct conf *c,
    const struct conf_section *sec, struct conf_service *s)
{
	struct origin route = origin_of(d, sec, "route");
	struct origin hosts = origin_of(d, sec, "hosts");
	struct origin preset = origin_of(d, sec, "preset");
	struct span host;

	if (s->route == NULL && s->nhosts == 0 && !route.own && !hosts.own &&
	    !is_bad(&preset)) {
		conf_problem(d->problems, sec->where,
		    "service '%s' has neither hosts nor a route, so no request "
		    "belongs to it; add hosts",
		    s->name);
		return;
	}
	if (s->route == NULL)
		return;
	for (size_t i = 0; i < s->nhosts; i++) {
		const char *why;
		uint16_t port;

		if (value_plain_host(span_of(s->hosts[i]), &host, &port,
			&why) != 0)
			continue;
		s->route_host = conf_pool_dup(&c->pool, host);
		s->route_port = port               ? port
		    : s->tls == CONF_TLS_ORIGINATE ? 443
						   : 80;
		return;
	}
	if (!is_bad(&hosts))
		conf_problem(d->problems, route.set->where,
		    "route (%s) leads nowhere: hosts of service '%s' names no "
		    "host without a wildcard; add one",
		    s->route, s->name);
}

/* --- TLS ----------------------------------------------------------------- */

/*
 * A certificate and its key come from one section: a key of another layer would
 * hardly fit. One of them taken away takes the other along.
 */
static void
finish_pair(struct conf_draft *d, const struct conf_section *sec,
    const char *cert_key, const char *key_key, struct conf_file *cert,
    struct conf_file *key)
{
	struct origin c = origin_of(d, sec, cert_key);
	struct origin k = origin_of(d, sec, key_key);
	bool has_cert = c.own && cert->path, has_key = k.own && key->path;

	if (is_bad(&c) || is_bad(&k) || (!c.own && !k.own))
		return;
	if (has_cert && !has_key)
		conf_problem(d->problems, c.set->where,
		    "%s without %s; give both", cert_key, key_key);
	else if (has_key && !has_cert)
		conf_problem(d->problems, k.set->where,
		    "%s without %s; give both", key_key, cert_key);
	else if (!has_cert)
		*cert = *key = (struct conf_file){.path = NULL};
}

void
conf_check_upstream(struct conf_draft *d, const struct conf_section *sec,
    struct conf_service *s)
{
	finish_pair(d, sec, "upstream_cert", "upstream_key", &s->upstream_cert,
	    &s->upstream_key);
}

/* Whether [tls] has a pair, or something wrong in its place, told already. */
static bool
has_pair(const struct conf_draft *d, const char *cert_key, const char *key_key,
    const struct conf_file *cert, const struct conf_file *key)
{
	struct origin c = origin_of(d, &d->tls, cert_key);
	struct origin k = origin_of(d, &d->tls, key_key);

	return cert->path || key->path || is_bad(&c) || is_bad(&k);
}

static void
check_tls_word(struct conf_draft *d, const struct conf *c,
    const struct conf_section *sec, struct conf_service *s)
{
	struct origin tls = origin_of(d, sec, "tls");

	s->tls_unread = s->preset && s->tls == CONF_TLS_TUNNEL && !tls.own;
	if (!tls.own || is_bad(&tls) || s->tls == CONF_TLS_TUNNEL)
		return;
	if (sec->in == CONF_IN_DEFAULTS)
		conf_problem(d->problems, tls.set->where,
		    "tls (%s) in [defaults] would take in every host; give it "
		    "to a [service NAME] with their names, or with hosts = *",
		    text_of(&tls));
	else if (s->tls == CONF_TLS_INTERCEPT &&
	    !has_pair(d, "ca_cert", "ca_key", &c->ca_cert, &c->ca_key))
		conf_problem(d->problems, tls.set->where,
		    "tls (intercept) " CONF_WANTS_CA "; "
		    "\"abidectl ca init\" makes both files");
}

/* A listener for TLS has something to show. */
static void
check_listeners(struct conf_draft *d, const struct conf *c)
{
	const struct conf_setting *set = origin_of(d, &d->proxy, "listen").set;

	if (has_pair(d, "listen_cert", "listen_key", &c->listen_cert,
		&c->listen_key))
		return;
	for (; set != NULL; set = set->next) {
		struct span rest = span_of(set->value), item;

		while (value_next_item(&rest, &item)) {
			if (!set->bad && span_starts(item, SPAN("tls:")))
				conf_problem(d->problems, set->where,
				    "listen '%.*s' needs listen_cert and "
				    "listen_key in [tls]",
				    SPAN_ARG(item));
		}
	}
}

/* --- the whole ----------------------------------------------------------- */

void
conf_check_tls(struct conf_draft *d, struct conf *c)
{
	finish_pair(d, &d->tls, "ca_cert", "ca_key", &c->ca_cert, &c->ca_key);
	finish_pair(d, &d->tls, "listen_cert", "listen_key", &c->listen_cert,
	    &c->listen_key);
	check_listeners(d, c);
}

/* Other names than "localhost" are looked at when they are dialled. */
static void
check_parent(struct conf_draft *d, const struct conf *c,
    const struct conf_section *sec, const struct conf_service *s)
{
	struct origin o = origin_of(d, sec, "parent_proxy");
	const struct conf_parent *p = &s->parent;

	if (o.own && !is_bad(&o) && p->host &&
	    dest_host_is_self(c, span_of(p->host), p->port))
		conf_problem(d->problems, o.set->where,
		    "parent_proxy (%s) is this proxy itself, by listen; name "
		    "another one, or none",
		    p->text);
}

/* strategy = custom and script go together; each may be inherited. */
static void
check_script(struct conf_draft *d, const struct conf_section *sec,
    const struct conf_service *s)
{
	struct origin strategy = origin_of(d, sec, "strategy");
	struct origin script = origin_of(d, sec, "script");
	bool custom = s->policy.backoff.strategy == STRATEGY_CUSTOM;
	const struct origin *o = strategy.own ? &strategy : &script;

	if (is_bad(&strategy) || is_bad(&script))
		return;
	if (custom && s->script_file.path == NULL && o->own)
		conf_problem(d->problems, o->set->where,
		    "strategy (custom) needs a script; script = PATH names its "
		    "Lua file");
	else if (!custom && s->script_file.path != NULL && script.own &&
	    sec->in == CONF_IN_SERVICE)
		conf_problem(d->problems, script.set->where,
		    "script (%s) has no effect: strategy is %s; set strategy = "
		    "custom",
		    text_of(&script), text_of(&strategy));
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
	check_order(d, sec, "base_delay", &p->backoff.base_ms, "max_delay",
	    &p->backoff.max_ms);
	check_order(d, sec, "max_wait", &p->max_wait_ms, "deadline",
	    &p->deadline_ms);
	check_order(d, sec, "queue_timeout", &p->queue_timeout_ms, "deadline",
	    &p->deadline_ms);
	p->service.half_open_ms = SERVICE_HALF_OPEN_MS;
	finish_rates(d, sec, s);
	check_script(d, sec, s);
	check_tls_word(d, c, sec, s);
	check_parent(d, c, sec, s);
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
