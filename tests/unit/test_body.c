/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/body.h"
#include "engine/engine.h"

#define DISK_BYTES 300000u
#define CHUNK 200000u

static struct engine_shared shared;
static struct engine engine;
static struct body body;
static char disk[DISK_BYTES], bytes[2 * CHUNK];
static size_t disk_limit;
static int files;
static bool no_file, unreadable;

static int
spill_open(struct engine *e)
{
	(void)e;
	if (no_file)
		return -1;
	files++;
	return 7;
}

static int
spill_write(struct engine *e, int fd, const void *p, size_t n, uint64_t at)
{
	(void)e;
	assert_int_equal(fd, 7);
	if (at + n > disk_limit)
		return -1;
	memcpy(disk + at, p, n);
	return 0;
}

static int
spill_read(struct engine *e, int fd, void *p, size_t n, uint64_t at)
{
	(void)e;
	assert_int_equal(fd, 7);
	if (unreadable)
		return -1;
	assert_true(at + n <= sizeof(disk));
	memcpy(p, disk + at, n);
	return 0;
}

static void
spill_close(struct engine *e, int fd)
{
	(void)e;
	assert_int_equal(fd, 7);
	files--;
}

static const struct ports ports = {
    .spill_open = spill_open,
    .spill_write = spill_write,
    .spill_read = spill_read,
    .spill_close = spill_close,
};

static int
set_up(void **state)
{
	(void)state;
	shared = (struct engine_shared){.nengines = 1};
	atomic_init(&shared.max_body_memory, UINT64_MAX);
	atomic_init(&shared.max_body_disk, UINT64_MAX);
	engine = (struct engine){.ports = &ports, .shared = &shared};
	disk_limit = DISK_BYTES;
	no_file = unreadable = false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 31 + i / 253);
	body_init(&body);
	return 0;
}

/* Whatever a test did, nothing is left over. */
static int
tear_down(void **state)
{
	(void)state;
	mem_fail_at(0, false);
	body_free(&body, &engine);
	assert_int_equal(atomic_load(&shared.body_memory), 0);
	assert_int_equal(atomic_load(&shared.body_disk), 0);
	assert_int_equal(files, 0);
	return 0;
}

/* From `at` on, through a buffer of `cap` bytes, to the end. */
static void
assert_reads_back(uint64_t at, size_t cap)
{
	char buf[4096];
	struct span s;

	for (;;) {
		assert_int_equal(body_at(&body, &engine, at, buf, cap, &s), 0);
		if (s.n == 0)
			break;
		assert_memory_equal(s.p, bytes + at, s.n);
		at += s.n;
	}
	assert_int_equal(at, body.bytes);
}

static void
body_new_has_nothing_to_read(void **state)
{
	struct span s;
	char buf[8];

	(void)state;
	assert_int_equal(body_at(&body, &engine, 0, buf, sizeof(buf), &s), 0);
	assert_int_equal(s.n, 0);
	assert_false(body_replayable(&body));
	body.complete = true;
	assert_true(body_replayable(&body));
}

static void
body_around_its_limits_says_what_became_of_it(void **state)
{
	static const struct {
		uint64_t memory, spill;
		size_t n, stored, in_memory;
		enum body_why once;
	} cases[] = {
	    {0, 0, 1, 0, 0, BODY_TOO_LARGE},
	    {1, 0, 1, 1, 1, BODY_WHOLE},
	    {1000, 0, 999, 999, 999, BODY_WHOLE},
	    {1000, 0, 1000, 1000, 1000, BODY_WHOLE},
	    {1000, 0, 1001, 1000, 1000, BODY_TOO_LARGE},
	    {0, 1000, 1000, 1000, 0, BODY_WHOLE},
	    {0, 1000, 1001, 1000, 0, BODY_TOO_LARGE},
	    {1000, 500, 1499, 1499, 1000, BODY_WHOLE},
	    {1000, 500, 1500, 1500, 1000, BODY_WHOLE},
	    {1000, 500, 1501, 1500, 1000, BODY_TOO_LARGE},
	    {100000, 100000, CHUNK, CHUNK, 100000, BODY_WHOLE},
	    {100000, 99999, CHUNK, CHUNK - 1, 100000, BODY_TOO_LARGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct body_cfg cfg = {cases[i].memory, cases[i].spill};

		assert_int_equal(body_append(&body, &engine, &cfg, bytes,
				     cases[i].n),
		    cases[i].stored);
		assert_int_equal(body.bytes, cases[i].stored);
		assert_int_equal(body.in_memory, cases[i].in_memory);
		assert_int_equal(body.once, cases[i].once);
		assert_reads_back(0, 4096);
		body.complete = true;
		assert_int_equal(body_replayable(&body),
		    cases[i].once == BODY_WHOLE);
		body_free(&body, &engine);
	}
}

static void
body_in_pieces_reads_back_from_any_byte(void **state)
{
	struct body_cfg cfg = {50000, 100000};
	size_t at = 0;

	(void)state;
	for (size_t n = 1; at + n <= 120000; at += n, n = n * 2 % 7919 + 1)
		assert_int_equal(body_append(&body, &engine, &cfg, bytes + at,
				     n),
		    n);
	assert_int_equal(body.in_memory, 50000);
	for (uint64_t from = 0; from <= body.bytes; from += 1013)
		assert_reads_back(from, 4096);
	assert_reads_back(49999, 1);
	assert_reads_back(body.bytes - 3, 2);
	assert_reads_back(body.bytes, 16);
}

static void
body_read_twice_is_the_same(void **state)
{
	struct body_cfg cfg = {1000, 9000};

	(void)state;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 10000),
	    10000);
	assert_reads_back(0, 4096);
	assert_reads_back(0, 37);
	assert_reads_back(0, 4096);
}

