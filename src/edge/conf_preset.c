/* SPDX-License-Identifier: MIT */
/*
 * conf_preset.c: presets that services name, from their files to the draft.
 *
 *   preset = NAME -> preset.c -> conf_file_read_preset -> section->preset
 *
 * Decides what may stand in the file of a preset and which presets look like
 * one that there is not. Each is read once, however many services stand on it.
 */
#include "edge/conf_preset.h"

#include <errno.h>
#include <sys/stat.h>

#include "edge/conf_file.h"
#include "edge/conf_set.h"
#include "edge/preset.h"

#define NEAR_MAX 4 /* names that are suggested */

/* --- values -------------------------------------------------------------- */

int
conf_set_preset_dir(struct conf_setter *to, struct span item)
{
	const char *path = NULL;
	struct stat st;

	if (!span_eq(item, SPAN("none"))) {
		if (item.p[0] != '/')
			return conf_set_bad(to,
			    "a directory's path begins with /");
		int rc = conf_set_text(to, item, &path);
		if (rc != CONF_SET_OK)
			return rc;
		if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
			return conf_set_bad(to, "there is no such directory");
	}
	memcpy(conf_field(to), &path, sizeof(path));
	return CONF_SET_OK;
}

/* What it stands for has been read already: section->preset. */
int
conf_set_preset(struct conf_setter *to, struct span item)
{
	struct conf_service *s = to->service;
	char where[CONF_WHERE_MAX];

	if (span_eq(item, SPAN("none"))) {
		s->preset = s->preset_where = NULL;
		return CONF_SET_OK;
	}
	int rc = conf_set_text(to, item, &s->preset);
	if (rc != CONF_SET_OK)
		return rc;
	return conf_set_text(to, span_of(conf_where_text(to->where, where)),
	    &s->preset_where);
}

static void
hint(const struct conf_service *s, void (*say)(struct span hint))
{
	struct strbuf b;

	strbuf_init(&b, SIZE_MAX);
	strbuf_fmt(&b,
	    "%s: preset %s sees no request that is made by https:// through a "
	    "tunnel; give service '%s' tls = intercept or tls = originate, or "
	    "say tls = tunnel if that is meant",
	    s->preset_where, s->preset, s->name);
	if (!b.failed)
		say(strbuf_view(&b));
	strbuf_free(&b);
}

void
conf_hints(const struct conf *c, void (*say)(struct span hint))
{
	for (size_t i = 0; i < c->nservices; i++) {
		if (c->services[i]->tls_unread)
			hint(c->services[i], say);
	}
}

/* --- what the draft says ------------------------------------------------- */

/* Of an option that takes one value; NULL: it is not given. */
static struct conf_setting *
setting_of(const struct conf_section *sec, const char *key)
{
	const struct conf_option *opt = conf_option_find(sec->in, span_of(key));

	return sec->slots[conf_option_index(opt)].first;
}

const char *
conf_draft_preset_dir(const struct conf_draft *d)
{
	const struct conf_setting *set = setting_of(&d->proxy, "preset_dir");
	struct stat st;

	/* One that is no directory is told with its line, by its value. */
	return set != NULL && set->value[0] == '/' &&
		stat(set->value, &st) == 0 && S_ISDIR(st.st_mode)
	    ? set->value
	    : NULL;
}

struct conf_section *
conf_preset_section(struct conf_draft *d, struct conf_section *preset,
    struct span header, struct conf_where where)
{
	struct span rest = span_trim(header), word;

	(void)span_cut(&rest, ' ', &word);
	if (span_eq(word, SPAN("preset")) && rest.p != NULL &&
	    span_eq(span_trim(rest), span_of(preset->name))) {
		preset->opened = true;
		return preset;
	}
	conf_problem(d->problems, where,
	    "[%.*s] has no place here: this file has one section, [preset %s], "
	    "named as it is itself",
	    SPAN_ARG(header), preset->name);
	preset->misnamed = true;
	return NULL;
}

/* --- one that there is not ----------------------------------------------- */

static bool
has_part(struct span name, struct span part)
{
	return part.n >= 2 && memmem(name.p, name.n, part.p, part.n) != NULL;
}

/* A third of its letters may be wrong; one may be a part of the other. */
static bool
looks_like(struct span name, struct span wanted)
{
	unsigned most = (unsigned)(wanted.n + 2) / 3;

	if (most > 3)
		most = 3;
	return has_part(name, wanted) || has_part(wanted, name) ||
	    conf_distance(wanted, name, most) <= most;
}

