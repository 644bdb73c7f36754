/* SPDX-License-Identifier: MIT */
/*
 * What providers document, sent through the presets that are shipped: each
 * answer of presets/providers.txt, which says how it is written, is read by
 * reading_of with the policy of a service that has the preset.
 */
#include "conf_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "edge/preset.h"
#include "policy/reading.h"

#define NOW_S INT64_C(1893456000) /* 2030-01-01T00:00:00Z */
#define PROVIDERS 83              /* that facts were collected about */
#define PRESETS_MAX 200
#define NONE (-1)

struct table {
	struct conf *conf; /* a service per preset, of the same name */
	const char *file;
	unsigned line;

	struct span provider; /* the one at hand */
	struct span preset;   /* "-": none; p NULL: not given yet */
	bool has_reason;
	unsigned answers; /* of this provider */
	int64_t now_ms;

	struct strbuf head, body; /* of the answer at hand */
	int status;

	unsigned providers, answers_all;
	bool used[PRESETS_MAX]; /* by its place in the list of all */
};

#define FAIL(t, fmt, ...) \
	fail_msg("%s:%u: " fmt, (t)->file, (t)->line, __VA_ARGS__)

/* [service NAME] with `preset = NAME`, for all there are. */
static struct conf *
conf_of_all(void)
{
	struct strbuf text;

	strbuf_init(&text, 64 * 1024);

	for (size_t i = 0; i < preset_nbuilt_in; i++) {
		struct span name = span_of(preset_built_in[i].name);

		strbuf_lit(&text, "[service ");
		strbuf_span(&text, name);
		strbuf_lit(&text, "]\npreset = ");
		strbuf_span(&text, name);
		strbuf_lit(&text, "\n");
	}
	strbuf_char(&text, '\0');
	assert_false(text.failed);
	struct conf *c = rig_good(text.p);

	strbuf_free(&text);
	return c;
}

static void
end_provider(const struct table *t)
{
	if (t->provider.p != NULL && t->answers == 0 && !t->has_reason)
		FAIL(t, "%.*s before it has no answer, and no reason why not",
		    SPAN_ARG(t->provider));
}

static void
begin_provider(struct table *t, struct span name)
{
	end_provider(t);
	t->provider = name;
	t->preset = (struct span){NULL, 0};
	t->has_reason = false;
	t->answers = 0;
	t->now_ms = NOW_S * 1000;
	t->providers++;
}

static void
begin_preset(struct table *t, struct span name)
{
	t->preset = name;
	if (span_eq(name, SPAN("-")))
		return;
	for (size_t i = 0; i < preset_nbuilt_in; i++) {
		if (!span_eq(name, span_of(preset_built_in[i].name)))
			continue;
		assert_true(i < PRESETS_MAX);
		t->used[i] = true;
		return;
	}
	FAIL(t, "no preset %.*s", SPAN_ARG(name));
}

/* All the hosts belong to the service of the preset. */
static void
check_hosts(const struct table *t, struct span hosts)
{
	struct span host;

	while (span_cut(&hosts, ' ', &host)) {
		const struct conf_service *s =
		    conf_service_of(t->conf, host, 443);

		if (!span_eq(span_of(s->name), t->preset))
			FAIL(t, "%.*s belongs to \"%s\"", SPAN_ARG(host),
			    s->name);
	}
}

static int64_t
number(const struct table *t, struct span text)
{
	uint64_t v = 0;

	if (span_u64(text, &v))
		FAIL(t, "no number: %.*s", SPAN_ARG(text));
	return (int64_t)v;
}

static void
begin_answer(struct table *t, struct span status)
{
	t->status = (int)number(t, status);
	strbuf_clear(&t->head);
	strbuf_clear(&t->body);
	strbuf_lit(&t->head, "HTTP/1.1 ");
	strbuf_span(&t->head, status);
	strbuf_lit(&t->head, " X\r\n");
	t->answers++;
	t->answers_all++;
}

static const struct policy *
policy_of(const struct table *t)
{
	if (span_eq(t->preset, SPAN("-")))
		return &t->conf->defaults.policy;
	const struct conf_service *s = conf_service_named(t->conf, t->preset);

	if (s == NULL)
		FAIL(t, "no preset in front of %d", t->status);
	return &s->policy;
}

