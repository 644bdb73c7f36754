/* SPDX-License-Identifier: MIT */
/*
 * Lines go through a datagram socket pair: one datagram is one write(2), so
 * "a line is written whole" is seen and not guessed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define STAMP "0000-00-00T00:00:00.000Z"

static int fds[2];
static char line[2 * LOG_LINE_MAX];

static int
set_up(void **state)
{
	(void)state;
	log_setup(LOG_INFO, LOG_TEXT);
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds) != 0)
		return -1;
	log_set_fd(fds[1]);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	log_set_fd(STDERR_FILENO);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return 0;
}

/* One write's worth into `line`, as a string; its length, -1 when none. */
static ssize_t
next_line(void)
{
	ssize_t n = recv(fds[0], line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	return n;
}

/* Digits of the time stamp at `at` become 0: its shape is what is tested. */
static void
blank_stamp(size_t at)
{
	assert_true(strlen(line) >= at + sizeof(STAMP) - 1);
	assert_int_equal(line[at], '2');
	for (size_t i = at; i < at + sizeof(STAMP) - 1; i++) {
		if (isdigit((unsigned char)line[i]))
			line[i] = '0';
	}
}

static void
assert_line(size_t stamp_at, const char *want)
{
	assert_true(next_line() > 0);
	blank_stamp(stamp_at);
	assert_string_equal(line, want);
	assert_int_equal(next_line(), -1);
}

#define JSON_AT (sizeof("{\"time\":\"") - 1)
#define JSON_HEAD(level) "{\"time\":\"" STAMP "\",\"level\":\"" level "\","

static void
log_put_when_text_is_one_write_of_time_level_text(void **state)
{
	(void)state;
	log_info("hello %d", 7);
	assert_line(0, STAMP " info hello 7\n");
	log_err("%s", "");
	assert_line(0, STAMP " err \n");
	log_warn("100%%");
	assert_line(0, STAMP " warn 100%\n");
}

static void
log_put_when_json_is_an_object_a_line(void **state)
{
	(void)state;
	log_setup(LOG_DEBUG, LOG_JSON);
	assert_int_equal(log_get_format(), LOG_JSON);
	log_debug("say \"%s\"\n", "x");
	assert_line(JSON_AT,
	    JSON_HEAD("debug") "\"msg\":\"say \\\"x\\\"\\n\"}\n");
}

static void
log_put_when_below_level_writes_nothing(void **state)
{
	static const struct {
		enum log_level set;
		bool want[4];
	} cases[] = {
	    {LOG_ERR, {true, false, false, false}},
	    {LOG_WARN, {true, true, false, false}},
	    {LOG_INFO, {true, true, true, false}},
	    {LOG_DEBUG, {true, true, true, true}},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		log_setup(cases[i].set, LOG_TEXT);
		for (int level = LOG_ERR; level <= LOG_DEBUG; level++) {
			bool want = cases[i].want[level];

			assert_int_equal(log_on((enum log_level)level), want);
			log_put((enum log_level)level, "x");
			assert_int_equal(next_line() > 0, want);
		}
	}
}

static int
side_effect(int *calls)
{
	return ++*calls;
}

static void
log_debug_when_off_does_not_look_at_its_arguments(void **state)
{
	int calls = 0;

	(void)state;
	log_debug("%d", side_effect(&calls));
	assert_int_equal(calls, 0);
	log_setup(LOG_DEBUG, LOG_TEXT);
	log_debug("%d", side_effect(&calls));
	assert_int_equal(calls, 1);
	assert_line(0, STAMP " debug 1\n");
}

static void
log_put_when_text_holds_controls_stays_one_line(void **state)
{
	(void)state;
	log_info("a\nb\r\tc\x1b\x7f d");
	assert_line(0, STAMP " info a?b??c?? d\n");
}

/* The text part of a line, without the "..." of a cut one. */
static size_t
text_len(int len)
{
	static char long_text[2 * LOG_LINE_MAX];
	size_t n;

	memset(long_text, 'x', sizeof(long_text));
	log_info("%.*s", len, long_text);
	n = (size_t)next_line();
	assert_true(n <= LOG_LINE_MAX);
	assert_int_equal(line[n - 1], '\n');
	return strspn(line + sizeof(STAMP " info ") - 1, "x");
}

static void
log_put_when_too_long_is_cut_and_says_so(void **state)
{
	(void)state;
	assert_int_equal(text_len(LOG_INSIDE_MAX - 1), LOG_INSIDE_MAX - 1);
	assert_int_equal(text_len(LOG_INSIDE_MAX), LOG_INSIDE_MAX);
	assert_null(strstr(line, "..."));
	assert_int_equal(text_len(LOG_INSIDE_MAX + 1), LOG_INSIDE_MAX);
	assert_string_equal(line + strlen(line) - 5, "x...\n");
	assert_int_equal(text_len(2 * LOG_LINE_MAX), LOG_INSIDE_MAX);
	assert_string_equal(line + strlen(line) - 5, "x...\n");
}

/* Every byte becomes six: the cut must leave a whole JSON string. */
static void
log_put_when_json_is_too_long_stays_json(void **state)
{
	char text[LOG_LINE_MAX];
	const char *at;

	(void)state;
	log_setup(LOG_INFO, LOG_JSON);
	memset(text, 1, sizeof(text));
	log_info("%.*s", (int)sizeof(text), text);
	assert_in_range(next_line(), LOG_LINE_MAX / 2, LOG_LINE_MAX);
	blank_stamp(JSON_AT);
	at = line + sizeof(JSON_HEAD("info") "\"msg\":\"") - 1;
	while (strncmp(at, "\\u0001", 6) == 0)
		at += 6;
	assert_string_equal(at, "...\"}\n");
}

static void
log_put_when_out_of_memory_still_writes(void **state)
{
	(void)state;
	mem_fail_at(1, true);
	log_err("no memory");
	log_setup(LOG_INFO, LOG_JSON);
	log_err("no memory");
	assert_int_equal(mem_count(), 0);
	mem_fail_at(0, false);
	assert_true(next_line() > 0);
	assert_true(next_line() > 0);
}

static void
log_put_when_fd_fails_keeps_errno_and_goes_on(void **state)
{
	(void)state;
	log_set_fd(9999);
	errno = EPROTO;
	log_err("lost");
	assert_int_equal(errno, EPROTO);
	log_line(-1, LOG_ERR, SPAN("lost"));
	assert_int_equal(errno, EPROTO);
}

static void
log_line_when_text_is_the_callers_text(void **state)
{
	(void)state;
	log_line(-1, LOG_INFO, SPAN("id=1 host=x"));
	assert_line(0, STAMP " info id=1 host=x\n");
	log_setup(LOG_ERR, LOG_TEXT);
	log_line(-1, LOG_INFO, SPAN("the caller asked log_on"));
	assert_line(0, STAMP " info the caller asked log_on\n");
}

static void
log_line_when_json_holds_the_callers_members(void **state)
{
	char members[LOG_INSIDE_MAX + 1] = "\"a\":\"";

	(void)state;
	log_setup(LOG_INFO, LOG_JSON);
	log_line(-1, LOG_WARN, SPAN("\"id\":1,\"host\":\"x\""));
	assert_line(JSON_AT, JSON_HEAD("warn") "\"id\":1,\"host\":\"x\"}\n");
	memset(members + 5, 'x', sizeof(members) - 5);
	members[LOG_INSIDE_MAX - 1] = '"';
	log_line(-1, LOG_INFO, (struct span){members, LOG_INSIDE_MAX});
	assert_in_range(next_line(), LOG_INSIDE_MAX, LOG_LINE_MAX);
	assert_string_equal(line + strlen(line) - 4, "x\"}\n");
	log_line(-1, LOG_INFO, (struct span){members, LOG_INSIDE_MAX + 1});
	assert_line(JSON_AT, JSON_HEAD("info") "\"msg\":\"line too long\"}\n");
}

static void
log_line_when_fd_is_given_goes_there(void **state)
{
	(void)state;
	log_set_fd(9999);
	log_line(fds[1], LOG_INFO, SPAN("access"));
	assert_line(0, STAMP " info access\n");
}

static void *
log_from_thread(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_info("%c%0500d", *(const char *)arg, i);
	return NULL;
}

/* To a file, which takes all; opened to append, as logs are: a plain offset is
 * not advanced atomically for a memfd. */
static void
log_put_when_from_threads_never_mixes_lines(void **state)
{
	static char letters[] = "abcd";
	size_t want = sizeof(STAMP " info x") - 1 + 500 + 1;
	int file = memfd_create("log", MFD_CLOEXEC);
	pthread_t threads[4];

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(fcntl(file, F_SETFL, O_APPEND), 0);
	log_set_fd(file);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
				     log_from_thread, &letters[i]),
		    0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(lseek(file, 0, SEEK_SET), 0);
	for (size_t i = 0; i < 4 * 200; i++) {
		assert_int_equal(read(file, line, want), want);
		line[want] = '\0';
		assert_int_equal(strcspn(line, "\n"), want - 1);
		assert_int_equal(strspn(line + 31, "0123456789"), 500);
	}
	assert_int_equal(read(file, line, 1), 0);
	(void)close(file);
}

