/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a configuration file and, up to the first NUL, as ABIDED_SET.
 * What must hold: a configuration or at least one problem, never both; each
 * problem is one line of text; what is accepted once is accepted again, and its
 * values keep to the contract.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "edge/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
check_policy(const struct policy *p)
{
	must(
	    p->backoff.base_ms >= 0 && p->backoff.base_ms <= p->backoff.max_ms);
	must(p->max_wait_ms >= 0 && p->max_wait_ms <= p->deadline_ms);
	must(p->queue_timeout_ms >= 0 && p->queue_timeout_ms <= p->deadline_ms);
	must(p->deadline_ms >= 1 && p->max_keys >= 1);
	must(
	    p->bucket.n <= BUCKET_RATES_MAX && p->nkey <= POLICY_KEY_PARTS_MAX);
	must(p->verdict.retry_on.n <= VERDICT_STATUSES_MAX);
	for (unsigned i = 0; i < p->bucket.n; i++) {
		must(p->bucket.v[i].count >= 1 && p->bucket.v[i].per_ms >= 1);
		must(p->bucket.v[i].burst >= 1);
	}
}

static void
check_file(const struct conf_file *f)
{
	must(!f->path == !f->where && (!f->path || f->path[0] == '/'));
}

static void
check_way(const struct conf *c, const struct conf_service *s)
{
	check_file(&s->upstream_ca);
	check_file(&s->upstream_cert);
	check_file(&s->upstream_key);
	must(!s->upstream_cert.path == !s->upstream_key.path);
	must(s->tls != CONF_TLS_INTERCEPT || c->ca_key.path);
	must(!s->parent.host == !s->parent.text);
	must(!s->parent.host == !s->parent.port);
	must(!s->parent.auth || s->parent.host);
	(void)conf_places_name(s->no_proxy, span_of(s->name), 80);
}

static void
check_conf(const struct conf *c)
{
	must(c->nlisten >= 1 && c->workers >= 1 && c->workers <= 256);
	must(c->spill_dir && c->access_log && c->dns_servers);
	must(!c->ca_cert.path == !c->ca_key.path);
	must(!c->listen_cert.path == !c->listen_key.path);
	check_file(&c->auth);
	check_policy(&c->defaults.policy);
	check_way(c, &c->defaults);
	for (size_t i = 0; i < c->nservices; i++) {
		const struct conf_service *s = c->services[i];

		check_policy(&s->policy);
		check_way(c, s);
		must(s->nhosts > 0 && conf_service_named(c, span_of(s->name)));
		must(!s->route == !s->route_host);
	}
}

static bool
load(struct span text, const struct conf_overrides *o)
{
	struct conf_problems p = {.n = 0};
	struct conf *c = conf_load_text("f", text, o->v, o->n, &p);
	bool good = c != NULL;

	must(good == (p.n == 0));
	for (size_t i = 0; i < p.n; i++)
		must(strchr(p.v[i], '\n') == NULL && p.v[i][0] != '\0');
	if (good)
		check_conf(c);
	conf_unref(c);
	conf_problems_free(&p);
	return good;
}

/* Other files are not ours to read, whatever the input names. */
static bool
names_files(struct span text)
{
	return memmem(text.p, text.n, "include", 7) != NULL ||
	    memmem(text.p, text.n, "preset_dir", 10) != NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	struct conf_overrides none = {.n = 0}, o = {.n = 0};
	struct conf_problems p = {.n = 0};

	if (size == 0 || size > 4096 || names_files(text))
		return 0;
	must(load(text, &none) == load(text, &none));

	char *env = mem_dup(text);
	must(env != NULL);
	bool good = conf_overrides_add_env(&o, env, &p) == 0;
	must(good == (p.n == 0));
	(void)load((struct span){"", 0}, &o);
	conf_overrides_free(&o);
	conf_problems_free(&p);
	mem_free(env);
	return 0;
}
