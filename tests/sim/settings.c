/* SPDX-License-Identifier: MIT */
/*
 * settings decides what a line NAME = VALUE of a scenario changes. Bounds and
 * the like are the configuration's business; here a number is taken as it is.
 */
#include "settings.h"

#include <stdlib.h>

#define AS_DEADLINE (-1) /* ms */

enum kind { MS, COUNT, SIZE, FLAG };

struct setting {
	const char *name;
	enum kind kind;
	size_t at; /* in struct settings */
};

#define IN(member) offsetof(struct settings, member)
static const struct setting plain[] = {
    {"base_delay", MS, IN(policy.backoff.base_ms)},
    {"max_delay", MS, IN(policy.backoff.max_ms)},
    {"jitter", MS, IN(policy.backoff.jitter_ms)},
    {"deadline", MS, IN(policy.deadline_ms)},
    {"max_wait", MS, IN(policy.max_wait_ms)},
    {"queue_timeout", MS, IN(policy.queue_timeout_ms)},
    {"connect_timeout", MS, IN(policy.connect_timeout_ms)},
    {"response_timeout", MS, IN(policy.response_timeout_ms)},
    {"idle_timeout", MS, IN(policy.idle_timeout_ms)},
    {"max_retries", COUNT, IN(policy.verdict.max_retries)},
    {"failure_cutoff", COUNT, IN(policy.service.failure_cutoff)},
    {"concurrency", COUNT, IN(policy.concurrency)},
    {"queue", COUNT, IN(policy.queue)},
    {"max_keys", COUNT, IN(policy.max_keys)},
    {"burst", COUNT, IN(burst)},
    {"body_buffer", SIZE, IN(policy.body_buffer_bytes)},
    {"stream_peek", SIZE, IN(policy.stream_peek_bytes)},
    {"body_spill", SIZE, IN(policy.body_spill_bytes)},
    {"retry_connect", FLAG, IN(policy.verdict.retry_connect)},
    {"allow_half_close", FLAG, IN(policy.allow_half_close)},
    {"dry_run", FLAG, IN(policy.dry_run)},
    {"learn_retry_after", FLAG, IN(policy.quota.pauses)},
    {"script_body", FLAG, IN(policy.script_body)},
};

static const struct policy defaults = {
    .verdict =
	{
	    .retry_on = {3, {429, 503, 504}},
	    .retry_non_idempotent = {1, {429}},
	    .max_retries = 4,
	    .retry_connect = true,
	    .retry_reset = RESET_IDEMPOTENT,
	},
    .backoff =
	{
	    .strategy = STRATEGY_AUTO,
	    .base_ms = 1000,
	    .max_ms = 10000,
	    .jitter_ms = 1500,
	},
    .service = {.failure_cutoff = 5, .half_open_ms = SERVICE_HALF_OPEN_MS},
    .quota = {.percent = 50, .pauses = true},
    .adapt = {.floor_per_ms = 1.0 / 60000},
    .queue = 10000,
    .queue_timeout_ms = AS_DEADLINE,
    .deadline_ms = 60000,
    .max_wait_ms = AS_DEADLINE,
    .body_buffer_bytes = 1 << 20,
    .body_spill_bytes = 64 << 20,
    .head_timeout_ms = 10000,
    .connect_timeout_ms = 10000,
    .response_timeout_ms = 60000,
    .idle_timeout_ms = 60000,
    .max_keys = 1000,
};

void
settings_init(struct settings *s)
{
	*s = (struct settings){.policy = defaults, .burst = 1};
	s->policy.hint = hint_default;
}

static void
set_plain(struct settings *s, const struct setting *d, struct words *w)
{
	char *to = (char *)s + d->at;
	unsigned count;
	uint64_t size;
	int64_t ms;
	bool flag;

	switch (d->kind) {
	case MS:
		ms = words_take(w, "deadline") ? AS_DEADLINE
					       : words_time_us(w) / 1000;
		memcpy(to, &ms, sizeof(ms));
		break;
	case COUNT:
		count = (unsigned)words_count(w);
		memcpy(to, &count, sizeof(count));
		break;
	case SIZE:
		size = (uint64_t)words_size(w);
		memcpy(to, &size, sizeof(size));
		break;
	case FLAG:
		flag = words_flag(w);
		memcpy(to, &flag, sizeof(flag));
		break;
	}
}

