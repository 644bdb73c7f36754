/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>

#include "resolve_rig.h"

#include "edge/resolve_addrs.h"
#include "edge/resolve_cache.h"

/* clang-format off */
static const struct rig_rule rules[] = {
    {.name = "a.test", .type = ns_t_a, .addrs = "192.0.2.1", .ttl_s = 60},
    {.name = "a.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "b.test", .type = ns_t_a, .addrs = "192.0.2.2", .ttl_s = 60},
    {.name = "b.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "c.test", .type = ns_t_a, .addrs = "192.0.2.3", .ttl_s = 60},
    {.name = "c.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "zero.test", .type = ns_t_a, .addrs = "192.0.2.4"},
    {.name = "zero.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "odd.test", .type = ns_t_a, .addrs = "192.0.2.5",
	.ttl_s = 0x80000001},
    {.name = "odd.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "long.test", .type = ns_t_a, .addrs = "192.0.2.6",
	.ttl_s = 86400},
    {.name = "long.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "two.test", .type = ns_t_a, .addrs = "192.0.2.7", .ttl_s = 60},
    {.name = "two.test", .type = ns_t_aaaa, .addrs = "::7", .ttl_s = 20},
    {.name = "alias.test", .type = ns_t_a, .addrs = "192.0.2.8",
	.ttl_s = 60, .alias = "real.test", .alias_ttl_s = 5},
    {.name = "alias.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "falling.test", .type = ns_t_a,
	.addrs = "192.0.2.11 192.0.2.12", .ttl_s = 60, .less_s = 50},
    {.name = "falling.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "late.two.test", .type = ns_t_a, .addrs = "192.0.2.13",
	.ttl_s = 60},
    {.name = "late.two.test", .type = ns_t_aaaa, .says = RIG_HELD,
	.addrs = "::13"},
    {.name = "lame.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "lame.test", .type = ns_t_aaaa, .addrs = "::9", .ttl_s = 60},
    {.name = "silent.test", .type = ns_t_a, .says = RIG_SILENT},
    {.name = "silent.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = "no-aaaa.test", .type = ns_t_a, .addrs = "192.0.2.10",
	.ttl_s = 60},
    {.name = "no-aaaa.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = NULL},
};
/* clang-format on */

/* clang-format off */
static const struct rig_rule new_rules[] = {
    {.name = "a.test", .type = ns_t_a, .addrs = "198.51.100.1", .ttl_s = 60},
    {.name = "a.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "late.one.test", .type = ns_t_a, .addrs = "198.51.100.3"},
    {.name = "late.one.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "no-aaaa.test", .type = ns_t_a, .addrs = ""},
    {.name = "no-aaaa.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = "silent.test", .type = ns_t_a, .addrs = "198.51.100.2"},
    {.name = "silent.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = NULL},
};
/* clang-format on */

static void
answer_is_kept_for_its_ttl(void **state)
{
	static const struct {
		const char *name, *text;
		int64_t kept_ms;
	} t[] = {
	    {"a.test.", "192.0.2.1", 60000},
	    {"long.test.", "192.0.2.6", TTL_MAX_MS},
	    {"two.test.", "::7 192.0.2.7", 20000},
	    {"alias.test.", "192.0.2.8", 5000},
	    {"falling.test.", "192.0.2.11 192.0.2.12", 10000},
	    {"lame.test.", "::9", RESOLVE_PARTIAL_MS},
	};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_told(t[i].name, RESOLVE_OK, t[i].text);
		rig.now_ms += t[i].kept_ms - 1;
		assert_at_once(t[i].name, t[i].text);
		rig.now_ms += 1;
		rig.nlog = 0;
		assert_told(t[i].name, RESOLVE_OK, t[i].text);
		assert_true(rig.nlog >= 2);
	}
}

static void
ttl_of_zero_is_not_kept(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("zero.test.", RESOLVE_OK, "192.0.2.4");
	assert_told("zero.test.", RESOLVE_OK, "192.0.2.4");
	assert_told("odd.test.", RESOLVE_OK, "192.0.2.5");
	assert_told("odd.test.", RESOLVE_OK, "192.0.2.5");
	assert_int_equal(rig.nlog, 8);
}

static void
failure_is_not_kept(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("missing.test.", RESOLVE_NO_NAME, "");
	assert_told("missing.test.", RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 4);
}

/* The first name of the list had neither family: that is not this answer. */
static void
partial_answer_of_a_later_name_is_not_kept_long(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "late"), 0);
	assert_waiting(&a);
	rig.now_ms += RESOLVE_GRACE_MS;
	assert_true(rig_until(&rig, &a.told, 1));
	rig.now_ms += RESOLVE_PARTIAL_MS - 1;
	assert_at_once("late", "192.0.2.13");
	rig.now_ms += 1;
	assert_int_equal(ask(&a, "late"), 0);
	resolve_cancel(&a.q);
}

static void
names_compare_without_case(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("A.Test.", RESOLVE_OK, "192.0.2.1");
	assert_at_once("a.tEST.", "192.0.2.1");
	assert_string_equal(rig.log[0], "A a.test");
}

static void
reconfigured(unsigned names_max, int64_t ttl_max_ms)
{
	struct resolver_cfg cfg = cfg_of(&rig);

	cfg.cache_names_max = names_max;
	cfg.cache_ttl_max_ms = ttl_max_ms;
	resolver_reconfigure(resolver, &cfg);
}

static void
least_recently_used_makes_room(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	reconfigured(2, TTL_MAX_MS);
	assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
	assert_told("b.test.", RESOLVE_OK, "192.0.2.2");
	assert_at_once("a.test.", "192.0.2.1");
	assert_told("c.test.", RESOLVE_OK, "192.0.2.3");
	assert_at_once("a.test.", "192.0.2.1");
	assert_at_once("c.test.", "192.0.2.3");
	assert_int_equal(ask(&a, "b.test."), 0);
	resolve_cancel(&a.q);
}

static void
no_cache_keeps_nothing(void **state)
{
	static const struct {
		unsigned names_max;
		int64_t ttl_max_ms;
	} t[] = {{0, TTL_MAX_MS}, {100, 0}};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < 2; i++) {
		reconfigured(t[i].names_max, t[i].ttl_max_ms);
		assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
		assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
	}
	assert_int_equal(rig.nlog, 8);
}

/* --- who is told ---------------------------------------------------------- */

static void
equal_questions_are_asked_once(void **state)
{
	struct asker v[3], other;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&v[0], "a.test."), 0);
	assert_int_equal(ask(&v[1], "A.TEST."), 0);
	assert_int_equal(ask(&v[2], "a.test."), 0);
	assert_int_equal(ask(&other, "b.test."), 0);
	assert_true(rig_until(&rig, &v[2].told, 1));
	assert_true(rig_until(&rig, &other.told, 1));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(v[i].told, 1);
		assert_string_equal(v[i].text, "192.0.2.1");
	}
	assert_string_equal(other.text, "192.0.2.2");
	assert_int_equal(rig.nlog, 4);
}

static void
cancelled_is_not_told(void **state)
{
	struct asker a, b;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "a.test."), 0);
	assert_int_equal(ask(&b, "a.test."), 0);
	resolve_cancel(&a.q);
	resolve_cancel(&a.q);
	assert_true(rig_until(&rig, &b.told, 1));
	assert_int_equal(a.told, 0);
	resolve_cancel(&b.q);
}

static void
zeroed_query_can_be_cancelled(void **state)
{
	struct resolve_query q = {.done = NULL};

	(void)state;
	resolve_cancel(&q);
	assert_null(q.link.next);
}

static void
answer_nobody_waits_for_is_kept(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "a.test."), 0);
	resolve_cancel(&a.q);
	rig_settle(&rig);
	assert_at_once("a.test.", "192.0.2.1");
	assert_int_equal(a.told, 0);
}

