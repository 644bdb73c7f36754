/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/key.h"

static const struct hash_key hash = {3, 4};
static struct keys keys;
static struct keygroup *group;

static struct key_cfg
cfg_of(uint32_t max_keys)
{
	return (struct key_cfg){.queue = 10, .max_keys = max_keys};
}

static struct keygroup *
group_of(const char *name, uint32_t max_keys)
{
	struct key_cfg cfg = cfg_of(max_keys);

	return keys_group(&keys, span_of(name), &cfg, 0);
}

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(keys_init(&keys, &hash, 2), 0);
	group = group_of("api", 3);
	assert_non_null(group);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	keys_free(&keys);
	return 0;
}

static struct key *
get(uint64_t id)
{
	struct key *k = key_get(group, id, 0, SPAN("label"));

	assert_non_null(k);
	return k;
}

/* Used once and put back; a mark tells later whether it is still the same. */
static void
visit(uint64_t id, int64_t mark)
{
	struct key *k = get(id);

	k->service.last_fail_ms = mark;
	key_put(k);
}

/* The mark of a key, -1 where it is new. */
static int64_t
mark_of(uint64_t id)
{
	struct key *k = get(id);
	int64_t mark = k->service.last_fail_ms;

	key_put(k);
	return mark;
}

static void
key_got_twice_is_one(void **state)
{
	struct key *a = get(1), *b = get(1), *c = get(2);

	(void)state;
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_string_equal(a->label, "label");
	assert_int_equal(a->service.state, SERVICE_OPEN);
	assert_int_equal(atomic_load(&a->refs), 2);
	key_put(a);
	assert_int_equal(atomic_load(&a->refs), 1);
	key_put(b);
	key_put(c);
}

static void
key_put_back_keeps_its_state(void **state)
{
	(void)state;
	visit(1, 100);
	assert_int_equal(mark_of(1), 100);
	assert_int_equal(mark_of(1), 100);
}

static void
keys_up_to_the_bound_all_stay(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		visit(id, (int64_t)id);
	for (uint64_t id = 1; id <= 3; id++)
		assert_int_equal(mark_of(id), (int64_t)id);
}

static void
key_over_the_bound_puts_out_the_one_unused_longest(void **state)
{
	(void)state;
	visit(1, 1);
	visit(2, 2);
	visit(3, 3);
	visit(1, 1); /* used again: now 2 is the oldest */
	visit(4, 4);
	assert_int_equal(group->map.n, 3);
	assert_int_equal(mark_of(1), 1);
	assert_int_equal(mark_of(3), 3);
	assert_int_equal(mark_of(4), 4);
	assert_int_equal(mark_of(2), -1);
}

