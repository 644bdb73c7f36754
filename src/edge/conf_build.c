/* SPDX-License-Identifier: MIT */
/*
 * conf_build.c: values, layer upon layer.
 *
 *   built-in default (text of the row) < [tls] < [defaults] < [preset NAME]
 *       < [service NAME]
 *
 * Decides in what order values are applied and how a refused one is reported.
 * A built-in default goes through the same function as what a user wrote. A
 * list that a section gives replaces the whole list of the layer below.
 */
#include "edge/conf_build.h"

#include <sched.h>

#include "edge/conf_set.h"
#include "edge/conf_value.h"

#define WORKERS_MAX 256

struct build {
	struct conf_draft *draft;
	struct conf_setter to;
	struct conf_section *guest; /* the service whose preset is applied, or
	                             * NULL */
};

/* --- one value ----------------------------------------------------------- */

static void
no_memory(struct build *b)
{
	b->draft->pool.failed = true;
}

/* A host of a preset is another service's: not for the preset to mend. */
static void
report_clash(struct build *b, struct span item)
{
	static const struct conf_option *opt;
	struct conf_setting *set;

	opt = conf_option_find(CONF_IN_SERVICE, SPAN("preset"));
	set = b->guest->slots[conf_option_index(opt)].first;
	if (!set->bad) /* one of its hosts is enough */
		conf_problem(b->draft->problems, set->where,
		    "preset %s brings '%.*s', which service '%s' has already; "
		    "give '%s' or '%s' hosts of its own",
		    set->value, SPAN_ARG(item), b->to.clash->name,
		    b->to.clash->name, b->guest->name);
	set->bad = true;
}

/* "KEY 'ITEM': why; it takes ..."; of a secret: "KEY: why". */
static void
report(struct build *b, struct conf_setting *set, struct span item, int rc)
{
	const struct conf_option *opt = b->to.opt;
	struct conf_problems *p = b->draft->problems;
	struct span shown = opt->secret ? SPAN("") : item;
	const char *open = opt->secret ? "" : " '";
	const char *close = opt->secret ? "" : "'";
	struct strbuf takes;

	if (b->guest != NULL && b->to.clash != NULL) {
		report_clash(b, item);
		return;
	}
	set->bad = true;
	if (rc == CONF_SET_TOLD) {
		conf_problem(p, set->where, "%s%s%.*s%s: %s", opt->key, open,
		    SPAN_ARG(shown), close, b->to.why);
		return;
	}
	strbuf_init(&takes, 1024);
	conf_put_takes(&takes, opt);
	if (takes.failed)
		no_memory(b);
	else
		conf_problem(p, set->where, "%s%s%.*s%s: %s; it takes %.*s",
		    opt->key, open, SPAN_ARG(shown), close, b->to.why,
		    SPAN_ARG(strbuf_view(&takes)));
	strbuf_free(&takes);
}

static void
set_one(struct build *b, struct conf_setting *set, struct span item)
{
	b->to.why = "";
	b->to.clash = NULL;
	b->to.where = set->where;
	int rc = b->to.opt->set(&b->to, item);

	if (rc == CONF_SET_NO_MEMORY)
		no_memory(b);
	else if (rc != CONF_SET_OK)
		report(b, set, item, rc);
}

static bool
stands_alone(const struct conf_option *opt, struct span item)
{
	if (opt->none && span_eq(item, SPAN("none")))
		return true;
	for (size_t i = 0; i < 2; i++) {
		if (opt->alone[i] != NULL &&
		    span_eq(item, span_of(opt->alone[i])))
			return true;
	}
	return false;
}

static bool
next_item(const struct conf_option *opt, struct span *rest,
    struct span *ret_item)
{
	if (!opt->lines)
		return value_next_item(rest, ret_item);
	*ret_item = span_trim(*rest);
	*rest = (struct span){.p = NULL};
	return ret_item->n > 0;
}

static size_t
count_items(const struct conf_option *opt, const struct conf_setting *set)
{
	struct span item;
	size_t n = 0;

	for (; set != NULL; set = set->next) {
		struct span rest = span_of(set->value);

		while (next_item(opt, &rest, &item))
			n++;
	}
	return n;
}

static void
set_item(struct build *b, struct conf_setting *set, struct span item, size_t n)
{
	const struct conf_option *opt = b->to.opt;

	if (stands_alone(opt, item) && n > 1) {
		(void)conf_set_told(&b->to,
		    "nothing may stand beside this word");
		report(b, set, item, CONF_SET_TOLD);
	} else if (!opt->none || !span_eq(item, SPAN("none"))) {
		set_one(b, set, item);
	}
}

static void
set_empty(struct build *b, struct conf_setting *set)
{
	(void)conf_set_bad(&b->to, "the value is missing");
	report(b, set, (struct span){"", 0}, CONF_SET_BAD);
}

static void
set_list(struct build *b, struct conf_setting *first)
{
	size_t n = count_items(b->to.opt, first);

	if (n == 0) {
		set_empty(b, first);
		return;
	}
	if (b->to.opt->set(&b->to, (struct span){.p = NULL}) != CONF_SET_OK) {
		no_memory(b);
		return;
	}
	for (struct conf_setting *set = first; set != NULL; set = set->next) {
		struct span rest = span_of(set->value), item;

		if (set->bad) /* told, for another service of this preset */
			continue;
		while (next_item(b->to.opt, &rest, &item))
			set_item(b, set, item, n);
	}
}

static void
set_option(struct build *b, const struct conf_option *opt,
    struct conf_setting *first)
{
	struct span value = span_trim(span_of(first->value));