static void
told_asker_may_cancel_the_next(void **state)
{
	struct asker v[3];

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(ask(&v[i], "a.test."), 0);
	v[0].victim = &v[1];
	assert_true(rig_until(&rig, &v[2].told, 1));
	assert_int_equal(v[0].told, 1);
	assert_int_equal(v[1].told, 0);
}

static struct asker second;
static int second_ask;

static void
on_told_ask_again_and_free(struct resolve_query *q, enum resolve_error err,
    struct resolve_addrs *addrs)
{
	assert_int_equal(err, RESOLVE_OK);
	resolve_addrs_put(addrs);
	mem_free(AB_CONTAINER(q, struct asker, q));
	second_ask = ask(&second, "zero.test.");
}

static void
told_asker_may_ask_again_and_free_itself(void **state)
{
	struct asker *a = mem_must_zalloc(sizeof(*a));

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(a, "zero.test."), 0);
	a->q.done = on_told_ask_again_and_free;
	second = (struct asker){.told = 0};
	assert_true(rig_until(&rig, &second.told, 1));
	assert_int_equal(second_ask, 0);
	assert_string_equal(second.text, "192.0.2.4");
	assert_int_equal(rig.nlog, 4);
}

/* --- the end, and a new beginning ----------------------------------------- */

static void
resolver_can_end_while_servers_are_silent(void **state)
{
	struct asker a, b;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "silent.test."), 0);
	assert_int_equal(ask(&b, "no-aaaa.test."), 0);
	assert_waiting(&a);
	rig.now_ms += TIMEOUT_MS;
	assert_true(rig_until(&rig, &a.told, 1)); /* c-ares goes on with it */
	assert_true(rig_until(&rig, &b.told, 1));
	assert_int_equal(ask(&a, "silent.test."), 0);
	resolve_cancel(&a.q);
}

