/* SPDX-License-Identifier: MIT */
/* Our own connections, known again from the other side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <unistd.h>

#include "edge/ways.h"

static const struct hash_key key = {1, 2};

/* A connection to the loopback; *ret_back is its accepted end. */
static int
connection(int family, int *ret_back)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6,
	    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr *sa = family == AF_INET ? (void *)&in4 : (void *)&in6;
	socklen_t n = family == AF_INET ? sizeof(in4) : sizeof(in6);
	int l = socket(family, SOCK_STREAM, 0);
	int fd = socket(family, SOCK_STREAM, 0);

	assert_true(l >= 0 && fd >= 0);
	assert_int_equal(bind(l, sa, n), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, sa, &n), 0);
	assert_int_equal(connect(fd, sa, n), 0);
	*ret_back = accept(l, NULL, NULL);
	assert_true(*ret_back >= 0);
	assert_int_equal(close(l), 0);
	return fd;
}

/* As the accepting side names it; `shift` makes another port of it. */
static uint64_t
name_of(int back, uint16_t shift)
{
	struct sockaddr_storage from, to;
	socklen_t n = sizeof(from), m = sizeof(to);

	assert_int_equal(getpeername(back, (struct sockaddr *)&from, &n), 0);
	assert_int_equal(getsockname(back, (struct sockaddr *)&to, &m), 0);
	/* The port is at the same place in both families. */
	((struct sockaddr_in *)&to)->sin_port ^= shift;
	return ways_name(&key, (struct sockaddr *)&from,
	    (struct sockaddr *)&to);
}

static void
check_family(int family)
{
	struct way a = {.listed = false}, b = {.listed = false};
	struct ways ways;
	int back, other_back;
	int fd = connection(family, &back);
	int other = connection(family, &other_back);

	assert_int_equal(ways_init(&ways, true), 0);
	assert_false(ways_have(&ways, name_of(back, 0)));
	ways_add(&ways, &a, &key, fd);
	ways_add(&ways, &b, &key, other);
	assert_true(ways_have(&ways, name_of(back, 0)));
	assert_true(ways_have(&ways, name_of(other_back, 0)));
	assert_false(ways_have(&ways, name_of(back, 1)));
	ways_del(&ways, &a);
	ways_del(&ways, &a);
	assert_false(ways_have(&ways, name_of(back, 0)));
	assert_true(ways_have(&ways, name_of(other_back, 0)));
	ways_del(&ways, &b);
	ways_free(&ways);
	close(fd);
	close(back);
	close(other);
	close(other_back);
}

static void
ways_when_listed_then_known_from_the_other_side(void **state)
{
	(void)state;
	check_family(AF_INET);
	check_family(AF_INET6);
}

static void
ways_when_off_or_not_connected_then_nothing_is_listed(void **state)
{
	struct way a = {.listed = false};
	struct ways ways;
	int back, fd = connection(AF_INET, &back);
	int idle = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(ways_init(&ways, false), 0);
	ways_add(&ways, &a, &key, fd);
	assert_false(a.listed);
	ways_free(&ways);
	assert_int_equal(ways_init(&ways, true), 0);
	ways_add(&ways, &a, &key, idle);
	assert_false(a.listed);
	ways_free(&ways);
	close(fd);
	close(back);
	close(idle);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ways_when_listed_then_known_from_the_other_side),
	    cmocka_unit_test(
		ways_when_off_or_not_connected_then_nothing_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
