/* SPDX-License-Identifier: MIT */
/*
 * hint.c: which of all the fields of a response say how long to wait, and how
 * much is left.
 *
 *	HINT_WAIT, HINT_RESET    in the order of the table: the first that is valid
 *	HINT_LIMIT               limits:  reset fields, each with its sibling
 *	                                  values that hold limits
 *	                         spent:   of all, the longest
 *	                         told of: of all, the tightest
 *
 * It refuses to know the status of the response, what becomes of the hint, and
 * how long is too long.
 */
#include "policy/hint.h"
#include "policy/hint_form.h"
#include "policy/hint_limit.h"
#include "policy/hint_name.h"

static bool
holds_limits(const struct hint_source *source)
{
	return source->format == HINT_SF || source->format == HINT_PAIRS;
}

/* --- waits --------------------------------------------------------------- */

static int64_t
wait_of(const struct hint_source *source, struct span value,
    const struct hint_clock *clk)
{
	struct hint_limits all = {.any_ms = 0};
	int64_t wait_ms;

	if (source->kind == HINT_RESET && holds_limits(source)) {
		hint_limits_read(&all, value, source->format, clk);
		return all.any_ms;
	}
	return hint_value(value, source->format, clk, &wait_ms) ? 0 : wait_ms;
}

static int64_t
longest_of_fields(const struct hint_source *source, const struct head *h,
    const struct hint_clock *clk)
{
	int64_t longest_ms = 0;

	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *field = &h->fields[i];
		int64_t wait_ms;

		if (!hint_name_matches(source->name, field->name))
			continue;
		wait_ms = wait_of(source, field->value, clk);
		if (wait_ms > longest_ms)
			longest_ms = wait_ms;
	}
	return longest_ms;
}

/* --- limits -------------------------------------------------------------- */

/* Fields whose names could be in the table. Quotas are asked of each answer, and
 * most have none: so this is by first letter and length only. */
struct suspects {
	unsigned n;
	uint8_t v[HEAD_FIELDS_MAX]; /* of the head's fields */
};

struct letters {
	uint64_t lengths[32]; /* by first letter, of any case: the names' */
};

static void
letters_add(struct letters *l, struct span name)
{
	bool wild = memchr(name.p, '*', name.n) != NULL;
	uint64_t length = wild ? UINT64_MAX : UINT64_C(1) << (name.n & 63);

	if (name.p[0] != '*') {
		l->lengths[name.p[0] & 31] |= length;
		return;
	}
	for (unsigned i = 0; i < 32; i++)
		l->lengths[i] = UINT64_MAX;
}

static struct suspects
suspects_of(const struct hint_cfg *cfg, const struct head *h)
{
	struct letters letters = {{0}};
	struct suspects who;

	who.n = 0;
	for (size_t i = 0; i < cfg->n; i++) {
		if (cfg->v[i].kind != HINT_WAIT && cfg->v[i].name.n > 0)
			letters_add(&letters, cfg->v[i].name);
	}
	for (unsigned i = 0; i < h->nfields; i++) {
		struct span name = h->fields[i].name;

		if (name.n > 0 &&
		    letters.lengths[name.p[0] & 31] >> (name.n & 63) & 1)
			who.v[who.n++] = (uint8_t)i;
	}
	return who;
}

/* A limit that reset fields tell of. */
struct reset {
	struct hint_name name;
	size_t source; /* of the table */
	int64_t ms;
};

struct resets {
	unsigned n;
	struct reset v[HEAD_FIELDS_MAX];
};

/* The first source with a valid value speaks for a limit; of its values the
 * longest counts. */
static void
resets_add(struct resets *all, const struct reset *one)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct reset *had = &all->v[i];

		if (!hint_name_same(&had->name, &one->name))
			continue;
		if (had->source == one->source && one->ms > had->ms)
			had->ms = one->ms;
		return;
	}
	if (all->n < HEAD_FIELDS_MAX)
		all->v[all->n++] = *one;
}

/* What the fields beside it say. */
static struct hint_limit
limit_of(const struct reset *reset, const struct head *h)
{
	struct hint_limit l = {.reset_ms = reset->ms};

	for (unsigned i = 0; i < h->nfields; i++) {
		const struct field *field = &h->fields[i];

		if (hint_name_is(&reset->name, SPAN("remaining"), field->name))
			hint_limit_left(&l, field->value);
		else if (l.limit == 0 &&
		    hint_name_is(&reset->name, SPAN("limit"), field->name))
			l.limit = hint_limit_total(field->value);
	}
	return l;
}

/* All limits of a response, and which source told of the longest spent one. */
struct found {
	struct hint_limits all;
	size_t source;
};

static void
found_by(struct found *f, size_t source, int64_t spent_ms)
{
	if (f->all.spent_ms > spent_ms)
		f->source = source;
}

static void
read_field(struct found *f, struct resets *resets, size_t i,
    const struct hint_source *source, const struct field *field,
    const struct hint_clock *clk)
{
	struct reset one = {.source = i};
	int64_t spent_ms = f->all.spent_ms;

	if (!hint_name_matches(source->name, field->name))
		return;
	if (holds_limits(source)) {
		hint_limits_read(&f->all, field->value, source->format, clk);
		found_by(f, i, spent_ms);
		return;
	}
	if (hint_name_of_reset(field->name, &one.name) &&
	    !hint_value(field->value, source->format, clk, &one.ms))
		resets_add(resets, &one);
}