static void
reload_asks_the_new_server(void **state)
{
	struct dns_rig other;
	struct resolver_cfg cfg;
	struct asker a, b, c, d;

	(void)state;
	rig_resolver(rules);
	rig_init(&other, rig.base);
	other.rules = new_rules;
	cfg = cfg_of(&other);
	assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
	assert_int_equal(ask(&a, "silent.test."), 0);
	assert_int_equal(ask(&b, "no-aaaa.test."), 0);
	assert_int_equal(ask(&c, "silent.test."), 0);
	resolve_cancel(&c.q);
	assert_int_equal(ask(&d, "late"), 0);
	rig_settle(&rig);
	resolver_reconfigure(resolver, &cfg);
	assert_true(rig_until(&rig, &a.told, 1));
	assert_string_equal(a.text, "198.51.100.2");
	/* From the top of the search list. */
	assert_true(rig_until(&rig, &d.told, 1));
	assert_string_equal(d.text, "198.51.100.3");
	/* What the old one said of it is forgotten, the moment too. */
	rig.now_ms += RESOLVE_GRACE_MS;
	assert_waiting(&b);
	rig.now_ms += TIMEOUT_MS;
	assert_true(rig_until(&rig, &b.told, 1));
	assert_int_equal(b.err, RESOLVE_FAILED);
	assert_told("a.test.", RESOLVE_OK, "198.51.100.1");
	rig_free(&other, false);
}

static void
reload_keeps_the_time_limit(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "silent.test."), 0);
	rig.now_ms += TIMEOUT_MS - 1;
	assert_waiting(&a);
	reconfigured(100, TTL_MAX_MS);
	assert_waiting(&a);
	rig.now_ms += 1;
	assert_true(rig_until(&rig, &a.told, 1));
	assert_int_equal(a.err, RESOLVE_FAILED);
}

static void
bad_reload_keeps_the_server(void **state)
{
	struct resolver_cfg cfg = cfg_of(&rig);

	(void)state;
	rig_resolver(rules);
	cfg.servers = "nobody";
	resolver_reconfigure(resolver, &cfg);
	assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
}

/* --- limits --------------------------------------------------------------- */

static void
names_under_way_are_bounded(void **state)
{
	struct asker *v =
	    mem_must_zalloc((RESOLVE_QUESTIONS_MAX + 1) * sizeof(*v));
	char name[32];

	(void)state;
	rig_resolver(rules);
	for (unsigned i = 0; i < RESOLVE_QUESTIONS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "n%u.test.", i);
		assert_int_equal(ask(&v[i], name), 0);
	}
	assert_int_equal(ask(&v[RESOLVE_QUESTIONS_MAX], "one-more.test."),
	    -RESOLVE_FAILED);
	/* Who asks for one of them still joins. */
	assert_int_equal(ask(&v[RESOLVE_QUESTIONS_MAX], "n7.test."), 0);
	for (unsigned i = 0; i <= RESOLVE_QUESTIONS_MAX; i++)
		resolve_cancel(&v[i].q);
	/* Given up, they still are c-ares's; with a new channel they end. */
	rig.now_ms += TIMEOUT_MS;
	(void)timers_run(&rig.timers, rig.now_ms, UINT_MAX);
	assert_int_equal(ask(&v[0], "a.test."), -RESOLVE_FAILED);
	reconfigured(100, TTL_MAX_MS);
	rig_settle(&rig); /* the server's own queue was full */
	assert_told("a.test.", RESOLVE_OK, "192.0.2.1");
	mem_free(v);
}

