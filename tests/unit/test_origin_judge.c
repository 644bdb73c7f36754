/* SPDX-License-Identifier: MIT */
/*
 * The simulator's judge, its memory of keys and its sums, in virtual time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "origin/judge.h"
#include "origin/report.h"
#include "origin/summary.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define T0 (7 * S + 3)

static const struct hash_key seed = {1, 2};

struct bench {
	struct keytab keys;
	struct wish wish;
	struct key *key;
	struct verdict v;
};

static void
setup(struct bench *b, const char *query)
{
	struct strbuf why;

	strbuf_init(&why, 1000);
	assert_int_equal(keytab_init(&b->keys, &seed, 100, 1000000), 0);
	wish_init(&b->wish);
	assert_int_equal(wish_query(&b->wish, span_of(query), &why), 0);
	assert_int_equal(wish_check(&b->wish, &why), 0);
	b->key = keytab_get(&b->keys, SPAN("k"));
	assert_non_null(b->key);
	key_adopt_limits(b->key, &b->wish);
	key_adopt_script(b->key, &b->wish);
	strbuf_free(&why);
}

static void
teardown(struct bench *b)
{
	wish_free(&b->wish);
	keytab_free(&b->keys);
}

/* The status, 0 where the path's own is due. */
static int
attempt(struct bench *b, int64_t now_ns)
{
	assert_int_equal(judge_attempt(&b->keys, b->key, b->key, &b->wish,
			     now_ns, &b->v),
	    0);
	return b->v.status;
}

static void
rates_that_do_not_all_fit_take_from_none(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, "rate=1/s&burst=2&rate=10/min&burst=10");
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(attempt(&b, T0), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(attempt(&b, T0), 429);
	assert_int_equal(b.v.ready_ns, T0 + S);
	assert_int_equal(limit_left(&b.key->limits[1], T0), 8);
	teardown(&b);
}

static void
refusal_tells_the_longest_of_the_waits(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, "rate=1/s&rate=1/min&status=503");
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(attempt(&b, T0), 503);
	assert_true(b.v.refused && b.v.hinted);
	assert_int_equal(b.v.after_ns, -1);
	assert_int_equal(b.v.ready_ns, T0 + 60 * S);
	assert_int_equal(b.v.quota.window_ns, 60 * S);
	teardown(&b);
}

static void
max_admits_so_many_at_once(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, "max=3&hold=2s");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(attempt(&b, T0), 0);
		assert_true(b.v.held);
	}
	assert_int_equal(attempt(&b, T0), 429);
	assert_false(b.v.held);
	assert_int_equal(b.v.after_ns, 2 * S);
	b.key->held--;
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(attempt(&b, T0), 429);
	teardown(&b);
}

static void
max_that_refuses_takes_no_token(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, "max=1&rate=2/s&burst=2");
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(attempt(&b, T0), 429);
	assert_int_equal(limit_left(&b.key->limits[0], T0), 1);
	teardown(&b);
}

static void
script_goes_before_limits_and_ends(void **state)
{
	static const int want[] = {429, 429, 503, 200, 0, 429};
	struct bench b;

	(void)state;
	setup(&b, "s=429:2*2,503,200&rate=1/s");
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		assert_int_equal(attempt(&b, T0), want[i]);
		assert_int_equal(b.v.refused, want[i] >= 400);
		assert_int_equal(b.v.hinted, i < 2 || i == 5);
		if (i < 2)
			assert_int_equal(b.v.after_ns, 2 * S);
	}
	teardown(&b);
}

static void
script_counts_by_the_one_who_came(void **state)
{
	struct bench b;
	struct key *id;

	(void)state;
	setup(&b, "fail=1");
	id = keytab_get(&b.keys, SPAN("k\n1"));
	assert_non_null(id);
	key_adopt_script(id, &b.wish);
	assert_int_equal(attempt(&b, T0), 429);
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(judge_attempt(&b.keys, b.key, id, &b.wish, T0, &b.v),
	    0);
	assert_int_equal(b.v.status, 429);
	keytab_reset(&b.keys, SPAN("k"));
	assert_int_equal(id->script_at, 0);
	assert_int_equal(b.key->script_at, 0);
	teardown(&b);
}

static void
early_is_measured_to_the_nanosecond(void **state)
{
	struct key k = {.hinted_ns = 0};
	int64_t age_ns;

	(void)state;
	assert_int_equal(judge_early_ns(&k, T0, 0, &age_ns), 0);
	assert_int_equal(age_ns, -1);
	judge_told(&k, T0, 2 * S);
	assert_int_equal(judge_early_ns(&k, T0 + 2 * S - 1, 0, &age_ns), 1);
	assert_int_equal(age_ns, 2 * S - 1);
	assert_int_equal(judge_early_ns(&k, T0 + 2 * S, 0, &age_ns), 0);
}

