/* SPDX-License-Identifier: MIT */
/*
 * conf_set_policy.c: values of [defaults] and [service NAME] that are no plain
 * numbers, from text to field.
 *
 * Decides what a status list, a hint source, a rate, a host pattern and a key
 * look like. Whether values fit together is asked later, in conf_check.c.
 */
#include "edge/conf_set.h"
#include "edge/conf_value.h"

#define HINT_SOURCES_MAX 32
#define PATH_DEPTH_MAX 16

static int
add_status(struct conf_setter *to, struct verdict_statuses *s, struct span item)
{
	uint64_t v;

	if (value_count(item, &v, &to->why) != 0)
		return CONF_SET_BAD;
	if (v < (uint64_t)to->opt->min || v > (uint64_t)to->opt->max)
		return conf_set_bad(to, "out of range");
	if (verdict_statuses_has(s, (int)v))
		return CONF_SET_OK;
	if (s->n == VERDICT_STATUSES_MAX)
		return conf_set_bad(to, "more than 32 statuses");
	s->v[s->n++] = (short)v;
	return CONF_SET_OK;
}

int
conf_set_statuses(struct conf_setter *to, struct span item)
{
	struct verdict_statuses *s = conf_field(to);

	if (item.p == NULL) {
		s->n = 0;
		return CONF_SET_OK;
	}
	return add_status(to, s, item);
}

int
conf_set_non_idempotent(struct conf_setter *to, struct span item)
{
	struct verdict_cfg *cfg = conf_field(to);

	if (item.p == NULL) {
		cfg->retry_non_idempotent.n = 0;
		cfg->non_idempotent_always = false;
		return CONF_SET_OK;
	}
	if (span_eq(item, SPAN("never")))
		return CONF_SET_OK;
	if (span_eq(item, SPAN("always"))) {
		cfg->non_idempotent_always = true;
		return CONF_SET_OK;
	}
	return add_status(to, &cfg->retry_non_idempotent, item);
}

int
conf_set_hints(struct conf_setter *to, struct span item)
{
	struct hint_cfg *cfg = conf_field(to);
	struct hint_source source;
	const char *why, *text;
	int rc;

	if (item.p == NULL) {
		*cfg = (struct hint_cfg){.v = NULL};
		return CONF_SET_OK;
	}
	if (hint_source_parse(item, &source, &why))
		return conf_set_bad(to, why);
	if (cfg->n == HINT_SOURCES_MAX)
		return conf_set_bad(to, "more than 32 fields");
	rc = conf_set_text(to, source.name, &text);
	if (rc != CONF_SET_OK)
		return rc;
	source.name = span_of(text);
	/* The array came from this function, so it is ours to write to. */
	struct hint_source *v = conf_pool_grow(&to->conf->pool,
	    (struct hint_source *)(uintptr_t)cfg->v, cfg->n, sizeof(*v));
	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	v[cfg->n++] = source;
	cfg->v = v;
	return CONF_SET_OK;
}

int
conf_set_rate(struct conf_setter *to, struct span item)
{
	struct bucket_cfg *cfg = conf_field(to);
	struct bucket_rate rate;

	if (item.p == NULL) {
		cfg->n = 0;
		return CONF_SET_OK;
	}
	if (value_rate(item, &rate, &to->why) != 0)
		return CONF_SET_BAD;
	if (cfg->n == BUCKET_RATES_MAX)
		return conf_set_bad(to, "more than 8 rates");
	cfg->v[cfg->n++] = rate;
	return CONF_SET_OK;
}

int
conf_set_floor(struct conf_setter *to, struct span item)
{
	double *per_ms = conf_field(to);
	struct bucket_rate rate;

	if (value_rate(item, &rate, &to->why) != 0)
		return CONF_SET_BAD;
	if (rate.burst != 0)
		return conf_set_bad(to, "it takes no burst");
	*per_ms = (double)rate.count / (double)rate.per_ms;
	return CONF_SET_OK;
}