static struct found
find_limits(const struct hint_cfg *cfg, const struct head *h,
    const struct suspects *who, const struct hint_clock *clk)
{
	struct found f = {.source = 0};
	struct resets resets;

	resets.n = 0;
	for (size_t i = 0; i < cfg->n; i++) {
		if (cfg->v[i].kind == HINT_WAIT)
			continue;
		for (unsigned k = 0; k < who->n; k++)
			read_field(&f, &resets, i, &cfg->v[i],
			    &h->fields[who->v[k]], clk);
	}
	for (unsigned i = 0; i < resets.n; i++) {
		struct hint_limit l = limit_of(&resets.v[i], h);
		int64_t spent_ms = f.all.spent_ms;

		hint_limits_add(&f.all, &l);
		found_by(&f, resets.v[i].source, spent_ms);
	}
	return f;
}

struct hint
hint_find(const struct hint_cfg *cfg, const struct head *h, int64_t wall_ms)
{
	struct hint_clock clk = hint_clock_of(h, wall_ms);
	struct suspects who;
	struct found f;

	for (size_t i = 0; i < cfg->n; i++) {
		const struct hint_source *source = &cfg->v[i];
		int64_t wait_ms;

		if (source->kind == HINT_LIMIT)
			continue;
		wait_ms = longest_of_fields(source, h, &clk);
		if (wait_ms > 0)
			return (struct hint){true, wait_ms, source->name};
	}
	who = suspects_of(cfg, h);
	f = find_limits(cfg, h, &who, &clk);
	if (f.all.spent_ms == 0)
		return (struct hint){.valid = false};
	return (struct hint){true, f.all.spent_ms, cfg->v[f.source].name};
}

/* --- quotas -------------------------------------------------------------- */

struct hint_quota
hint_quota_find(const struct hint_cfg *cfg, const struct head *h,
    int64_t wall_ms)
{
	struct suspects who = suspects_of(cfg, h);
	struct hint_clock clk;

	if (who.n == 0)
		return (struct hint_quota){.valid = false};
	clk = hint_clock_of(h, wall_ms);
	return find_limits(cfg, h, &who, &clk).all.tightest;
}

/* --- configuration ------------------------------------------------------- */

/* clang-format off */
#define NAME(text) {text, sizeof(text) - 1}

static const struct hint_source defaults[] = {
	{NAME("retry-after-ms"),                HINT_MS,   HINT_WAIT},
	{NAME("x-ms-retry-after-ms"),           HINT_MS,   HINT_WAIT},
	{NAME("x-amz-retry-after"),             HINT_MS,   HINT_WAIT},
	{NAME("retry-after"),                   HINT_AUTO, HINT_WAIT},
	{NAME("ratelimit"),                     HINT_SF,   HINT_LIMIT},
	{NAME("ratelimit-reset"),               HINT_AUTO, HINT_LIMIT},
	{NAME("x-ratelimit-reset-after"),       HINT_S,    HINT_LIMIT},
	{NAME("x-ratelimit-reset"),             HINT_AUTO, HINT_LIMIT},
	{NAME("x-rate-limit-reset"),            HINT_AUTO, HINT_LIMIT},
	{NAME("x-ratelimit-reset-requests"),    HINT_AUTO, HINT_LIMIT},
	{NAME("x-ratelimit-reset-tokens"),      HINT_AUTO, HINT_LIMIT},
	{NAME("anthropic-ratelimit-*-reset"),   HINT_AUTO, HINT_LIMIT},
};
/* clang-format on */

const struct hint_cfg hint_default = {defaults,
    sizeof(defaults) / sizeof(defaults[0])};

/* A token (RFC 9110 5.6.2), of which '*' is a part; and more than stars. */
static bool
is_name(struct span s)
{
	size_t stars = 0;

	for (size_t i = 0; i < s.n; i++)
		stars += s.p[i] == '*';
	return head_is_token(s) && stars < s.n;
}

int
hint_source_parse(struct span text, struct hint_source *ret,
    const char **ret_why)
{
	struct span format = text, name;
	struct hint_source source = {.kind = HINT_WAIT};
	struct hint_name reset;

	*ret_why = "the format is missing";
	if (!span_cut(&format, ':', &name) || format.p == NULL)
		return -1;
	source.name = span_trim(name);
	*ret_why = "that is no field name";
	if (!is_name(source.name))
		return -1;
	format = span_trim(format);
	if (span_ends(format, SPAN("!"))) {
		source.kind = HINT_RESET;
		format.n--;
	}
	*ret_why = "no such format";
	if (hint_format_parse(span_trim(format), &source.format))
		return -1;
	*ret_why = "'!' is for the reset of a limit";
	if (holds_limits(&source) || hint_name_of_reset(source.name, &reset))
		source.kind =
		    source.kind == HINT_RESET ? HINT_RESET : HINT_LIMIT;
	else if (source.kind == HINT_RESET)
		return -1;
	*ret = source;
	return 0;
}