static void
early_by_the_longest_promise_that_stands(void **state)
{
	struct key k = {.hinted_ns = 0};
	int64_t age_ns;

	(void)state;
	judge_told(&k, T0, 10 * S);
	judge_told(&k, T0 + S, S);
	assert_int_equal(judge_early_ns(&k, T0 + 3 * S, 0, &age_ns), 7 * S);
	assert_int_equal(age_ns, 2 * S);
}

static void
early_within_grace_has_crossed_the_hint(void **state)
{
	struct key k = {.hinted_ns = 0};
	int64_t age_ns;

	(void)state;
	judge_told(&k, T0, S);
	assert_int_equal(judge_early_ns(&k, T0 + 5 * MS - 1, 5 * MS, &age_ns),
	    0);
	assert_int_equal(judge_early_ns(&k, T0 + 5 * MS, 5 * MS, &age_ns),
	    995 * MS);
}

static void
key_with_other_limits_starts_anew(void **state)
{
	struct bench b;
	struct wish other;
	struct strbuf why;

	(void)state;
	strbuf_init(&why, 100);
	setup(&b, "rate=1/s");
	assert_int_equal(attempt(&b, T0), 0);
	key_adopt_limits(b.key, &b.wish);
	assert_int_equal(attempt(&b, T0), 429);
	wish_init(&other);
	assert_int_equal(wish_query(&other, SPAN("rate=2/s"), &why), 0);
	assert_int_equal(wish_check(&other, &why), 0);
	key_adopt_limits(b.key, &other);
	assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(limit_ready_ns(&b.key->limits[0], T0), T0 + S / 2);
	wish_free(&other);
	teardown(&b);
}

static void
keys_over_the_bound_lose_the_longest_unused(void **state)
{
	struct keytab ks;
	struct key *busy;

	(void)state;
	assert_int_equal(keytab_init(&ks, &seed, 3, 1000000), 0);
	busy = keytab_get(&ks, SPAN("a"));
	assert_non_null(busy);
	busy->running = 1;
	assert_non_null(keytab_get(&ks, SPAN("b")));
	assert_non_null(keytab_get(&ks, SPAN("c")));
	assert_non_null(keytab_get(&ks, SPAN("b")));
	assert_non_null(keytab_get(&ks, SPAN("d")));
	assert_ptr_equal(keytab_find(&ks, SPAN("a")), busy);
	assert_non_null(keytab_find(&ks, SPAN("b")));
	assert_null(keytab_find(&ks, SPAN("c")));
	assert_non_null(keytab_find(&ks, SPAN("d")));
	busy->running = 0;
	keytab_free(&ks);
}

static void
keys_over_their_memory_are_forgotten(void **state)
{
	struct bench b;

	(void)state;
	setup(&b, "rate=1000/s&window=sliding");
	b.keys.bytes_max = 1000;
	for (int i = 0; i < 200; i++)
		assert_int_equal(attempt(&b, T0), 0);
	assert_int_equal(b.keys.bytes, 256 * sizeof(int64_t));
	assert_non_null(keytab_get(&b.keys, SPAN("other")));
	assert_null(keytab_find(&b.keys, SPAN("k")));
	assert_int_equal(b.keys.bytes, 0);
	teardown(&b);
}

static uint64_t
add(struct report *r, const char *key, int64_t at_ns, int status)
{
	struct attempt a = {
	    .mono_ns = at_ns,
	    .hint_ns = -1,
	    .age_ns = -1,
	    .status = status,
	    .throttled = status == 429,
	    .running = 1,
	};
	uint64_t seq = 0;

	assert_int_equal(report_add(r, &a, span_of(key), SPAN(""), SPAN("GET"),
			     SPAN("/p"), &seq),
	    0);
	return seq;
}

static void
report_keeps_the_latest(void **state)
{
	struct report r;

	(void)state;
	report_init(&r, 300);
	for (int i = 1; i <= 300; i++)
		assert_int_equal(add(&r, "k", i, 200), i);
	assert_int_equal(r.dropped, 0);
	assert_int_equal(report_get(&r, 1)->mono_ns, 1);
	assert_int_equal(add(&r, "k", 301, 200), 301);
	assert_int_equal(r.dropped, 1);
	assert_null(report_get(&r, 1));
	assert_int_equal(report_get(&r, 2)->mono_ns, 2);
	assert_int_equal(report_get(&r, 301)->mono_ns, 301);
	assert_null(report_get(&r, 302));
	assert_int_equal(r.cap, 300);
	report_free(&r);
}

