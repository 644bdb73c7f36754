/* SPDX-License-Identifier: MIT */
/*
 * conf_draft.c: what was written, sorted by section and option.
 *
 * Decides whether a section or a key exists, who may stand twice, and what an
 * override replaces. What a value means is not asked here.
 *
 * A section may be opened any number of times, in any file; a service only
 * once, because two files that both define it were most likely written without
 * knowledge of each other. Of an option that takes one value the second line is
 * a mistake; of one that takes a list it adds to the first.
 */
#include "edge/conf_draft.h"

void
conf_draft_init(struct conf_draft *d, struct conf_problems *problems)
{
	*d = (struct conf_draft){
	    .problems = problems,
	    .proxy = {.in = CONF_IN_PROXY},
	    .tls = {.in = CONF_IN_TLS},
	    .dns = {.in = CONF_IN_DNS},
	    .defaults = {.in = CONF_IN_DEFAULTS},
	};
	d->services_end = &d->services;
}

void
conf_draft_free(struct conf_draft *d)
{
	conf_pool_free(&d->pool);
}

/* --- sections ------------------------------------------------------------ */

static struct conf_section *
find_service(struct conf_draft *d, struct span name)
{
	for (struct conf_section *s = d->services; s != NULL; s = s->next) {
		if (span_eq(span_of(s->name), name))
			return s;
	}
	return NULL;
}

static struct conf_section *
add_service(struct conf_draft *d, struct span name, struct conf_where where)
{
	struct conf_section *s = conf_pool_zalloc(&d->pool, sizeof(*s));
	const char *text = conf_pool_dup(&d->pool, name);

	if (s == NULL || text == NULL)
		return NULL;
	s->in = CONF_IN_SERVICE;
	s->name = text;
	s->where = where;
	*d->services_end = s;
	d->services_end = &s->next;
	return s;
}

static bool
is_service_name(struct span name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '.' && c != '_' && c != '-')
			return false;
	}
	return name.n > 0;
}

/*
 * "service NAME" to NAME. False: it is another section, or the name is none:
 * *ret_flaw.
 */
static bool
service_name(struct span header, struct span *ret, const char **ret_flaw)
{
	struct span rest = header, word;
	const char *blank = memchr(header.p, ' ', header.n);

	*ret_flaw = NULL;
	if (!span_cut(&rest, blank ? ' ' : '\t', &word) ||
	    !span_eq(word, SPAN("service")))
		return false;
	*ret = rest.p ? span_trim(rest) : (struct span){.p = NULL};
	if (ret->n == 0)
		*ret_flaw = "a service needs a name: [service NAME]";
	else if (!is_service_name(*ret))
		*ret_flaw = "the name of a service may hold letters, digits, "
			    "'.', '_' and '-'";
	return *ret_flaw == NULL;
}

static void
no_such_section(struct conf_draft *d, struct span header,
    struct conf_where where)
{
	static const char *const names[] = {"proxy", "tls", "dns", "defaults",
	    "service NAME"};
	struct span rest = header, word;
	const char *near = NULL;
	unsigned best = 3;

	(void)span_cut(&rest, ' ', &word);
	if (span_eq(word, SPAN("preset"))) {
		conf_problem(d->problems, where,
		    "[%.*s] has no place here: a preset is a file of its own "
		    "in preset_dir, and a service names it: preset = NAME",
		    SPAN_ARG(header));
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct span whole = span_of(names[i]), name;

		(void)span_cut(&whole, ' ', &name);
		unsigned distance = conf_distance(word, name, 2);
		if (distance < best) {
			best = distance;
			near = names[i];
		}
	}
	if (near != NULL)
		conf_problem(d->problems, where,
		    "unknown section [%.*s]; did you mean [%s]?",
		    SPAN_ARG(header), near);
	else
		conf_problem(d->problems, where,
		    "unknown section [%.*s]; there are [proxy], [tls], "
		    "[dns], [defaults] and [service NAME]",
		    SPAN_ARG(header));
}

/* The section that there is one of; NULL: none of that name. */
static struct conf_section *
single_section(struct conf_draft *d, struct span header)
{
	if (span_eq(header, SPAN("proxy")))
		return &d->proxy;
	if (span_eq(header, SPAN("tls")))
		return &d->tls;
	if (span_eq(header, SPAN("dns")))
		return &d->dns;
	if (span_eq(header, SPAN("defaults")))
		return &d->defaults;
	return NULL;
}

/* The name of a service, or a problem noted. */
static bool
want_service(struct conf_draft *d, struct span header, struct conf_where where,
    struct span *ret_name)
{
	const char *flaw;

	if (service_name(header, ret_name, &flaw))
		return true;
	if (flaw != NULL)
		conf_problem(d->problems, where, "[%.*s]: %s", SPAN_ARG(header),
		    flaw);
	else
		no_such_section(d, header, where);
	return false;
}

