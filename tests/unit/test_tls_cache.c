/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "edge/tls_cache.h"

/* How many sessions were freed, and which number each one carries. */
static unsigned freed;
static int number_at;

static void
on_free(void *parent, void *ptr, CRYPTO_EX_DATA *ad, int idx, long argl,
    void *argp)
{
	(void)parent;
	(void)ad;
	(void)idx;
	(void)argl;
	(void)argp;
	if (ptr)
		freed++;
}

static int
setup(void **state)
{
	static struct tls_cache cache;

	if (number_at == 0)
		number_at =
		    SSL_SESSION_get_ex_new_index(0, NULL, NULL, NULL, on_free);
	freed = 0;
	*state = &cache;
	return number_at < 0 ? -1 : tls_cache_init(&cache);
}

static int
teardown(void **state)
{
	tls_cache_free(*state);
	return 0;
}

static void
put(struct tls_cache *c, uint64_t key, uintptr_t number)
{
	SSL_SESSION *s = SSL_SESSION_new();

	assert_non_null(s);
	assert_int_equal(SSL_SESSION_set_ex_data(s, number_at, (void *)number),
	    1);
	tls_cache_put(c, key, s);
}

/* The number of the session that is taken; 0: there is none. */
static uintptr_t
take(struct tls_cache *c, uint64_t key)
{
	SSL_SESSION *s = tls_cache_take(c, key);
	uintptr_t number = 0;

	if (s) {
		number = (uintptr_t)SSL_SESSION_get_ex_data(s, number_at);
		SSL_SESSION_free(s);
	}
	return number;
}

static void
take_when_there_are_several_then_each_once_newest_first(void **state)
{
	struct tls_cache *c = *state;

	put(c, 7, 1);
	put(c, 8, 10);
	put(c, 7, 2);
	put(c, 7, 3);
	assert_int_equal(take(c, 7), 3);
	put(c, 7, 4);
	assert_int_equal(take(c, 7), 4);
	assert_int_equal(take(c, 7), 2);
	assert_int_equal(take(c, 7), 1);
	assert_int_equal(take(c, 7), 0);
	assert_int_equal(take(c, 8), 10);
	assert_int_equal(c->n, 0);
}

static void
take_when_key_is_unknown_then_none(void **state)
{
	put(*state, 7, 1);
	assert_int_equal(take(*state, 8), 0);
	assert_int_equal(freed, 0);
}

static void
put_when_key_has_many_then_its_oldest_goes(void **state)
{
	struct tls_cache *c = *state;
	uintptr_t i;

	put(c, 8, 100);
	for (i = 1; i <= TLS_CACHE_KEY_MAX + 2; i++)
		put(c, 7, i);
	assert_int_equal(c->n, TLS_CACHE_KEY_MAX + 1);
	assert_int_equal(freed, 2);
	for (i = TLS_CACHE_KEY_MAX + 2; i > 2; i--)
		assert_int_equal(take(c, 7), i);
	assert_int_equal(take(c, 7), 0);
	assert_int_equal(take(c, 8), 100);
}

static void
put_when_full_then_the_oldest_of_all_goes(void **state)
{
	struct tls_cache *c = *state;

	for (uintptr_t i = 1; i <= TLS_CACHE_MAX; i++)
		put(c, i, i);
	assert_int_equal(freed, 0);
	put(c, TLS_CACHE_MAX, 5000);
	assert_int_equal(freed, 1);
	assert_int_equal(c->n, TLS_CACHE_MAX);
	assert_int_equal(take(c, 1), 0);
	assert_int_equal(take(c, 2), 2);
	assert_int_equal(take(c, TLS_CACHE_MAX), 5000);
	assert_int_equal(take(c, TLS_CACHE_MAX), TLS_CACHE_MAX);
}

static void
cache_when_freed_then_its_sessions_are(void **state)
{
	struct tls_cache *c = *state;

	put(c, 7, 1);
	put(c, 7, 2);
	put(c, 8, 3);
	tls_cache_free(c);
	assert_int_equal(freed, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		take_when_there_are_several_then_each_once_newest_first, setup,
		teardown),
	    cmocka_unit_test_setup_teardown(take_when_key_is_unknown_then_none,
		setup, teardown),
	    cmocka_unit_test_setup_teardown(
		put_when_key_has_many_then_its_oldest_goes, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		put_when_full_then_the_oldest_of_all_goes, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		cache_when_freed_then_its_sessions_are, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
