/* SPDX-License-Identifier: MIT */
/*
 * conf_draft: what was written, where, by section and option, before anybody
 * asks what it means. Files and overrides fill it; conf_build.c reads it.
 * Internal to the configuration.
 */
#ifndef AB_CONF_DRAFT_H
#define AB_CONF_DRAFT_H

#include "edge/conf_problem.h"
#include "edge/conf_table.h"

struct conf_setting { /* one line */
	struct conf_setting *next; /* of the same option, in order */
	struct conf_where where;
	const char *value;
	bool bad; /* it was refused: no need to complain about what follows */
};

struct conf_slot { /* what one section says about one option */
	struct conf_setting *first, *last; /* NULL: nothing */
	const char *over_from; /* origin of the override that stands here */
};

struct conf_section {
	struct conf_section *next; /* services, in order */
	enum conf_in in;
	const char *name;          /* of a service */
	struct conf_where where;   /* its first line */
	bool aside;                /* a service given twice: only checked */
	bool opened;               /* a preset: its header has been read ... */
	bool misnamed;             /* ... or another one */
	struct conf_section *preset; /* of a service: the layer below, or NULL */
	struct conf_slot slots[CONF_OPTIONS_MAX];
};

struct conf_draft {
	struct conf_pool pool;          /* owns all below */
	struct conf_problems *problems; /* borrows */
	struct conf_section proxy, tls, dns, defaults;
	struct conf_section *services, **services_end;
	struct conf_section *presets;   /* that services name, read once each */
	bool include_overridden;        /* files' own includes are not read */
};

void conf_draft_init(struct conf_draft *d, struct conf_problems *problems);
void conf_draft_free(struct conf_draft *d);

/*
 * The section of a header ("proxy", "service api"). NULL: there is no such
 * section, which has been noted as a problem, or no memory.
 */
struct conf_section *conf_draft_section(struct conf_draft *d,
    struct span header, struct conf_where where);

/*
 * Notes one line. continued: an indented line below the key. NULL: a problem,
 * which has been noted, or no memory; else the option.
 */
const struct conf_option *conf_draft_add(struct conf_draft *d,
    struct conf_section *s, struct span key, struct span value,
    struct conf_where where, bool continued);

/* What the files say about the option gives way to it. */
void conf_draft_override(struct conf_draft *d, const struct conf_override *o);
/* "-s proxy.workers=2", in the pool; without a value that may be a secret. */
struct conf_where conf_draft_over_where(struct conf_draft *d,
    const struct conf_override *o);

#endif