/* "; did you mean 'github' or 'gitlab'?" */
static void
put_near(struct strbuf *b, const struct preset_names *names, struct span wanted)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n && n < NEAR_MAX; i++) {
		if (!looks_like(span_of(names->v[i]), wanted))
			continue;
		strbuf_span(b,
		    n == 0 ? SPAN("; did you mean '") : SPAN(" or '"));
		strbuf_span(b, span_of(names->v[i]));
		strbuf_char(b, '\'');
		n++;
	}
	if (n > 0)
		strbuf_char(b, '?');
}

static void
no_such_preset(struct conf_draft *d, const char *dir,
    const struct conf_setting *set, struct span wanted)
{
	struct preset_names names = {.n = 0};
	struct strbuf near;

	strbuf_init(&near, 1024);
	/* Where the directory can't be read, the built-in ones are enough. */
	if (preset_list(dir, &d->pool, &names) != ENOMEM)
		put_near(&near, &names, wanted);
	conf_problem(d->problems, set->where,
	    "preset '%.*s': there is none of that name%.*s%s \"abidectl "
	    "presets\" lists all",
	    SPAN_ARG(wanted), SPAN_ARG(strbuf_view(&near)),
	    near.n > 0 ? "" : ";");
	d->pool.failed |= near.failed;
	strbuf_free(&near);
}

/* --- reading ------------------------------------------------------------- */

static struct conf_section *
find(struct conf_draft *d, struct span name)
{
	for (struct conf_section *s = d->presets; s != NULL; s = s->next) {
		if (span_eq(span_of(s->name), name))
			return s;
	}
	return NULL;
}

/* What its lines are called: the path, or "built-in preset github". */
static const char *
title_of(struct conf_draft *d, const struct preset *p, struct span name)
{
	char text[64];

	if (p->path != NULL)
		return p->path;
	(void)snprintf(text, sizeof(text), "built-in preset %.*s",
	    SPAN_ARG(name));
	return conf_pool_dup(&d->pool, span_of(text));
}

static struct conf_section *
read_preset(struct conf_draft *d, const struct preset *p, struct span name)
{
	struct conf_section *s = conf_pool_zalloc(&d->pool, sizeof(*s));
	const char *copy = conf_pool_dup(&d->pool, name);
	const char *title = title_of(d, p, name);

	if (s == NULL || copy == NULL || title == NULL)
		return NULL;
	*s = (struct conf_section){.in = CONF_IN_PRESET,
	    .name = copy,
	    .where = {.file = title},
	    .next = d->presets};
	d->presets = s;
	conf_file_read_preset(d, s, title, p->text);
	if (!s->opened && !s->misnamed)
		conf_problem(d->problems, s->where,
		    "the section [preset %s] is missing", s->name);
	return s;
}

static struct conf_section *
load(struct conf_draft *d, const char *dir, const struct conf_setting *set,
    struct span name)
{
	struct preset p = {.path = NULL};
	struct conf_section *s;
	const char *why;

	switch (preset_open(dir, name, &d->pool, &p, &why)) {
	case PRESET_OK:
		s = read_preset(d, &p, name);
		preset_close(&p);
		return s;
	case PRESET_NONE:
		no_such_preset(d, dir, set, name);
		break;
	case PRESET_UNREADABLE:
		conf_problem(d->problems, set->where,
		    "preset %.*s: cannot read %s: %s", SPAN_ARG(name), p.path,
		    why);
		break;
	case PRESET_NO_MEMORY:
		d->pool.failed = true;
		break;
	}
	return NULL;
}

void
conf_preset_load(struct conf_draft *d)
{
	const char *dir = conf_draft_preset_dir(d);

	for (struct conf_section *s = d->services; s != NULL; s = s->next) {
		struct conf_setting *set = setting_of(s, "preset");
		struct span name;

		if (set == NULL)
			continue;
		name = span_trim(span_of(set->value));
		if (name.n == 0 || span_eq(name, SPAN("none")))
			continue;
		s->preset = find(d, name);
		if (s->preset == NULL)
			s->preset = load(d, dir, set, name);
		/* What a service lacks then, is not the service's fault. */
		if (s->preset == NULL || !s->preset->opened)
			set->bad = true;
	}
}