static void
report_when_cleared_forgets_one_key_or_all(void **state)
{
	struct report r;

	(void)state;
	report_init(&r, 4);
	for (int i = 0; i < 6; i++)
		(void)add(&r, i % 2 ? "b" : "a", i, 200);
	report_clear(&r, SPAN("a"));
	assert_null(report_get(&r, 5));
	assert_non_null(report_get(&r, 6));
	report_clear(&r, (struct span){NULL, 0});
	assert_null(report_get(&r, 6));
	assert_int_equal(r.dropped, 0);
	assert_int_equal(add(&r, "c", 9, 200), 7);
	assert_int_equal(report_get(&r, 7)->mono_ns, 9);
	report_free(&r);
}

static void
assert_holds(const struct strbuf *b, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= b->n; i++) {
		if (memcmp(b->p + i, text, n) == 0)
			return;
	}
	fail_msg("'%s' is not in %.*s", text, (int)b->n, b->p);
}

static void
summary_windows_are_half_open(void **state)
{
	struct report r;
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 100000);
	report_init(&r, 100);
	(void)add(&r, "a", T0, 200);
	(void)add(&r, "b", T0, 200);
	(void)add(&r, "a", T0 + S, 200);
	(void)add(&r, "b", T0 + S - 1, 429);
	summary_json(&r, (struct span){NULL, 0}, S, 5, &out);
	assert_holds(&out,
	    "{\"attempts\":4,\"dropped\":0,\"bad_requests\":5,"
	    "\"window_ms\":1000,");
	assert_holds(&out,
	    "{\"key\":\"a\",\"attempts\":2,\"throttled\":0,"
	    "\"early\":0,\"left\":0,\"max_in_window\":1,");
	assert_holds(&out,
	    "{\"key\":\"b\",\"attempts\":2,\"throttled\":1,"
	    "\"early\":0,\"left\":0,\"max_in_window\":2,");
	assert_holds(&out, "\"by_status\":{\"200\":1,\"429\":1}");
	strbuf_clear(&out);
	summary_json(&r, SPAN("a"), S + 1, 0, &out);
	assert_holds(&out, "\"max_in_window\":2,");
	report_free(&r);
	strbuf_free(&out);
}

static void
summary_percentiles_are_nearest_rank(void **state)
{
	struct report r;
	struct strbuf out;
	int64_t t = T0;

	(void)state;
	strbuf_init(&out, 100000);
	report_init(&r, 1000);
	(void)add(&r, "a", t, 200);
	for (int i = 100; i >= 1; i--) {
		t += i * MS;
		(void)add(&r, "a", t, 200);
	}
	summary_json(&r, SPAN("a"), S, 0, &out);
	assert_holds(&out, "\"gap_p50_ms\":50,\"gap_p99_ms\":99,");
	report_clear(&r, (struct span){NULL, 0});
	for (int i = 0; i < 4; i++)
		(void)add(&r, "a", T0 + i * i * S, 200);
	strbuf_clear(&out);
	summary_json(&r, SPAN("a"), S, 0, &out);
	assert_holds(&out, "\"gap_p50_ms\":3000,\"gap_p99_ms\":5000,");
	report_free(&r);
	strbuf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rates_that_do_not_all_fit_take_from_none),
	    cmocka_unit_test(refusal_tells_the_longest_of_the_waits),
	    cmocka_unit_test(max_admits_so_many_at_once),
	    cmocka_unit_test(max_that_refuses_takes_no_token),
	    cmocka_unit_test(script_goes_before_limits_and_ends),
	    cmocka_unit_test(script_counts_by_the_one_who_came),
	    cmocka_unit_test(early_is_measured_to_the_nanosecond),
	    cmocka_unit_test(early_by_the_longest_promise_that_stands),
	    cmocka_unit_test(early_within_grace_has_crossed_the_hint),
	    cmocka_unit_test(key_with_other_limits_starts_anew),
	    cmocka_unit_test(keys_over_the_bound_lose_the_longest_unused),
	    cmocka_unit_test(keys_over_their_memory_are_forgotten),
	    cmocka_unit_test(report_keeps_the_latest),
	    cmocka_unit_test(report_when_cleared_forgets_one_key_or_all),
	    cmocka_unit_test(summary_windows_are_half_open),
	    cmocka_unit_test(summary_percentiles_are_nearest_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
