/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"

#define NODES 300

static void
set(struct heap_node *node, int64_t key, uint64_t tie)
{
	heap_node_init(node);
	node->key = key;
	node->tie = tie;
}

static bool
later(const struct heap_node *a, const struct heap_node *b)
{
	return a->key != b->key ? a->key > b->key : a->tie > b->tie;
}

/* Every node knows its place, and none is before its parent. */
static void
assert_sound(const struct heap *h)
{
	assert_true(h->n <= h->cap);
	for (uint32_t i = 0; i < h->n; i++) {
		assert_int_equal(h->v[i]->at, i);
		if (i > 0)
			assert_false(later(h->v[(i - 1) / 2], h->v[i]));
	}
}

static void
heap_when_empty_has_no_smallest(void **state)
{
	struct heap_node node;
	struct heap h;

	(void)state;
	heap_init(&h);
	heap_node_init(&node);
	assert_null(heap_min(&h));
	assert_false(heap_has(&node));
	heap_del(&h, &node);
	assert_int_equal(h.n, 0);
	heap_clear(&h);
}

static void
heap_when_keys_are_equal_goes_by_tie(void **state)
{
	static const struct {
		int64_t key;
		uint64_t tie;
	} in[] = {{5, 2}, {5, 1}, {-1, 9}, {5, 3}, {INT64_MIN, UINT64_MAX},
	    {INT64_MAX, 0}};
	static const unsigned want[] = {4, 2, 1, 0, 3, 5};
	struct heap_node v[6];
	struct heap h;

	(void)state;
	heap_init(&h);
	for (size_t i = 0; i < 6; i++) {
		set(&v[i], in[i].key, in[i].tie);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	for (size_t i = 0; i < 6; i++) {
		struct heap_node *min = heap_min(&h);

		assert_ptr_equal(min, &v[want[i]]);
		heap_del(&h, min);
		assert_false(heap_has(min));
	}
	assert_null(heap_min(&h));
	heap_clear(&h);
}

/* The node that fills the gap of a deleted one may have to rise. */
static void
heap_del_when_filler_is_smaller_than_parent_lifts_it(void **state)
{
	static const int64_t keys[] = {1, 50, 2, 60, 70, 3, 4, 80, 90};
	struct heap_node v[9], low;
	struct heap h;

	(void)state;
	heap_init(&h);
	for (size_t i = 0; i < 9; i++) {
		set(&v[i], keys[i], 0);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	heap_del(&h, &v[8]);
	heap_del(&h, &v[7]);
	heap_del(&h, &v[3]); /* 4, below 2 at first, now stands below 50 */
	assert_sound(&h);
	set(&low, 0, 0);
	assert_int_equal(heap_add(&h, &low), 0);
	assert_ptr_equal(heap_min(&h), &low);
	assert_sound(&h);
	heap_clear(&h);
}

static void
heap_fix_when_key_moves_restores_order(void **state)
{
	struct heap_node v[20];
	struct heap h;

	(void)state;
	heap_init(&h);
	for (size_t i = 0; i < 20; i++) {
		set(&v[i], (int64_t)i * 10, 0);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	v[19].key = -1;
	heap_fix(&h, &v[19]);
	assert_ptr_equal(heap_min(&h), &v[19]);
	assert_sound(&h);
	v[19].key = 1000;
	heap_fix(&h, &v[19]);
	assert_ptr_equal(heap_min(&h), &v[0]);
	assert_sound(&h);
	v[0].tie = 1;
	v[1].key = 0;
	heap_fix(&h, &v[0]);
	heap_fix(&h, &v[1]);
	assert_ptr_equal(heap_min(&h), &v[1]);
	assert_sound(&h);
	heap_clear(&h);
}

static void
churn(struct heap *h, struct heap_node *node, struct rng *r)
{
	if (!heap_has(node)) {
		set(node, (int64_t)(rng_next(r) % 50), rng_next(r) % 3);
		assert_int_equal(heap_add(h, node), 0);
	} else if (rng_next(r) % 2) {
		heap_del(h, node);
		assert_false(heap_has(node));
	} else {
		node->key = (int64_t)(rng_next(r) % 50);
		heap_fix(h, node);
	}
}

static void
heap_when_churned_stays_sound_and_drains_in_order(void **state)
{
	static struct heap_node v[NODES];
	struct heap_node last;
	uint32_t left = 0;
	struct heap h;
	struct rng r;

	(void)state;
	heap_init(&h);
	rng_seed(&r, 1);
	for (size_t i = 0; i < NODES; i++)
		heap_node_init(&v[i]);
	for (size_t i = 0; i < 5000; i++) {
		churn(&h, &v[rng_next(&r) % NODES], &r);
		assert_sound(&h);
	}
	for (size_t i = 0; i < NODES; i++)
		left += heap_has(&v[i]);
	assert_int_equal(h.n, left);
	assert_true(left > 10);
	set(&last, INT64_MIN, 0);
	while (h.n > 0) {
		struct heap_node *min = heap_min(&h);

		assert_false(later(&last, min));
		last = *min;
		heap_del(&h, min);
	}
	heap_clear(&h);
}

static void
heap_sort_puts_the_array_in_order(void **state)
{
	struct heap_node v[NODES];
	struct rng rng;
	struct heap h;

	(void)state;
	rng_seed(&rng, 11);
	heap_init(&h);
	heap_sort(&h);
	for (unsigned i = 0; i < NODES; i++) {
		set(&v[i], (int64_t)(rng_next(&rng) % 40), i);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	for (unsigned i = 0; i < NODES / 2; i++)
		heap_del(&h, heap_min(&h));
	heap_sort(&h);
	assert_sound(&h);
	for (uint32_t i = 1; i < h.n; i++)
		assert_true(later(h.v[i], h.v[i - 1]));
	heap_clear(&h);
}

static void
heap_clear_when_filled_sets_nodes_free(void **state)
{
	struct heap_node v[3];
	struct heap h;

	(void)state;
	heap_init(&h);
	for (size_t i = 0; i < 3; i++) {
		set(&v[i], 1, i);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	heap_clear(&h);
	for (size_t i = 0; i < 3; i++)
		assert_false(heap_has(&v[i]));
	assert_null(heap_min(&h));
	assert_int_equal(heap_add(&h, &v[0]), 0);
	assert_ptr_equal(heap_min(&h), &v[0]);
	heap_clear(&h);
}

static void
heap_add_when_out_of_memory_fails_and_keeps_the_rest(void **state)
{
	struct heap_node v[100];
	struct heap h;
	uint32_t n = 0;
	int rc = 0;

	(void)state;
	heap_init(&h);
	mem_fail_at(2, true);
	while (n < 100 && rc == 0) {
		set(&v[n], -(int64_t)n, 0);
		rc = heap_add(&h, &v[n]);
		n += rc == 0;
	}
	mem_fail_at(0, false);
	assert_int_equal(rc, -1);
	assert_false(heap_has(&v[n]));
	assert_int_equal(h.n, n);
	assert_sound(&h);
	assert_ptr_equal(heap_min(&h), &v[n - 1]);
	assert_int_equal(heap_add(&h, &v[n]), 0);
	assert_ptr_equal(heap_min(&h), &v[n]);
	heap_clear(&h);
}

static void
heap_reserve_when_done_adds_without_memory(void **state)
{
	struct heap_node v[100];
	struct heap h;

	(void)state;
	heap_init(&h);
	assert_int_equal(heap_reserve(&h, 100), 0);
	mem_fail_at(1, true);
	for (size_t i = 0; i < 100; i++) {
		set(&v[i], 0, i);
		assert_int_equal(heap_add(&h, &v[i]), 0);
	}
	assert_int_equal(mem_count(), 0);
	assert_int_equal(heap_reserve(&h, 100), 0);
	assert_int_equal(heap_reserve(&h, 1000), -1);
	assert_int_equal(heap_reserve(&h, HEAP_NOWHERE), -1);
	mem_fail_at(0, false);
	assert_int_equal(h.n, 100);
	assert_sound(&h);
	heap_clear(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(heap_when_empty_has_no_smallest),
	    cmocka_unit_test(heap_when_keys_are_equal_goes_by_tie),
	    cmocka_unit_test(
		heap_del_when_filler_is_smaller_than_parent_lifts_it),
	    cmocka_unit_test(heap_fix_when_key_moves_restores_order),
	    cmocka_unit_test(heap_when_churned_stays_sound_and_drains_in_order),
	    cmocka_unit_test(heap_sort_puts_the_array_in_order),
	    cmocka_unit_test(heap_clear_when_filled_sets_nodes_free),
	    cmocka_unit_test(
		heap_add_when_out_of_memory_fails_and_keeps_the_rest),
	    cmocka_unit_test(heap_reserve_when_done_adds_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