	b->to.opt = opt;
	if (first->bad && !opt->list)
		return; /* an unknown preset, or told for another service */
	if (opt->list)
		set_list(b, first);
	else if (value.n == 0)
		set_empty(b, first);
	else
		set_one(b, first, value);
}

/* --- layers -------------------------------------------------------------- */

/* The built-in defaults of the options that may stand in `in`. */
static void
apply_built_in(struct build *b, enum conf_in in)
{
	for (size_t i = 0; i < conf_noptions; i++) {
		struct conf_setting set = {.where = {.file = "built-in"},
		    .value = conf_options[i].def};

		if ((conf_options[i].in & in) && set.value != NULL)
			set_option(b, &conf_options[i], &set);
	}
}

static void
apply_section(struct build *b, struct conf_section *sec)
{
	for (size_t i = 0; i < conf_noptions; i++) {
		if (sec->slots[i].first != NULL)
			set_option(b, &conf_options[i], sec->slots[i].first);
	}
}

/* The settings of the service's preset; hosts only where it has none itself. */
static void
apply_preset(struct build *b, struct conf_section *sec)
{
	const struct conf_section *preset = sec->preset;

	b->guest = sec;
	for (size_t i = 0; preset != NULL && i < conf_noptions; i++) {
		if (preset->slots[i].first == NULL ||
		    (conf_options[i].set == conf_set_hosts &&
			sec->slots[i].first != NULL))
			continue;
		set_option(b, &conf_options[i], preset->slots[i].first);
	}
	b->guest = NULL;
}

/* What was written, in one line: to compare it with the next configuration. */
static const char *
flat_text(struct build *b, const struct conf_setting *set)
{
	struct strbuf text;

	strbuf_init(&text, SIZE_MAX);
	for (; set != NULL; set = set->next) {
		struct span rest = span_of(set->value), item;

		while (value_next_item(&rest, &item)) {
			if (text.n > 0)
				strbuf_lit(&text, ", ");
			strbuf_span(&text, item);
		}
	}
	const char *flat = text.failed
	    ? NULL
	    : conf_pool_dup(&b->to.conf->pool, strbuf_view(&text));
	if (flat == NULL)
		no_memory(b);
	strbuf_free(&text);
	return flat;
}

static void
keep_texts(struct build *b)
{
	const char **texts =
	    conf_pool_zalloc(&b->to.conf->pool, conf_noptions * sizeof(*texts));

	b->to.conf->texts = texts;
	for (size_t i = 0; texts != NULL && i < conf_noptions; i++) {
		const struct conf_section *sec =
		    conf_options[i].in == CONF_IN_PROXY ? &b->draft->proxy
		    : conf_options[i].in == CONF_IN_DNS ? &b->draft->dns
							: NULL;

		if (sec != NULL && sec->slots[i].first != NULL)
			texts[i] = flat_text(b, sec->slots[i].first);
	}
}

/* --- services ------------------------------------------------------------ */

static void
build_defaults(struct build *b)
{
	struct conf_service *s = &b->to.conf->defaults;

	s->name = "";
	apply_built_in(b, CONF_IN_DEFAULTS);
	apply_section(b, &b->draft->tls);
	conf_check_upstream(b->draft, &b->draft->tls, s);
	conf_check_tls(b->draft, b->to.conf);
	apply_section(b, &b->draft->defaults);
	conf_check_upstream(b->draft, &b->draft->defaults, s);
	/* One state per server: what else could strangers have in common? */
	s->policy.key[0] = (struct policy_key_part){.kind = POLICY_KEY_HOST};
	s->policy.nkey = 1;
}

static void
build_service(struct build *b, struct conf_section *sec)
{
	struct conf *c = b->to.conf;
	struct conf_service *s = conf_pool_zalloc(&c->pool, sizeof(*s));
	struct conf_service **v =
	    conf_pool_grow(&c->pool, c->services, c->nservices, sizeof(*v));

	if (s == NULL || v == NULL)
		return;
	*s = c->defaults; /* not checked yet, so nothing in it is derived */
	s->name = conf_pool_dup(&c->pool, span_of(sec->name));
	if (s->name == NULL)
		return;
	b->to.service = s;
	b->to.aside = sec->aside;
	s->policy.nkey = 0; /* the default of `key`, which only services have */
	apply_preset(b, sec);
	apply_section(b, sec);
	conf_check_upstream(b->draft, sec, s);
	conf_check_service(b->draft, c, sec, s);
	if (!sec->aside) {
		v[c->nservices++] = s;
		c->services = v;
	}
}

/* --- the whole ----------------------------------------------------------- */

/* The processors this process may run on: taskset and cpusets count. */
static unsigned
processors(void)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

void
conf_build(struct conf_draft *d, struct conf *c)
{
	struct build b = {.draft = d,
	    .to = {.conf = c, .service = &c->defaults}};

	apply_built_in(&b, CONF_IN_PROXY);
	apply_built_in(&b, CONF_IN_DNS);
	apply_built_in(&b, CONF_IN_TLS);
	apply_section(&b, &d->proxy);
	apply_section(&b, &d->dns);
	keep_texts(&b);
	build_defaults(&b);
	for (struct conf_section *sec = d->services; sec; sec = sec->next)
		build_service(&b, sec);
	/* Last: the services began as copies of what is still as written. */
	conf_check_service(d, c, &d->defaults, &c->defaults);
	conf_check_whole(d, c);
	if (c->workers == 0)
		c->workers = processors();
}