struct conf_section *
conf_draft_section(struct conf_draft *d, struct span header,
    struct conf_where where)
{
	struct conf_section *s;
	struct span name;

	header = span_trim(header);
	s = single_section(d, header);
	if (s != NULL || !want_service(d, header, where, &name))
		return s;

	const struct conf_section *other = find_service(d, name);
	s = add_service(d, name, where);
	if (other != NULL && s != NULL) {
		char text[CONF_WHERE_MAX];

		s->aside = true;
		conf_problem(d->problems, where,
		    "service '%s' is given twice, first at %s; rename one or "
		    "join them",
		    s->name, conf_where_text(other->where, text));
	}
	return s;
}

/* --- settings ------------------------------------------------------------ */

static void
no_such_key(struct conf_draft *d, const struct conf_section *s, struct span key,
    struct conf_where where)
{
	const struct conf_option *elsewhere = conf_option_anywhere(key);
	const char *near = conf_option_nearest(s->in, key);
	const char *section = conf_sections_text(s->in);

	if (elsewhere != NULL)
		conf_problem(d->problems, where,
		    "'%s' has no place in %s; it belongs in %s", elsewhere->key,
		    section, conf_sections_text(elsewhere->in));
	else if (near != NULL)
		conf_problem(d->problems, where,
		    "unknown key '%.*s' in %s; did you mean '%s'?",
		    SPAN_ARG(key), section, near);
	else
		conf_problem(d->problems, where,
		    "unknown key '%.*s' in %s; the example configuration lists "
		    "all there are",
		    SPAN_ARG(key), section);
}

static void
append(struct conf_draft *d, struct conf_slot *slot, struct span value,
    struct conf_where where)
{
	struct conf_setting *set = conf_pool_zalloc(&d->pool, sizeof(*set));
	const char *text = conf_pool_dup(&d->pool, value);

	if (set == NULL || text == NULL)
		return;
	set->value = text;
	set->where = where;
	if (slot->last != NULL)
		slot->last->next = set;
	else
		slot->first = set;
	slot->last = set;
}

const struct conf_option *
conf_draft_add(struct conf_draft *d, struct conf_section *s, struct span key,
    struct span value, struct conf_where where, bool continued)
{
	const struct conf_option *opt = conf_option_find(s->in, key);
	char text[CONF_WHERE_MAX];

	if (opt == NULL) {
		if (!continued)
			no_such_key(d, s, key, where);
		return NULL;
	}
	struct conf_slot *slot = &s->slots[conf_option_index(opt)];
	if (slot->first != NULL && !opt->list) {
		if (continued)
			conf_problem(d->problems, where,
			    "'%s' takes one value, and an indented line "
			    "continues the one above; begin keys at the start "
			    "of the line",
			    opt->key);
		else
			conf_problem(d->problems, where,
			    "'%s' is given twice, first at %s; take one out",
			    opt->key,
			    conf_where_text(slot->first->where, text));
		return NULL;
	}
	append(d, slot, value, where);
	return opt;
}

/* --- overrides ----------------------------------------------------------- */

struct conf_where
conf_draft_over_where(struct conf_draft *d, const struct conf_override *o)
{
	struct conf_where where = {.file = o->from};
	const struct conf_option *opt = conf_option_anywhere(span_of(o->key));
	struct strbuf b;

	strbuf_init(&b, SIZE_MAX);
	strbuf_fmt(&b, "%s %s.%s", o->from, o->section, o->key);
	/* A key that is mistyped may have meant one with a secret. */
	if (opt != NULL && !opt->secret)
		strbuf_fmt(&b, "=%s", o->value);
	const char *text =
	    b.failed ? NULL : conf_pool_dup(&d->pool, strbuf_view(&b));
	if (text != NULL)
		where.file = text;
	d->pool.failed |= b.failed;
	strbuf_free(&b);
	return where;
}

void
conf_draft_override(struct conf_draft *d, const struct conf_override *o)
{
	struct conf_where where = conf_draft_over_where(d, o);
	struct span header = span_of(o->section), name;
	struct conf_section *s = single_section(d, header);

	/* A service that no file has may be made of overrides alone. */
	if (s == NULL && want_service(d, header, where, &name)) {
		s = find_service(d, name);
		if (s == NULL)
			s = add_service(d, name, where);
	}
	if (s == NULL)
		return;

	const struct conf_option *opt =
	    conf_option_find(s->in, span_of(o->key));
	if (opt == NULL) {
		no_such_key(d, s, span_of(o->key), where);
		return;
	}
	struct conf_slot *slot = &s->slots[conf_option_index(opt)];
	bool adds_up = opt->list && slot->over_from != NULL &&
	    strcmp(slot->over_from, o->from) == 0;
	if (!adds_up)
		*slot = (struct conf_slot){.over_from = o->from};
	append(d, slot, span_of(o->value), where);
}