static void
keys_in_use_stay_whatever_the_bound(void **state)
{
	struct key *used[5];

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		used[i] = get(i + 1);
	assert_int_equal(group->map.n, 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_ptr_equal(get(i + 1), used[i]);
	for (int i = 0; i < 5; i++) {
		key_put(used[i]);
		key_put(used[i]);
	}
	/* The next newcomer brings the group back to its bound. */
	visit(9, 9);
	assert_int_equal(group->map.n, 3);
}

static void
key_with_a_reference_more_is_not_put_out(void **state)
{
	struct key *k = get(1);

	(void)state;
	key_ref(k);
	key_put(k);
	k->service.last_fail_ms = 1;
	for (uint64_t id = 2; id <= 9; id++)
		visit(id, 0);
	assert_int_equal(mark_of(1), 1);
	key_put(k);
}

static void
key_that_is_shut_is_put_out_last(void **state)
{
	struct key *k = get(1);

	(void)state;
	service_hold(&k->service, 60000);
	key_put(k);
	visit(2, 2);
	visit(3, 3);
	for (uint64_t id = 4; id <= 9; id++)
		visit(id, (int64_t)id);
	assert_int_equal(group->map.n, 3);
	k = get(1);
	assert_int_equal(k->service.state, SERVICE_SHUT);
	key_put(k);
	assert_int_equal(mark_of(8), 8);
	assert_int_equal(mark_of(9), 9);
}

static void
keys_that_are_all_shut_are_bounded_too(void **state)
{
	(void)state;
	for (uint64_t id = 1; id <= 9; id++) {
		struct key *k = get(id);

		service_hold(&k->service, 60000);
		key_put(k);
	}
	assert_int_equal(group->map.n, 3);
}

static void
group_by_name_is_found_again(void **state)
{
	struct keygroup *other = group_of("other", 3);

	(void)state;
	assert_ptr_not_equal(other, group);
	assert_ptr_equal(group_of("api", 3), group);
	assert_ptr_equal(group_of("other", 3), other);
	assert_ptr_not_equal(group_of("", 3), group);
	/* The same id in two groups is two keys. */
	visit(1, 7);
	group = other;
	assert_int_equal(mark_of(1), -1);
}

static void
group_reconfigured_keeps_state_and_takes_the_rules(void **state)
{
	struct key_cfg cfg = {
	    .queue = 77,
	    .max_keys = 5,
	    .concurrency = 9,
	    .bucket = {1, {{1, 1000, 1}}},
	};
	struct key *k = get(1);

	(void)state;
	k->service.last_fail_ms = 5;
	assert_ptr_equal(keys_group(&keys, SPAN("api"), &cfg, 100), group);
	assert_int_equal(k->line.limit, 77);
	assert_int_equal(k->cfg.concurrency, 9);
	assert_int_equal(k->service.last_fail_ms, 5);
	assert_int_equal(bucket_wait_ms(&k->bucket, &k->cfg.bucket, 100), 0);
	key_put(k);
	/* New ones are made by the new rules. */
	k = get(2);
	assert_int_equal(k->line.limit, 77);
	key_put(k);
}

static void
group_reconfigured_carries_the_debt_of_its_bucket(void **state)
{
	struct key_cfg cfg = cfg_of(3);
	struct key *k;

	(void)state;
	cfg.bucket = (struct bucket_cfg){1, {{1, 10000, 1}}};
	assert_ptr_equal(keys_group(&keys, SPAN("api"), &cfg, 0), group);
	k = get(1);
	bucket_take(&k->bucket, &k->cfg.bucket, 1000);
	assert_ptr_equal(keys_group(&keys, SPAN("api"), &cfg, 2000), group);
	assert_int_equal(bucket_wait_ms(&k->bucket, &k->cfg.bucket, 2000),
	    9000);
	key_put(k);
}

static void
key_without_memory_is_none_and_leaves_the_group_whole(void **state)
{
	unsigned long n;

	(void)state;
	for (n = 1; n < 20; n++) {
		struct key *k;

		mem_fail_at(n, false);
		k = key_get(group, 100 + n, 0, SPAN("x"));
		mem_fail_at(0, false);
		if (k) {
			key_put(k);
			break;
		}
	}
	assert_in_range(n, 3, 19); /* key, ticks and line each need some */
	assert_int_equal(group->map.n, 1);
	visit(1, 1);
	assert_int_equal(mark_of(1), 1);
}

static void
group_without_memory_is_none_and_can_be_had_later(void **state)
{
	struct key_cfg cfg = cfg_of(3);

	(void)state;
	for (unsigned long n = 1; n <= 3; n++) {
		mem_fail_at(n, false);
		assert_null(keys_group(&keys, SPAN("late"), &cfg, 0));
		mem_fail_at(0, false);
	}
	assert_non_null(keys_group(&keys, SPAN("late"), &cfg, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(key_got_twice_is_one),
	    TEST(key_put_back_keeps_its_state),
	    TEST(keys_up_to_the_bound_all_stay),
	    TEST(key_over_the_bound_puts_out_the_one_unused_longest),
	    TEST(keys_in_use_stay_whatever_the_bound),
	    TEST(key_with_a_reference_more_is_not_put_out),
	    TEST(key_that_is_shut_is_put_out_last),
	    TEST(keys_that_are_all_shut_are_bounded_too),
	    TEST(group_by_name_is_found_again),
	    TEST(group_reconfigured_keeps_state_and_takes_the_rules),
	    TEST(group_reconfigured_carries_the_debt_of_its_bucket),
	    TEST(key_without_memory_is_none_and_leaves_the_group_whole),
	    TEST(group_without_memory_is_none_and_can_be_had_later),
	};

	return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