/* A blocking pipe: the test would hang where the log waits for its reader. */
static void
log_put_when_pipe_is_full_is_lost_and_goes_on(void **state)
{
	int pair[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(pair), 0);
	log_set_fd(pair[1]);
	for (int i = 0; i < 1000; i++)
		log_info("%0500d", i);
	assert_true(read(pair[0], line, 36) == 36);
	line[36] = '\0';
	blank_stamp(0);
	assert_string_equal(line, STAMP " info 000000");
	/* Read again, it says how many are missing. */
	assert_int_equal(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
	while (read(pair[0], line, sizeof(line) - 1) > 0)
		;
	log_info("back");
	n = read(pair[0], line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	assert_non_null(strstr(line, "info back\n"));
	assert_non_null(
	    strstr(line, " log lines were lost: nobody read them\n"));
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* In a child: where AB_DEBUG is set, the first one is the end. */
static void
log_never_when_true_counts_and_logs_at_err(void **state)
{
	bool hit = AB_NEVER(errno == -1);
	int status;
	pid_t pid;

	(void)state;
	assert_false(hit);
	assert_int_equal(log_never_count(), 0);
	log_setup(LOG_ERR, LOG_TEXT);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		hit = AB_NEVER(fds[0] != fds[1]);
		_exit(hit && log_never_count() == 1 ? 42 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
#ifdef AB_DEBUG
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
#else
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
#endif
	assert_true(next_line() > 0);
	blank_stamp(0);
	assert_non_null(strstr(line, " err never: fds[0] != fds[1] ("));
	assert_non_null(strstr(line, "test_log.c:"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(log_put_when_text_is_one_write_of_time_level_text),
	    TEST(log_put_when_json_is_an_object_a_line),
	    TEST(log_put_when_below_level_writes_nothing),
	    TEST(log_debug_when_off_does_not_look_at_its_arguments),
	    TEST(log_put_when_text_holds_controls_stays_one_line),
	    TEST(log_put_when_too_long_is_cut_and_says_so),
	    TEST(log_put_when_json_is_too_long_stays_json),
	    TEST(log_put_when_out_of_memory_still_writes),
	    TEST(log_put_when_fd_fails_keeps_errno_and_goes_on),
	    TEST(log_line_when_text_is_the_callers_text),
	    TEST(log_line_when_json_holds_the_callers_members),
	    TEST(log_line_when_fd_is_given_goes_there),
	    TEST(log_put_when_from_threads_never_mixes_lines),
	    TEST(log_put_when_pipe_is_full_is_lost_and_goes_on),
	    TEST(log_never_when_true_counts_and_logs_at_err),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