static void
set_statuses(struct verdict_statuses *set, struct words *w)
{
	set->n = 0;
	if (words_take(w, "none"))
		return;
	do {
		if (set->n == VERDICT_STATUSES_MAX)
			words_bad(w, "too many statuses");
		set->v[set->n++] = (short)words_count(w);
	} while (words_take(w, ","));
}

static void
set_non_idempotent(struct settings *s, struct words *w)
{
	struct verdict_cfg *v = &s->policy.verdict;

	v->non_idempotent_always = words_take(w, "always");
	v->retry_non_idempotent.n = 0;
	if (!v->non_idempotent_always && !words_take(w, "never"))
		set_statuses(&v->retry_non_idempotent, w);
}

static void
set_rates(struct settings *s, struct words *w)
{
	struct bucket_cfg *b = &s->policy.bucket;

	b->n = 0;
	if (words_take(w, "none"))
		return;
	do {
		if (b->n == BUCKET_RATES_MAX)
			words_bad(w, "too many rates");
		b->v[b->n++] = words_rate(w);
	} while (words_take(w, ","));
}

static void
set_adaptive(struct settings *s, struct words *w)
{
	s->policy.adapt.mode = ADAPTIVE_AIMD;
	if (words_take(w, "off"))
		s->policy.adapt.mode = ADAPTIVE_OFF;
	else
		words_need(w, "aimd");
}

static void
set_floor(struct settings *s, struct words *w)
{
	struct bucket_rate r = words_rate(w);

	s->policy.adapt.floor_per_ms = (double)r.count / (double)r.per_ms;
}

/* "off", "20%", "10/s burst 10", "20% + 10/s". A rate has a burst of 1 here. */
static void
set_budget(struct settings *s, struct words *w)
{
	struct budget_cfg *b = &s->policy.budget;

	*b = (struct budget_cfg){.on = !words_take(w, "off")};
	if (!b->on)
		return;
	if (words_take_percent(w, &b->percent) && !words_take(w, "+"))
		return;
	b->floor = words_rate(w);
	if (b->floor.burst == 0)
		b->floor.burst = 1;
}

/* A name lives as long as the program. */
static void
set_field(struct span *to, struct words *w)
{
	char *name = strdup(words_next(w, "a field's name"));

	if (!name)
		abort();
	*to = span_of(name);
}

static void
set_bucket(struct settings *s, struct words *w)
{
	set_field(&s->policy.lesson.bucket, w);
}

static void
set_scope(struct settings *s, struct words *w)
{
	set_field(&s->policy.lesson.scope, w);
}

static void
set_learn(struct settings *s, struct words *w)
{
	s->policy.quota.percent = 0;
	if (!words_take(w, "off") &&
	    !words_take_percent(w, &s->policy.quota.percent))
		words_bad(w, "learn_quota: off or a percentage");
}

static void
set_strategy(struct settings *s, struct words *w)
{
	if (words_take(w, "auto"))
		s->policy.backoff.strategy = STRATEGY_AUTO;
	else if (words_take(w, "exponential"))
		s->policy.backoff.strategy = STRATEGY_EXPONENTIAL;
	else if (words_take(w, "response_header"))
		s->policy.backoff.strategy = STRATEGY_RESPONSE_HEADER;
	else if (words_take(w, "custom"))
		s->policy.backoff.strategy = STRATEGY_CUSTOM;
	else
		words_bad(w, "no such strategy");
}

static void
set_reset(struct settings *s, struct words *w)
{
	if (words_take(w, "never"))
		s->policy.verdict.retry_reset = RESET_NEVER;
	else if (words_take(w, "idempotent"))
		s->policy.verdict.retry_reset = RESET_IDEMPOTENT;
	else if (words_take(w, "always"))
		s->policy.verdict.retry_reset = RESET_ALWAYS;
	else
		words_bad(w, "retry_reset: never, idempotent or always");
}

