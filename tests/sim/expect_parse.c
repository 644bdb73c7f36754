/* SPDX-License-Identifier: MIT */
/*
 * expect_parse reads what follows "expect": a thing that can be looked up, its
 * value, and at the end which requests are meant.
 */
#include <stdlib.h>

#include "scene.h"

void
expect_free(struct expect *x)
{
	free(x->text);
}

static enum give_up
read_reason(struct words *w)
{
	const char *name = words_next(w, "a reason");

	for (int i = 0; i < GIVE_UP_COUNT; i++)
		if (strcmp(give_up_name((enum give_up)i), name) == 0)
			return (enum give_up)i;
	words_bad(w, "no reason '%s'", name);
}

/* A qualifier with a range. */
static bool
read_range(struct words *w, const char *name, int64_t (*value)(struct words *),
    bool *ret_has, struct range *ret)
{
	if (!words_take(w, name))
		return false;
	*ret_has = true;
	*ret = words_range(w, value);
	return true;
}

/* What may follow any of them. */
static bool
read_selector(struct expect *x, struct scene *s, struct words *w)
{
	if (read_range(w, "count", words_count, &x->has_count, &x->count) ||
	    read_range(w, "at", words_time_us, &x->has_at, &x->at) ||
	    read_range(w, "retry-after", words_time_us, &x->has_retry,
		&x->retry_after))
		return true;
	if (words_take(w, "of")) {
		x->client = scene_client(s, words_next(w, "a client"));
	} else if (words_take(w, "to")) {
		x->service = scene_service(s, w);
	} else if (words_take(w, "since")) {
		x->since_us = words_time_us(w);
	} else if (words_take(w, "until")) {
		x->until_us = words_time_us(w);
	} else if (words_take(w, "reason")) {
		x->has_why = true;
		x->why = read_reason(w);
	} else {
		return false;
	}
	return true;
}

static void
read_selectors(struct expect *x, struct scene *s, struct words *w)
{
	while (!words_end(w))
		if (!read_selector(x, s, w))
			words_done(w);
}

static void
list_add(struct expect *x, struct words *w, int64_t v)
{
	if (x->nlist == EXPECT_LIST_MAX)
		words_bad(w, "the list is too long");
	x->list[x->nlist++] = v;
}

static void
read_numbers(struct expect *x, struct words *w)
{
	while (words_is_number(w))
		list_add(x, w, words_count(w));
}

static void
read_bursts(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_BURSTS;
	read_numbers(x, w);
}

static void
read_statuses(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_STATUSES;
	read_numbers(x, w);
}

/* A B A*10 */
static void
read_starts(struct expect *x, struct scene *s, struct words *w)
{
	x->kind = EXPECT_STARTS;
	while (!words_end(w)) {
		char name[NAME_BYTES] = "", *star;
		long times = 1;

		strncpy(name, words_next(w, "a client"), sizeof(name) - 1);
		star = strchr(name, '*');
		if (star) {
			*star = '\0';
			times = strtol(star + 1, NULL, 10);
		}
		while (times-- > 0)
			list_add(x, w, scene_client(s, name));
	}
}

static void
read_name(struct expect *x, struct words *w, const char *what)
{
	strncpy(x->name, words_next(w, what), sizeof(x->name) - 1);
}

static void
read_attempt(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_ATTEMPT;
	x->nth = (unsigned)words_count(w);
	words_need(w, "at");
	x->value = words_range(w, words_time_us);
}

static void
read_max(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	if (words_take(w, "concurrent")) {
		x->kind = EXPECT_MAX_CONCURRENT;
		x->value = words_range(w, words_count);
		return;
	}
	words_need(w, "rate");
	x->kind = EXPECT_MAX_RATE;
	x->limit = words_count(w);
	words_need(w, "in");
	x->per_us = words_time_us(w);
	if (words_take(w, "burst"))
		x->limit += words_count(w);
}