/* What the answer means, in the words of the table. */
static void
meaning(struct table *t, char *ret, size_t n)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	const struct policy *p = policy_of(t);
	struct head_scan scan = {0};
	struct head h;
	const char *why = NULL;

	strbuf_lit(&t->head, "\r\n");
	assert_false(t->head.failed || t->body.failed);
	if (head_response(t->head.p, t->head.n, &scan, &limits, &h, &why))
		FAIL(t, "no head: %s", why);
	struct body_view body = {{t->body.n ? t->body.p : "", t->body.n}, true};
	struct reading r = reading_of(p, &h, &body, t->now_ms);

	if (r.says == SAYS_PERMANENT) {
		(void)snprintf(ret, n, "permanent");
		return;
	}
	if (!r.throttled) {
		(void)snprintf(ret, n, "passed");
		return;
	}
	const char *post =
	    verdict_statuses_has(&p->verdict.retry_non_idempotent, t->status)
	    ? " post"
	    : "";

	if (r.hint.valid)
		(void)snprintf(ret, n, "throttled %lld%s",
		    (long long)r.hint.wait_ms, post);
	else
		(void)snprintf(ret, n, "throttled none%s", post);
}

static void
check_answer(struct table *t, struct span want)
{
	char got[80];

	meaning(t, got, sizeof(got));
	if (!span_eq(span_of(got), want))
		FAIL(t, "%.*s: %d is \"%s\", not \"%.*s\"",
		    SPAN_ARG(t->provider), t->status, got, SPAN_ARG(want));
	t->status = 0;
}

/* How many may start per ms, by its first rate; "alone": one at a time. */
static void
check_pace(const struct table *t, struct span want)
{
	const struct policy *p = policy_of(t);
	char got[80] = "none";

	if (p->bucket.n == 1)
		(void)snprintf(got, sizeof(got), "%llu/%lld%s",
		    (unsigned long long)p->bucket.v[0].count,
		    (long long)p->bucket.v[0].per_ms,
		    p->concurrency == 1 ? " alone" : "");
	if (!span_eq(span_of(got), want))
		FAIL(t, "%.*s: the pace is %s", SPAN_ARG(t->provider), got);
}

static void
one_line(struct table *t, struct span line)
{
	struct span word, rest = line;

	if (line.n == 0 || line.p[0] == '#')
		return;
	(void)span_cut(&rest, ' ', &word);
	if (span_eq(word, SPAN("provider"))) {
		begin_provider(t, rest);
	} else if (span_eq(word, SPAN("preset"))) {
		begin_preset(t, rest);
	} else if (span_eq(word, SPAN("host"))) {
		check_hosts(t, rest);
	} else if (span_eq(word, SPAN("at"))) {
		t->now_ms = number(t, rest) * 1000;
	} else if (span_eq(word, SPAN("answer"))) {
		begin_answer(t, rest);
	} else if (span_eq(word, SPAN("<"))) {
		strbuf_span(&t->head, rest);
		strbuf_lit(&t->head, "\r\n");
	} else if (span_eq(word, SPAN(">"))) {
		strbuf_span(&t->body, rest);
		strbuf_lit(&t->body, "\n");
	} else if (span_eq(word, SPAN("="))) {
		check_answer(t, rest);
	} else if (span_eq(word, SPAN("pace"))) {
		check_pace(t, rest);
	} else if (span_eq(word, SPAN("reason"))) {
		t->has_reason = true;
	} else {
		FAIL(t, "what is %.*s?", SPAN_ARG(line));
	}
}

/* The table, where the tree is at hand. */
static struct span
read_table(char *path, size_t path_n)
{
	const char *top = getenv("top_srcdir");
	static char text[128 * 1024];

	if (top == NULL)
		skip();
	(void)snprintf(path, path_n, "%s/tests/unit/presets/providers.txt",
	    top);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	size_t n = fread(text, 1, sizeof(text), f);

	assert_true(n < sizeof(text));
	assert_int_equal(fclose(f), 0);
	return (struct span){text, n};
}

static void
answer_of_provider_means_what_it_documents(void **state)
{
	char path[4096];
	struct span rest = read_table(path, sizeof(path)), line;
	struct table t = {.file = path, .conf = conf_of_all()};

	strbuf_init(&t.head, 64 * 1024);
	strbuf_init(&t.body, 64 * 1024);
	(void)state;
	while (span_cut(&rest, '\n', &line)) {
		t.line++;
		one_line(&t, line);
	}
	end_provider(&t);
	assert_int_equal(t.providers, PROVIDERS);
	assert_true(t.answers_all > 180);
	for (size_t i = 0; i < preset_nbuilt_in; i++)
		if (!t.used[i])
			fail_msg("%s: no answer goes through the preset %s",
			    path, preset_built_in[i].name);
	strbuf_free(&t.head);
	strbuf_free(&t.body);
	conf_unref(t.conf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answer_of_provider_means_what_it_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