/* NAME:FORMAT, ... The names live as long as the program. */
static void
set_hints(struct settings *s, struct words *w)
{
	const char *why;
	size_t n = 0;

	s->policy.hint = (struct hint_cfg){.n = 0};
	if (words_take(w, "none"))
		return;
	do {
		char *text = strdup(words_next(w, "a field's name"));

		if (!text || n == SETTINGS_HINTS_MAX ||
		    hint_source_parse(span_of(text), &s->hints[n++], &why))
			words_bad(w, "wait_headers takes NAME:FORMAT, ...");
	} while (words_take(w, ","));
	s->policy.hint.n = n;
}

/* The list of a policy that is kept in settings.rules[i]. */
static struct when_list *
rules_of(struct policy *p, unsigned i)
{
	struct when_cfg *c = &p->when;
	struct when_list *all[SETTINGS_RULES] = {&c->permanent, &c->throttled,
	    &c->wait_body, &c->wait};

	return all[i];
}

/* "RULE", ... False: it is none of these options. */
static bool
set_rules(struct settings *s, const char *key, struct words *w)
{
	static const char *const keys[SETTINGS_RULES] = {"permanent_when",
	    "throttled_when", "wait_body", "wait_when"};
	static const enum when_kind kinds[SETTINGS_RULES] = {WHEN_RULE,
	    WHEN_RULE, WHEN_WAIT_BODY, WHEN_WAIT};
	struct when_fault fault;
	struct when_list *list;
	unsigned i = 0;

	while (i < SETTINGS_RULES && strcmp(keys[i], key) != 0)
		i++;
	if (i == SETTINGS_RULES)
		return false;
	list = rules_of(&s->policy, i);
	list->n = 0;
	do {
		const char *text = words_next(w, "a rule in quotes");

		if (list->n == SETTINGS_RULES_MAX ||
		    when_parse(span_of(text), kinds[i], &s->rules[i][list->n],
			&fault) < 0)
			words_bad(w, "'%s' is no rule, or one too many", text);
		list->n++;
	} while (words_take(w, ","));
	return true;
}

bool
settings_set(struct settings *s, const char *key, struct words *w)
{
	static const struct {
		const char *name;
		void (*set)(struct settings *s, struct words *w);
	} special[] = {{"strategy", set_strategy},
	    {"retry_non_idempotent", set_non_idempotent}, {"rate", set_rates},
	    {"retry_reset", set_reset}, {"retry_budget", set_budget},
	    {"learn_quota", set_learn}, {"bucket_header", set_bucket},
	    {"scope_header", set_scope}, {"wait_headers", set_hints},
	    {"adaptive", set_adaptive}, {"adaptive_floor", set_floor}};

	words_need(w, "=");
	if (set_rules(s, key, w))
		return true;
	if (strcmp(key, "retry_on") == 0) {
		set_statuses(&s->policy.verdict.retry_on, w);
		return true;
	}
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (strcmp(special[i].name, key) == 0) {
			special[i].set(s, w);
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (strcmp(plain[i].name, key) == 0) {
			set_plain(s, &plain[i], w);
			return true;
		}
	}
	return false;
}

void
settings_finish(struct settings *to, const struct settings *from)
{
	struct policy *p = &to->policy;

	*to = *from;
	if (p->max_wait_ms == AS_DEADLINE)
		p->max_wait_ms = p->deadline_ms;
	if (p->queue_timeout_ms == AS_DEADLINE)
		p->queue_timeout_ms = p->deadline_ms;
	for (unsigned i = 0; i < p->bucket.n; i++)
		if (p->bucket.v[i].burst == 0)
			p->bucket.v[i].burst = to->burst;
	p->service.has_rate = p->bucket.n > 0 || adapt_on(&p->adapt);
	if (p->hint.v != hint_default.v)
		p->hint.v = to->hints;
	for (unsigned i = 0; i < SETTINGS_RULES; i++)
		rules_of(p, i)->v = to->rules[i];
}

struct key_cfg
settings_key_cfg(const struct settings *s)
{
	return (struct key_cfg){
	    .service = s->policy.service,
	    .bucket = s->policy.bucket,
	    .adapt = s->policy.adapt,
	    .budget = s->policy.budget,
	    .quota = s->policy.quota,
	    .concurrency = s->policy.concurrency,
	    .queue = s->policy.queue,
	    .max_keys = s->policy.max_keys,
	};
}