static void
body_once_over_its_limit_takes_no_more(void **state)
{
	struct body_cfg cfg = {100, 0};

	(void)state;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 101), 100);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 1), 0);
	assert_int_equal(body.bytes, 100);
	assert_reads_back(0, 64);
}

static void
body_once_spilled_stays_on_disk(void **state)
{
	struct body_cfg small = {100, 1000}, large = {1000, 1000};

	(void)state;
	assert_int_equal(body_append(&body, &engine, &small, bytes, 150), 150);
	/* A reload gives more memory: the order of the bytes must hold. */
	assert_int_equal(body_append(&body, &engine, &large, bytes + 150, 50),
	    50);
	assert_int_equal(body.in_memory, 100);
	assert_reads_back(0, 64);
}

static void
body_over_shared_memory_goes_to_disk(void **state)
{
	struct body_cfg cfg = {CHUNK, CHUNK};

	(void)state;
	atomic_store(&shared.max_body_memory, 0);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 5000), 5000);
	/* The first block is everybody's right: most bodies are no longer. */
	assert_int_equal(body.in_memory, 512);
	assert_int_equal(files, 1);
	assert_reads_back(0, 4096);
}

static void
body_over_shared_disk_is_sent_once(void **state)
{
	struct body_cfg cfg = {100, 1000};
	struct body other;

	(void)state;
	body_init(&other);
	atomic_store(&shared.max_body_disk, 300);
	assert_int_equal(body_append(&other, &engine, &cfg, bytes, 300), 300);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 200), 200);
	assert_int_equal(atomic_load(&shared.body_disk), 300);
	assert_int_equal(body.once, BODY_WHOLE);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes + 200, 1), 0);
	assert_int_equal(body.once, BODY_SPILL_FAILED);
	assert_reads_back(0, 64);
	body_free(&other, &engine);
	assert_int_equal(atomic_load(&shared.body_disk), 100);
}

static void
body_without_shared_disk_opens_no_file(void **state)
{
	struct body_cfg cfg = {100, 1000};

	(void)state;
	atomic_store(&shared.max_body_disk, 0);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 101), 100);
	assert_int_equal(body.once, BODY_SPILL_FAILED);
	assert_int_equal(files, 0);
}

static void
body_memory_is_counted_as_it_is_held(void **state)
{
	struct body_cfg cfg = {CHUNK, 0};

	(void)state;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 10), 10);
	assert_int_equal(atomic_load(&shared.body_memory), 512);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes + 10,
			     CHUNK - 10),
	    CHUNK - 10);
	assert_in_range(atomic_load(&shared.body_memory), CHUNK, CHUNK + 65536);
}

static void
body_disk_failure_says_so_and_keeps_what_it_had(void **state)
{
	struct body_cfg cfg = {100, 1000};

	(void)state;
	disk_limit = 50;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 140), 140);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes + 140, 11), 0);
	assert_int_equal(body.once, BODY_SPILL_FAILED);
	assert_int_equal(body.bytes, 140);
	assert_reads_back(0, 64);
	body.complete = true;
	assert_false(body_replayable(&body));
}

static void
body_without_a_file_is_spill_failed(void **state)
{
	struct body_cfg cfg = {100, 1000};

	(void)state;
	no_file = true;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 101), 100);
	assert_int_equal(body.once, BODY_SPILL_FAILED);
	assert_int_equal(files, 0);
}

static void
body_unreadable_file_fails_the_read_alone(void **state)
{
	struct body_cfg cfg = {100, 1000};
	struct span s = {"untouched", 9};
	char buf[64];

	(void)state;
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 150), 150);
	unreadable = true;
	assert_int_equal(body_at(&body, &engine, 99, buf, sizeof(buf), &s), 0);
	assert_int_equal(s.n, 1);
	s = (struct span){"untouched", 9};
	assert_int_equal(body_at(&body, &engine, 100, buf, sizeof(buf), &s),
	    -1);
	assert_string_equal(s.p, "untouched");
}

static void
body_without_memory_keeps_what_it_had(void **state)
{
	struct body_cfg cfg = {CHUNK, 0};

	(void)state;
	mem_fail_at(1, false);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 10), 0);
	assert_int_equal(body.once, BODY_NO_MEMORY);
	body_free(&body, &engine);
	mem_fail_at(2, false);
	/* The first block takes 512 and the second is not to be had. */
	assert_int_equal(body_append(&body, &engine, &cfg, bytes, 512), 512);
	assert_int_equal(body_append(&body, &engine, &cfg, bytes + 512, 1), 0);
	assert_int_equal(body.once, BODY_NO_MEMORY);
	assert_reads_back(0, 64);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(body_new_has_nothing_to_read),
	    TEST(body_around_its_limits_says_what_became_of_it),
	    TEST(body_in_pieces_reads_back_from_any_byte),
	    TEST(body_read_twice_is_the_same),
	    TEST(body_once_over_its_limit_takes_no_more),
	    TEST(body_once_spilled_stays_on_disk),
	    TEST(body_over_shared_memory_goes_to_disk),
	    TEST(body_over_shared_disk_is_sent_once),
	    TEST(body_without_shared_disk_opens_no_file),
	    TEST(body_memory_is_counted_as_it_is_held),
	    TEST(body_disk_failure_says_so_and_keeps_what_it_had),
	    TEST(body_without_a_file_is_spill_failed),
	    TEST(body_unreadable_file_fails_the_read_alone),
	    TEST(body_without_memory_keeps_what_it_had),
	};

	return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}