/* An answer that comes when all is over ends the question for good. */
static void
late_answers_make_room(void **state)
{
	(void)state;
	rig_resolver(rules);
	for (unsigned i = 0; i <= RESOLVE_QUESTIONS_MAX; i++) {
		struct asker a;
		unsigned seen = 4 * i + 4;

		assert_int_equal(ask(&a, "late"), 0);
		assert_true(rig_until(&rig, &rig.nlog, seen));
		for (int k = 0; k < 10 && rig.timers.heap.n > 0; k++)
			(void)event_base_loop(rig.base,
			    EVLOOP_ONCE | EVLOOP_NONBLOCK);
		(void)timers_run(&rig.timers, rig.now_ms, UINT_MAX);
		rig.now_ms += RESOLVE_GRACE_MS;
		assert_true(rig_until(&rig, &a.told, 1));
		assert_string_equal(a.text, "192.0.2.13");
		rig_release(&rig);
		rig.now_ms += RESOLVE_PARTIAL_MS;
	}
}

static void
put_again_replaces(void **state)
{
	const struct dns_found none = {.n = 0}, one = {.n = 1};
	struct resolve_addrs *old = resolve_addrs_new(&none, &one);
	struct resolve_addrs *new = resolve_addrs_new(&none, &one);
	struct resolve_addrs *got;
	struct resolve_cache c;

	(void)state;
	assert_int_equal(resolve_cache_init(&c), 0);
	resolve_cache_reset(&c, 10);
	resolve_cache_put(&c, SPAN("a"), 7, old, 1000);
	resolve_cache_put(&c, SPAN("b"), 7, old, 1000);
	resolve_cache_put(&c, SPAN("a"), 7, new, 500);
	assert_int_equal(c.names.n, 2);
	got = resolve_cache_find(&c, SPAN("a"), 7, 499);
	assert_ptr_equal(got, new);
	resolve_addrs_put(got);
	assert_null(resolve_cache_find(&c, SPAN("a"), 7, 500));
	got = resolve_cache_find(&c, SPAN("b"), 7, 500);
	assert_ptr_equal(got, old);
	resolve_addrs_put(got);
	resolve_addrs_put(old);
	resolve_addrs_put(new);
	resolve_cache_free(&c);
}

/* Each allocation of ours fails once: an error or an answer, and no leak. */
static void
no_memory_is_an_answer(void **state)
{
	unsigned refused = 0;

	(void)state;
	rig_resolver(rules);
	for (unsigned long n = 1;; n++) {
		struct asker a;
		int got;

		reconfigured(100, TTL_MAX_MS); /* empties the cache */
		mem_fail_at(n, false);
		got = ask(&a, "a.test.");
		rig_settle(&rig);
		if (got == 0 && a.told == 0)
			rig.now_ms += TIMEOUT_MS; /* a socket unheard */
		if (got == 0)
			assert_true(rig_until(&rig, &a.told, 1));
		if (mem_count() < n) {
			assert_int_equal(a.err, RESOLVE_OK);
			mem_fail_at(0, false);
			break;
		}
		mem_fail_at(0, false);
		assert_true(got == 0 || got == -RESOLVE_NO_MEMORY);
		refused += got != 0 || a.err == RESOLVE_NO_MEMORY;
	}
	assert_true(refused >= 2); /* the question, and the addresses */
}

static void
no_memory_at_the_start_is_reported(void **state)
{
	struct resolver_cfg cfg = cfg_of(&rig);
	struct resolver *r = NULL;

	(void)state;
	for (unsigned long n = 1; r == NULL; n++) {
		const char *why = NULL;

		mem_fail_at(n, false);
		r = resolver_new(rig.base, &rig.timers, &rig.now_ms, &cfg,
		    &why);
		assert_true(r != NULL || (why != NULL && n < 10));
	}
	mem_fail_at(0, false);
	resolver_free(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(answer_is_kept_for_its_ttl),
	    TEST(ttl_of_zero_is_not_kept),
	    TEST(failure_is_not_kept),
	    TEST(partial_answer_of_a_later_name_is_not_kept_long),
	    TEST(names_compare_without_case),
	    TEST(least_recently_used_makes_room),
	    TEST(no_cache_keeps_nothing),
	    TEST(equal_questions_are_asked_once),
	    TEST(cancelled_is_not_told),
	    TEST(zeroed_query_can_be_cancelled),
	    TEST(answer_nobody_waits_for_is_kept),
	    TEST(told_asker_may_cancel_the_next),
	    TEST(told_asker_may_ask_again_and_free_itself),
	    TEST(resolver_can_end_while_servers_are_silent),
	    TEST(reload_asks_the_new_server),
	    TEST(reload_keeps_the_time_limit),
	    TEST(bad_reload_keeps_the_server),
	    TEST(names_under_way_are_bounded),
	    TEST(late_answers_make_room),
	    cmocka_unit_test(put_again_replaces),
	    TEST(no_memory_is_an_answer),
	    TEST(no_memory_at_the_start_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
