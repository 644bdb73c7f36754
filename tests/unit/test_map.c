/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/mem.h"

#define NODES 500u

static struct map m;
static struct map_node v[NODES];

static int
set_up(void **state)
{
	(void)state;
	return map_init(&m);
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	map_clear(&m);
	return 0;
}

/* Spread over all bits, so that growth has to tell nodes apart anew. */
static uint64_t
hash_of(size_t i)
{
	return (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
}

static void
add_all(void)
{
	for (size_t i = 0; i < NODES; i++)
		map_add(&m, &v[i], hash_of(i));
}

static void
assert_finds_all(void)
{
	for (size_t i = 0; i < NODES; i++)
		assert_ptr_equal(map_find(&m, hash_of(i)), &v[i]);
}

static size_t
walk_length(void)
{
	struct map_node *node = NULL;
	size_t pos = 0, n = 0;

	while ((node = map_walk(&m, &pos, node)) != NULL)
		n++;
	return n;
}

static void
map_when_empty_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(m.n, 0);
	assert_null(map_find(&m, 0));
	assert_int_equal(walk_length(), 0);
}

static void
map_add_when_many_grows_and_finds_each(void **state)
{
	(void)state;
	add_all();
	assert_int_equal(m.n, NODES);
	assert_true(m.cap >= NODES);
	assert_int_equal(m.cap & (m.cap - 1), 0);
	assert_finds_all();
	assert_null(map_find(&m, hash_of(NODES)));
	assert_null(map_find_next(&v[0]));
}

static void
map_find_next_when_hashes_are_equal_gives_each_once(void **state)
{
	bool seen[3] = {false};
	size_t n = 0;

	(void)state;
	/* Of the same bucket, before and behind, but of another hash. */
	map_add(&m, &v[4], 7 + (UINT64_C(1) << 41));
	for (size_t i = 0; i < 3; i++)
		map_add(&m, &v[i], 7);
	map_add(&m, &v[3], 7 + (UINT64_C(1) << 40));
	for (struct map_node *node = map_find(&m, 7); node != NULL;
	     node = map_find_next(node)) {
		assert_true(node >= v && node < v + 3);
		assert_false(seen[node - v]);
		seen[node - v] = true;
		n++;
	}
	assert_int_equal(n, 3);
	assert_ptr_equal(map_find(&m, 7 + (UINT64_C(1) << 40)), &v[3]);
	assert_ptr_equal(map_find(&m, 7 + (UINT64_C(1) << 41)), &v[4]);
	assert_null(map_find(&m, 7 + (UINT64_C(1) << 42)));
}

static void
map_del_when_in_a_chain_keeps_the_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		map_add(&m, &v[i], (uint64_t)i << 32);
	map_del(&m, &v[1]);
	assert_int_equal(m.n, 2);
	assert_null(map_find(&m, UINT64_C(1) << 32));
	assert_ptr_equal(map_find(&m, 0), &v[0]);
	assert_ptr_equal(map_find(&m, UINT64_C(2) << 32), &v[2]);
	map_del(&m, &v[2]);
	map_del(&m, &v[0]);
	assert_int_equal(m.n, 0);
	assert_null(map_find(&m, 0));
	map_add(&m, &v[1], 5);
	assert_ptr_equal(map_find(&m, 5), &v[1]);
}

static void
map_walk_when_filled_visits_each_once(void **state)
{
	static unsigned seen[NODES];
	struct map_node *node = NULL;
	size_t pos = 0;

	(void)state;
	add_all();
	while ((node = map_walk(&m, &pos, node)) != NULL)
		seen[node - v]++;
	for (size_t i = 0; i < NODES; i++)
		assert_int_equal(seen[i], 1);
}

static void
map_walk_when_all_share_a_bucket_visits_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < 40; i++)
		map_add(&m, &v[i], UINT64_MAX);
	assert_int_equal(walk_length(), 40);
}

static void
map_add_when_out_of_memory_works_and_grows_later(void **state)
{
	size_t cap = m.cap;

	(void)state;
	mem_fail_at(1, true);
	add_all();
	assert_true(mem_count() > 0);
	assert_int_equal(m.cap, cap);
	assert_int_equal(m.n, NODES);
	assert_finds_all();
	mem_fail_at(0, false);
	map_del(&m, &v[0]);
	map_add(&m, &v[0], hash_of(0));
	assert_true(m.cap > cap);
	assert_finds_all();
	assert_int_equal(walk_length(), NODES);
}

static void
map_init_when_out_of_memory_fails(void **state)
{
	struct map none;

	(void)state;
	mem_fail_at(1, false);
	assert_int_equal(map_init(&none), -1);
}

static void
map_clear_when_done_leaves_an_empty_map(void **state)
{
	(void)state;
	add_all();
	map_clear(&m);
	assert_null(map_find(&m, hash_of(1)));
	assert_int_equal(walk_length(), 0);
	map_clear(&m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(map_when_empty_finds_nothing),
	    TEST(map_add_when_many_grows_and_finds_each),
	    TEST(map_find_next_when_hashes_are_equal_gives_each_once),
	    TEST(map_del_when_in_a_chain_keeps_the_others),
	    TEST(map_walk_when_filled_visits_each_once),
	    TEST(map_walk_when_all_share_a_bucket_visits_each),
	    TEST(map_add_when_out_of_memory_works_and_grows_later),
	    TEST(map_init_when_out_of_memory_fails),
	    TEST(map_clear_when_done_leaves_an_empty_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