static void
read_order(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_ORDER;
	words_need(w, "fifo");
	if (words_take(w, "within")) {
		words_need(w, "client");
		x->within_client = true;
	}
}

static void
read_waited(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_WAITED;
	x->wait = -1;
	for (int i = 0; i < WAIT_WHY_COUNT; i++)
		if (words_take(w, wait_why_name((enum wait_why)i)))
			x->wait = i;
	x->value = words_range(w, words_time_us);
}

static void
read_answer(struct expect *x, struct words *w, enum expect_source source)
{
	x->kind = EXPECT_ANSWER;
	x->source = source;
	x->status = (int)words_count(w);
}

/* Things with one value, all read alike. */
static bool
read_value(struct expect *x, struct words *w)
{
	static const struct {
		const char *name;
		enum expect_kind kind;
		int64_t (*value)(struct words *w);
	} all[] = {{"attempts", EXPECT_ATTEMPTS, words_count},
	    {"gone", EXPECT_GONE, words_count},
	    {"connections", EXPECT_CONNECTIONS, words_count},
	    {"received", EXPECT_RECEIVED, words_size},
	    {"parked", EXPECT_PARKED, words_count}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!words_take(w, all[i].name))
			continue;
		x->kind = all[i].kind;
		x->value = words_range(w, all[i].value);
		return true;
	}
	return false;
}

static bool
read_answers(struct expect *x, struct words *w)
{
	if (words_take(w, "all") || words_take(w, "answer"))
		read_answer(x, w, SOURCE_ANY);
	else if (words_take(w, "relayed"))
		read_answer(x, w, SOURCE_RELAYED);
	else if (words_take(w, "own"))
		read_answer(x, w, SOURCE_OWN);
	else if (words_take(w, "cut"))
		read_answer(x, w, SOURCE_CUT);
	else
		return false;
	return true;
}

static void
read_counter(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_COUNTER;
	read_name(x, w, "a counter");
	x->value = words_range(w, words_count);
}

static void
read_state(struct expect *x, struct scene *s, struct words *w)
{
	x->kind = EXPECT_STATE;
	x->service = scene_service(s, w);
	read_name(x, w, "a state");
}

static void
read_end(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_END;
	words_need(w, "at");
	x->value = words_range(w, words_time_us);
}

static void
read_why(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_REASON;
	x->why = read_reason(w);
}

static void
read_pace(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_PACE;
	x->rate = words_rate(w);
}

static void
read_header(struct expect *x, struct scene *s, struct words *w)
{
	(void)s;
	x->kind = EXPECT_HEADER;
	read_name(x, w, "a field");
}

static void
read_thing(struct expect *x, struct scene *s, struct words *w)
{
	static const struct {
		const char *name;
		void (*read)(struct expect *, struct scene *, struct words *);
	} all[] = {{"attempt", read_attempt}, {"reason", read_why},
	    {"max", read_max}, {"pace", read_pace}, {"order", read_order},
	    {"starts", read_starts}, {"bursts", read_bursts},
	    {"waited", read_waited}, {"statuses", read_statuses},
	    {"end", read_end}, {"counter", read_counter},
	    {"header", read_header}, {"state", read_state}};

	if (read_value(x, w) || read_answers(x, w))
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (!words_take(w, all[i].name))
			continue;
		all[i].read(x, s, w);
		return;
	}
	words_bad(w, "nothing that can be expected: '%s'",
	    words_next(w, "what is expected"));
}

void
expect_parse(struct expect *x, struct scene *s, struct words *w,
    const char *line)
{
	*x = (struct expect){
	    .line = w->line,
	    .text = strdup(line + strspn(line, " \t")),
	    .client = -1,
	    .service = -1,
	    .until_us = INT64_MAX,
	};
	x->negated = words_take(w, "not");
	read_thing(x, s, w);
	if (x->kind != EXPECT_STARTS)
		read_selectors(x, s, w);
}
