/* SPDX-License-Identifier: MIT */
/*
 * conf_table: one row per option, and the lookups in it. Internal to the
 * configuration.
 */
#ifndef AB_CONF_TABLE_H
#define AB_CONF_TABLE_H

#include "edge/conf.h"

/* Sections, as bits: an option may stand in more than one. */
enum conf_in {
	CONF_IN_PROXY = 1,
	CONF_IN_DNS = 2,
	CONF_IN_DEFAULTS = 4,
	CONF_IN_SERVICE = 8,
	CONF_IN_TLS = 16,
	CONF_IN_PRESET = 32, /* in no row: what a service may say, but `local` */
};
#define CONF_IN_POLICY ((unsigned)CONF_IN_DEFAULTS | CONF_IN_SERVICE)

struct conf_setter;

struct conf_option {
	unsigned in;     /* enum conf_in */
	const char *key;
	/* Reads one value, for a list one item, into the field. An item whose p
	 * is NULL begins a list: it empties the field. 0, or CONF_SET_*. */
	int (*set)(struct conf_setter *to, struct span item);
	size_t at;       /* offset in struct conf or in struct conf_service */
	bool list;       /* comma separated, may be repeated */
	bool lines;      /* a list of one item a line: a comma separates nothing */
	bool none;       /* a list that may be empty: the word "none" */
	const char *alone[2]; /* words of a list that nothing may stand beside */
	bool restart;    /* a change waits for the next start */
	bool local;      /* of a service: no matter for a preset */
	bool secret;     /* the value is never shown, not even a bad one */
	int64_t min, max; /* count, ms or bytes, both allowed */
	const char *word; /* may stand in place of a number ... */
	int64_t word_value; /* ... and is kept as this */
	const char *const *choices; /* NULL-terminated, by enum value */
	const char *takes; /* what it takes, where the above does not say it */
	const char *def; /* the built-in default as text; NULL: unset */
	const char *example; /* for the example file, where def is no help */
	const char *help;
};

extern const struct conf_option conf_options[];
extern const size_t conf_noptions;
#define CONF_OPTIONS_MAX 96 /* rows; checked at compile time */

/* max_wait and queue_timeout as long as the deadline, until it is known. */
#define CONF_AS_DEADLINE (-1)

static inline size_t
conf_option_index(const struct conf_option *opt)
{
	return (size_t)(opt - conf_options);
}

/* The row of a key that may stand in section `in`; NULL: none. */
const struct conf_option *conf_option_find(enum conf_in in, struct span key);
/* The row of a key in whatever section; NULL: none. */
const struct conf_option *conf_option_anywhere(struct span key);
/* The key of that section that looks most like this one; NULL: none does. */
const char *conf_option_nearest(enum conf_in in, struct span key);
/* "[defaults] or [service NAME]". */
const char *conf_sections_text(unsigned in);

/* How many single edits (also a swap of neighbours) turn a into b, no case;
 * at most `most` + 1 is counted. */
unsigned conf_distance(struct span a, struct span b, unsigned most);

/* "a whole number from 1 to 256, or auto". */
void conf_put_takes(struct strbuf *b, const struct conf_option *opt);

#endif
