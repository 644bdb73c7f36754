/* SPDX-License-Identifier: MIT */
/*
 * conf_lookup.c: finding rows of the option table.
 *
 * Decides which key was probably meant, and puts what an option takes into
 * words. It reads the table and nothing else.
 */
#include "edge/conf_set.h"
#include "edge/conf_value.h"

#define WORD_MAX 49 /* bytes of a word that is compared; longer ones are not */

/* May it stand in section `in`? */
static bool
may_stand(const struct conf_option *opt, enum conf_in in)
{
	if (in == CONF_IN_PRESET)
		return (opt->in & CONF_IN_SERVICE) && !opt->local;
	return opt->in & in;
}

const struct conf_option *
conf_option_find(enum conf_in in, struct span key)
{
	for (size_t i = 0; i < conf_noptions; i++) {
		if (may_stand(&conf_options[i], in) &&
		    span_eq(span_of(conf_options[i].key), key))
			return &conf_options[i];
	}
	return NULL;
}

const struct conf_option *
conf_option_anywhere(struct span key)
{
	for (size_t i = 0; i < conf_noptions; i++) {
		if (span_eq(span_of(conf_options[i].key), key))
			return &conf_options[i];
	}
	return NULL;
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment (Damerau-Levenshtein with adjacent swaps), three
 * rows at a time: `row[j]` is the distance of a[0..i) and b[0..j).
 */
unsigned
conf_distance(struct span a, struct span b, unsigned most)
{
	unsigned rows[3][WORD_MAX + 1];

	if (a.n > WORD_MAX || b.n > WORD_MAX)
		return most + 1;
	for (size_t i = 0; i <= a.n; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3];
		const unsigned *up2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b.n; j++) {
			if (i == 0) {
				row[j] = (unsigned)j;
				continue;
			}
			char x = lower(a.p[i - 1]), y = lower(b.p[j - 1]);
			unsigned best = up[j - 1] + (x != y);
			best = least(best, least(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && x == lower(b.p[j - 2]) &&
			    y == lower(a.p[i - 2]))
				best = least(best, up2[j - 2] + 1);
			row[j] = best;
		}
	}
	return least(rows[a.n % 3][b.n], most + 1);
}

const char *
conf_option_nearest(enum conf_in in, struct span key)
{
	/* A third of its letters may be wrong. */
	unsigned most = least(3, (unsigned)(key.n + 2) / 3), best = most + 1;
	const char *name = NULL;

	for (size_t i = 0; i < conf_noptions; i++) {
		if (!may_stand(&conf_options[i], in))
			continue;
		unsigned d =
		    conf_distance(key, span_of(conf_options[i].key), most);
		if (d < best) {
			best = d;
			name = conf_options[i].key;
		}
	}
	return name;
}

const char *
conf_sections_text(unsigned in)
{
	switch (in) {
	case CONF_IN_PROXY:
		return "[proxy]";
	case CONF_IN_TLS:
		return "[tls]";
	case CONF_IN_DNS:
		return "[dns]";
	case CONF_IN_DEFAULTS:
		return "[defaults]";
	case CONF_IN_SERVICE:
		return "[service NAME]";
	case CONF_IN_PRESET:
		return "[preset NAME]";
	case CONF_IN_TLS | CONF_IN_POLICY:
		return "[tls], [defaults] or [service NAME]";
	default:
		return "[defaults] or [service NAME]";
	}
}

static void
put_choices(struct strbuf *b, const char *const *choices)
{
	for (size_t i = 0; choices[i] != NULL; i++) {
		if (i > 0)
			strbuf_lit(b, ", ");
		if (i > 0 && choices[i + 1] == NULL)
			strbuf_lit(b, "or ");
		strbuf_span(b, span_of(choices[i]));
	}
}

static void
put_bounds(struct strbuf *b, const struct conf_option *opt,
    void (*put)(struct strbuf *b, int64_t v))
{
	put(b, opt->min);
	strbuf_lit(b, " to ");
	put(b, opt->max);
}

static void
put_number(struct strbuf *b, int64_t v)
{
	strbuf_u64(b, (uint64_t)v);
}

static void
put_size(struct strbuf *b, int64_t v)
{
	value_put_size(b, (uint64_t)v);
}

void
conf_put_takes(struct strbuf *b, const struct conf_option *opt)
{
	if (opt->takes != NULL) {
		strbuf_span(b, span_of(opt->takes));
	} else if (opt->choices != NULL) {
		put_choices(b, opt->choices);
	} else if (opt->set == conf_set_flag) {
		strbuf_lit(b, "yes or no");
	} else if (opt->set == conf_set_duration) {
		strbuf_lit(b, "a duration (ms, s, min, h, d) from ");
		put_bounds(b, opt, value_put_duration);
	} else if (opt->set == conf_set_size) {
		strbuf_lit(b, "a size (B, KiB, MiB, GiB) from ");
		put_bounds(b, opt, put_size);
	} else {
		strbuf_lit(b, "a whole number from ");
		put_bounds(b, opt, put_number);
	}
	if (opt->word != NULL) {
		strbuf_lit(b, ", or ");
		strbuf_span(b, span_of(opt->word));
	}
}
