/* SPDX-License-Identifier: MIT */
/*
 * conf.c: the life of a configuration.
 *
 *   files -> draft -+-> conf_build -> struct conf, or problems
 *   overrides ------+
 *
 * Decides the order of those steps and that nothing comes out unless all of it
 * is right. What values mean is not known here.
 */
#include "edge/conf.h"

#include "base/mem.h"
#include "edge/auth.h"
#include "edge/conf_build.h"
#include "edge/conf_file.h"
#include "edge/conf_preset.h"
#include "edge/script.h"
#include "edge/tls_set.h"

static void
conf_free(struct conf *c)
{
	auth_unref(c->auth_users);
	for (struct conf_places *p = c->no_proxies; p != NULL; p = p->next)
		rules_free(&p->hosts);
	rules_free(&c->allow.hosts);
	rules_free(&c->deny.hosts);
	rules_free(&c->rules);
	tls_set_free(c->tls);
	scripts_free(c);
	conf_pool_free(&c->pool);
	mem_free(c);
}

static struct conf *
conf_new(void)
{
	static atomic_ullong generations;
	struct conf *c = mem_zalloc(sizeof(*c));

	if (c == NULL)
		return NULL;
	atomic_init(&c->refs, 1);
	if (rules_init(&c->rules) != 0) {
		mem_free(c);
		return NULL;
	}
	c->generation = atomic_fetch_add(&generations, 1) + 1;
	return c;
}

struct conf *
conf_ref(struct conf *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

void
conf_unref(struct conf *c)
{
	if (c != NULL &&
	    atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		conf_free(c);
}

/* --- loading ------------------------------------------------------------- */

static bool
is_include(const struct conf_override *o)
{
	return strcmp(o->section, "proxy") == 0 &&
	    strcmp(o->key, "include") == 0;
}

/* Files that overrides ask for are read as if the main file did. */
static void
override_includes(struct conf_draft *d, const char *base,
    const struct conf_override *over, size_t nover)
{
	for (size_t i = 0; i < nover; i++) {
		if (is_include(&over[i]))
			conf_file_include(d, base, span_of(over[i].value),
			    conf_draft_over_where(d, &over[i]));
	}
}

static void
read_all(struct conf_draft *d, const char *path, const struct span *text,
    const struct conf_override *over, size_t nover)
{
	for (size_t i = 0; i < nover; i++)
		d->include_overridden |= is_include(&over[i]);
	if (text != NULL)
		conf_file_read_text(d, path, *text);
	else if (path != NULL)
		conf_file_read(d, path);
	override_includes(d, path ? path : "", over, nover);
	for (size_t i = 0; i < nover; i++)
		conf_draft_override(d, &over[i]);
}

const char *
conf_preset_dir(const char *path, const struct conf_override *over,
    size_t nover, struct conf_pool *pool)
{
	struct conf_problems problems = {.n = 0};
	const char *dir = NULL;
	struct conf_draft d;

	conf_draft_init(&d, &problems);
	read_all(&d, path, NULL, over, nover);
	if (conf_draft_preset_dir(&d) != NULL)
		dir = conf_pool_dup(pool, span_of(conf_draft_preset_dir(&d)));
	conf_draft_free(&d);
	conf_problems_free(&problems);
	return dir;
}

static struct conf *
load(const char *path, const struct span *text,
    const struct conf_override *over, size_t nover,
    struct conf_problems *problems)
{
	struct conf *c = conf_new();
	struct conf_draft d;
	size_t had = problems->n;

	conf_draft_init(&d, problems);
	read_all(&d, path, text, over, nover);
	conf_preset_load(&d);
	if (c != NULL)
		conf_build(&d, c);
	if (c == NULL || c->pool.failed || d.pool.failed)
		conf_problem_no_memory(problems);
	conf_draft_free(&d);
	conf_problems_sort(problems, had);
	if (problems->n > had) {
		conf_unref(c);
		return NULL;
	}
	return c;
}

struct conf *
conf_load(const char *path, const struct conf_override *over, size_t nover,
    struct conf_problems *ret_problems)
{
	return load(path, NULL, over, nover, ret_problems);
}

struct conf *
conf_load_text(const char *name, struct span text,
    const struct conf_override *over, size_t nover,
    struct conf_problems *ret_problems)
{
	return load(name, &text, over, nover, ret_problems);
}

/* --- questions ----------------------------------------------------------- */

const struct conf_service *
conf_service_of(const struct conf *c, struct span host, uint16_t port)
{
	const struct conf_service *s = rules_find_host(&c->rules, host, port);

	return s != NULL ? s : &c->defaults;
}

const struct conf_service *
conf_service_named(const struct conf *c, struct span name)
{
	for (size_t i = 0; i < c->nservices; i++) {
		if (span_eq(span_of(c->services[i]->name), name))
			return c->services[i];
	}
	return NULL;
}

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The value of an option of which there is one, as text. */
static const char *
option_text(const struct conf *c, size_t i)
{
	return c->texts[i] ? c->texts[i] : conf_options[i].def;
}

size_t
conf_restart_changes(const struct conf *old, const struct conf *now,
    struct strbuf *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < conf_noptions; i++) {
		const struct conf_option *opt = &conf_options[i];

		if (!opt->restart ||
		    same_text(option_text(old, i), option_text(now, i)))
			continue;
		if (n++ > 0)
			strbuf_lit(ret, ", ");
		strbuf_span(ret,
		    span_of(opt->in == CONF_IN_DNS ? "dns." : "proxy."));
		strbuf_span(ret, span_of(opt->key));
	}
	return n;
}
