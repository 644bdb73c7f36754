/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

static int
injection_off(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	return 0;
}

static bool
alloc_works(void)
{
	void *p = mem_alloc(8);

	mem_free(p);
	return p != NULL;
}

static void
mem_alloc_when_size_is_zero_is_no_failure(void **state)
{
	void *p;

	(void)state;
	p = mem_alloc(0);
	assert_non_null(p);
	p = mem_realloc(p, 0);
	assert_non_null(p);
	mem_free(p);
	p = mem_zalloc(0);
	assert_non_null(p);
	mem_free(p);
	mem_free(NULL);
}

static void
mem_zalloc_when_memory_was_used_gives_zeros(void **state)
{
	unsigned char *p;

	(void)state;
	for (int round = 0; round < 3; round++) {
		p = mem_zalloc(257);
		assert_non_null(p);
		for (size_t i = 0; i < 257; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xa5, 257);
		mem_free(p);
	}
}

static void
mem_dup_when_span_holds_nul_copies_all(void **state)
{
	char *p;

	(void)state;
	p = mem_dup(SPAN("a\0b"));
	assert_non_null(p);
	assert_memory_equal(p, "a\0b", 4);
	mem_free(p);
	p = mem_dup((struct span){NULL, 0});
	assert_non_null(p);
	assert_string_equal(p, "");
	mem_free(p);
	assert_null(mem_dup((struct span){"", SIZE_MAX}));
}

static void
mem_fail_at_when_set_fails_that_one_alone(void **state)
{
	(void)state;
	mem_fail_at(3, false);
	assert_true(alloc_works());
	assert_true(alloc_works());
	assert_false(alloc_works());
	assert_true(alloc_works());
	assert_int_equal(mem_count(), 4);
}

static void
mem_fail_at_when_all_after_fails_the_rest(void **state)
{
	(void)state;
	mem_fail_at(2, true);
	assert_true(alloc_works());
	assert_false(alloc_works());
	assert_false(alloc_works());
	mem_fail_at(0, true);
	assert_int_equal(mem_count(), 0);
	assert_true(alloc_works());
	assert_int_equal(mem_count(), 1);
}

static void
mem_fail_at_when_any_form_allocates_counts_it(void **state)
{
	char *kept;

	(void)state;
	kept = mem_dup(SPAN("kept"));
	assert_non_null(kept);
	mem_fail_at(1, true);
	assert_null(mem_alloc(1));
	assert_null(mem_zalloc(1));
	assert_null(mem_dup(SPAN("x")));
	assert_null(mem_realloc(kept, 100));
	assert_int_equal(mem_count(), 4);
	assert_string_equal(kept, "kept");
	mem_free(kept);
}

static void *
alloc_in_thread(void *ret_works)
{
	*(bool *)ret_works = alloc_works();
	return NULL;
}

static void
mem_fail_at_when_set_leaves_other_threads_alone(void **state)
{
	pthread_t thread;
	bool works = false;

	(void)state;
	mem_fail_at(1, true);
	assert_int_equal(pthread_create(&thread, NULL, alloc_in_thread, &works),
	    0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(works);
	assert_int_equal(mem_count(), 0);
	assert_false(alloc_works());
}

/* Runs `must` in a child without memory; gives its status and its words. */
static int
in_child(void (*must)(void), char *ret_line, size_t size)
{
	int fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(fds[1], STDERR_FILENO);
		mem_fail_at(1, false);
		must();
		_exit(0);
	}
	(void)close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(fds[0], ret_line, size - 1);
	ret_line[n > 0 ? n : 0] = '\0';
	(void)close(fds[0]);
	return status;
}

static void
must_zalloc(void)
{
	mem_free(mem_must_zalloc(1));
}

static void
must_dup(void)
{
	mem_free(mem_must_dup(SPAN("x")));
}

static void
mem_must_when_out_of_memory_ends_with_code_2_and_a_line(void **state)
{
	void (*const forms[])(void) = {must_zalloc, must_dup};
	char line[256];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int status = in_child(forms[i], line, sizeof(line));

		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2);
		assert_string_equal(line, "abided: out of memory at start\n");
	}
}

static void
mem_must_when_memory_is_there_gives_it(void **state)
{
	char *p;

	(void)state;
	p = mem_must_zalloc(2);
	assert_int_equal(p[0], 0);
	assert_int_equal(p[1], 0);
	mem_free(p);
	p = mem_must_dup(SPAN("x"));
	assert_string_equal(p, "x");
	mem_free(p);
}

#define TEST(f) cmocka_unit_test_teardown(f, injection_off)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(mem_alloc_when_size_is_zero_is_no_failure),
	    TEST(mem_zalloc_when_memory_was_used_gives_zeros),
	    TEST(mem_dup_when_span_holds_nul_copies_all),
	    TEST(mem_fail_at_when_set_fails_that_one_alone),
	    TEST(mem_fail_at_when_all_after_fails_the_rest),
	    TEST(mem_fail_at_when_any_form_allocates_counts_it),
	    TEST(mem_fail_at_when_set_leaves_other_threads_alone),
	    TEST(mem_must_when_out_of_memory_ends_with_code_2_and_a_line),
	    TEST(mem_must_when_memory_is_there_gives_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