/* What rules_add_* said, as the result of a set function. */
static int
rules_said(struct conf_setter *to, enum rules_result result,
    const struct conf_service *other)
{
	switch (result) {
	case RULES_OK:
		return CONF_SET_OK;
	case RULES_BAD:
		return CONF_SET_BAD;
	case RULES_NO_MEMORY:
		return CONF_SET_NO_MEMORY;
	case RULES_DUPLICATE:
		break;
	}
	if (other == to->service)
		return conf_set_told(to,
		    "listed twice in this service; take one out");
	to->clash = other;
	return conf_set_told(to,
	    "service '%s' has it already; one of '%s' and '%s' must let it go",
	    other->name, other->name, to->service->name);
}

int
conf_set_hosts(struct conf_setter *to, struct span item)
{
	struct conf_service *s = to->service;
	void *other = NULL;

	if (item.p == NULL) {
		s->hosts = NULL;
		s->nhosts = 0;
		return CONF_SET_OK;
	}
	if (!to->aside) {
		enum rules_result said =
		    rules_add_host(&to->conf->rules, item, s, &other, &to->why);
		int rc = rules_said(to, said, other);
		if (rc != CONF_SET_OK)
			return rc;
	}
	const char **v = conf_pool_grow(&to->conf->pool, s->hosts, s->nhosts,
	    sizeof(*s->hosts));
	if (v == NULL)
		return CONF_SET_NO_MEMORY;
	s->hosts = v;
	int rc = conf_set_text(to, item, &v[s->nhosts]);
	if (rc == CONF_SET_OK)
		s->nhosts++;
	return rc;
}

int
conf_set_route(struct conf_setter *to, struct span item)
{
	void *other = NULL;

	if (!to->aside) {
		enum rules_result said = rules_add_route(&to->conf->rules, item,
		    to->service, &other, &to->why);
		int rc = rules_said(to, said, other);
		if (rc != CONF_SET_OK)
			return rc;
	}
	return conf_set_text(to, item, &to->service->route);
}

static int
key_part(struct conf_setter *to, struct span item, struct policy_key_part *ret)
{
	struct span arg = item, kind;
	uint64_t depth = 0;

	if (!span_cut(&arg, ':', &kind))
		return conf_set_bad(to, "it is empty");
	if (span_eq(kind, SPAN("header")))
		ret->kind = POLICY_KEY_HEADER;
	else if (span_eq(kind, SPAN("query")))
		ret->kind = POLICY_KEY_QUERY;
	else if (span_eq(kind, SPAN("path")))
		ret->kind = POLICY_KEY_PATH;
	else if (span_eq(item, SPAN("host")))
		ret->kind = POLICY_KEY_HOST;
	else if (span_eq(item, SPAN("client")))
		ret->kind = POLICY_KEY_CLIENT;
	else
		return conf_set_bad(to, "no such kind of key");

	if (ret->kind == POLICY_KEY_HOST || ret->kind == POLICY_KEY_CLIENT)
		return CONF_SET_OK;
	if (ret->kind == POLICY_KEY_PATH) {
		if (span_u64(arg, &depth) != 0 || depth < 1 ||
		    depth > PATH_DEPTH_MAX)
			return conf_set_bad(to,
			    "the depth is no number from 1 to 16");
		ret->depth = (unsigned)depth;
		return CONF_SET_OK;
	}
	if (!value_is_token(arg))
		return conf_set_bad(to, "the name is missing or no such thing");
	const char *name;
	int rc = conf_set_text(to, arg, &name);
	if (rc == CONF_SET_OK)
		ret->name = span_of(name);
	return rc;
}

int
conf_set_key(struct conf_setter *to, struct span item)
{
	struct policy *p = conf_field(to);
	struct policy_key_part part = {.depth = 0};

	if (item.p == NULL) {
		p->nkey = 0;
		return CONF_SET_OK;
	}
	int rc = key_part(to, item, &part);
	if (rc != CONF_SET_OK)
		return rc;
	if (p->nkey == POLICY_KEY_PARTS_MAX)
		return conf_set_bad(to, "more than 4 parts");
	p->key[p->nkey++] = part;
	return CONF_SET_OK;
}
