/* SPDX-License-Identifier: MIT */
/*
 * What holds of hints whatever an answer says: they are never negative, never
 * end before the moment that was meant, never wrap, and more never waits less.
 * The inputs are made up from a fixed seed, and what is expected is reckoned
 * here in another way than the code does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "policy/hint.h"
#include "proto/httpdate.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ROUNDS 20000
#define DAY_MS INT64_C(86400000)
#define FOREVER (INT64_MAX / 4)
#define NONE (-1)

/* xorshift64* */
static uint64_t seed;

static uint64_t
draw(uint64_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (seed * UINT64_C(2685821657736338717)) % below;
}

static int
start(void **state)
{
	(void)state;
	seed = UINT64_C(0x9e3779b97f4a7c15);
	return 0;
}

static int64_t
value(const char *text, enum hint_format f, const struct hint_clock *clk)
{
	int64_t ms = -7;

	if (hint_value(span_of(text), f, clk, &ms)) {
		assert_int_equal(ms, -7);
		return NONE;
	}
	assert_in_range(ms, 1, FOREVER);
	return ms;
}

/* --- relative ------------------------------------------------------------ */

static void
wait_in_any_relative_form_is_exact(void **state)
{
	static const struct hint_clock clk = {.date_ms = -1};

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t ms = 1 + draw(UINT64_C(1) << (1 + draw(38)));
		unsigned long long s = ms / 1000, part = ms % 1000;
		char text[96];

		(void)snprintf(text, sizeof(text), "%llu.%03llu", s, part);
		assert_int_equal(value(text, HINT_S, &clk), ms);
		assert_int_equal(value(text, HINT_TEXT, &clk), ms);
		if (s < 1000000000)
			assert_int_equal(value(text, HINT_AUTO, &clk), ms);
		(void)snprintf(text, sizeof(text), "%llu",
		    (unsigned long long)ms);
		assert_int_equal(value(text, HINT_MS, &clk), ms);
		(void)snprintf(text, sizeof(text), "%lluh%llum%llu.%03llus",
		    s / 3600, s / 60 % 60, s % 60, part);
		assert_int_equal(value(text, HINT_DURATION, &clk), ms);
		assert_int_equal(value(text, HINT_AUTO, &clk), ms);
		assert_int_equal(value(text, HINT_TEXT, &clk), ms);
		(void)snprintf(text, sizeof(text),
		    "%llu hours, %llu minutes and %llu.%03llu seconds.",
		    s / 3600, s / 60 % 60, s % 60, part);
		assert_int_equal(value(text, HINT_TEXT, &clk), ms);
		(void)snprintf(text, sizeof(text), "q=9; r=0; t=%llu.%03llu", s,
		    part);
		if (s < 1000000000)
			assert_int_equal(value(text, HINT_PAIRS, &clk), ms);
		/* the least bit more is a millisecond more */
		(void)snprintf(text, sizeof(text), "%llu.%03llu%0*d1", s, part,
		    (int)draw(25) + 1, 0);
		assert_int_equal(value(text, HINT_S, &clk), ms + 1);
	}
}

static void
wait_of_more_is_never_less(void **state)
{
	static const struct hint_clock clk = {.date_ms = -1};
	static const enum hint_format formats[] = {HINT_S, HINT_MS};

	(void)state;
	for (unsigned i = 0; i < ROUNDS / 20; i++) {
		enum hint_format f = formats[draw(COUNT(formats))];
		char text[64] = "";
		size_t n = 0, point = 1 + draw(45);
		int64_t before = 0;

		while (n < 50) {
			int64_t ms;

			if (n == point)
				text[n++] = '.';
			text[n++] = (char)('0' + (int)draw(10));
			text[n] = '\0';
			ms = value(text, f, &clk);
			if (ms == NONE) /* 0, 00, 0.0 */
				ms = 0;
			assert_true(ms >= before);
			before = ms;
		}
	}
}

static void
wait_of_two_numbers_is_in_their_order(void **state)
{
	static const struct hint_clock clk = {.date_ms = -1};

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t whole[2] = {draw(UINT64_MAX) >> draw(64), 0};
		uint64_t part[2] = {draw(1000000), draw(1000000)};
		int64_t ms[2];
		char text[64];

		whole[1] = draw(2) ? whole[0] : draw(UINT64_MAX) >> draw(64);
		for (unsigned k = 0; k < 2; k++) {
			(void)snprintf(text, sizeof(text), "%llu.%06llu",
			    (unsigned long long)whole[k],
			    (unsigned long long)part[k]);
			ms[k] = value(text, HINT_S, &clk);
		}
		if (whole[0] < whole[1] ||
		    (whole[0] == whole[1] && part[0] <= part[1]))
			assert_true(ms[0] <= ms[1]);
		else
			assert_true(ms[0] >= ms[1]);
	}
}

/* --- absolute ------------------------------------------------------------ */

/* The parts of a moment, as an HTTP-date has them; it is whole seconds. */
struct moment {
	char http[HTTPDATE_LEN + 1];
	unsigned day, month, year;
	char time[9]; /* 00:00:10 */
};

static unsigned
number(const char *p, size_t n)
{
	uint64_t v;

	assert_int_equal(span_u64((struct span){p, n}, &v), 0);
	return (unsigned)v;
}

static struct moment
moment_of(int64_t s)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct moment m = {.time = ""};
	char month[4] = "";

	httpdate_format(s, m.http);
	memcpy(month, m.http + 8, 3);
	m.day = number(m.http + 5, 2);
	m.month = (unsigned)(strstr(months, month) - months) / 3 + 1;
	m.year = number(m.http + 12, 4);
	memcpy(m.time, m.http + 17, 8);
	return m;
}

struct due {
	struct hint_clock clk;
	int64_t ms; /* since the epoch */
	int64_t wait_ms;
};

static struct due
any_due(void)
{
	struct due d = {
	    .clk = {.wall_ms = (int64_t)draw(UINT64_C(2000000000000)) +
		    INT64_C(1000000000000)}};

	d.clk.date_ms = draw(2) ? -1 : d.clk.wall_ms / 1000 * 1000;
	d.clk.age_ms = draw(3) ? 0 : (int64_t)draw(60) * 1000;
	d.wait_ms = 1 + (int64_t)draw((uint64_t)(34 * DAY_MS) >> draw(30));
	d.ms = d.clk.date_ms < 0 ? d.clk.wall_ms + d.wait_ms
				 : d.clk.date_ms + d.clk.age_ms + d.wait_ms;
	return d;
}

/* text says `late_ms` after what is due, at most. */
static void
assert_due(const struct due *d, const char *text, enum hint_format f,
    int64_t late_ms)
{
	int64_t ms = value(text, f, &d->clk);

	if (ms < d->wait_ms || ms > d->wait_ms + late_ms)
		fail_msg("%s as %s: %lld, due in %lld", text,
		    hint_format_name(f), (long long)ms, (long long)d->wait_ms);
	if (f != HINT_EPOCH && f != HINT_TEXT)
		assert_int_equal(value(text, HINT_AUTO, &d->clk), ms);
}

static void
check_epochs(const struct due *d)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "%lld", (long long)d->ms);
	assert_due(d, text, HINT_EPOCH_MS, 0);
	(void)snprintf(text, sizeof(text), "%lld.%03d", (long long)d->ms / 1000,
	    (int)(d->ms % 1000));
	assert_due(d, text, HINT_EPOCH, 0);
	assert_due(d, text, HINT_TEXT, 0);
	(void)snprintf(text, sizeof(text), "%lld",
	    (long long)(d->ms + 999) / 1000);
	assert_due(d, text, HINT_EPOCH, 999);
}

/* As a clock shows it that is `zone` minutes ahead of UTC. */
static void
check_dates(const struct due *d, int zone)
{
	int64_t up_s = (d->ms + 999) / 1000;
	struct moment m = moment_of(up_s + zone * 60);
	struct moment low = moment_of(d->ms / 1000 + zone * 60);
	int off = zone < 0 ? -zone : zone;
	char sign = zone < 0 ? '-' : '+', text[96];

	assert_due(d, moment_of(up_s).http, HINT_HTTP_DATE, 999);
	(void)snprintf(text, sizeof(text), "%.25s %c%02d%02d", m.http, sign,
	    off / 60, off % 60);
	assert_due(d, text, HINT_HTTP_DATE, 999);
	(void)snprintf(text, sizeof(text),
	    "%.3s %.3s %02u %04u %s GMT%c%02d%02d (Some Time)", m.http,
	    m.http + 8, m.day, m.year, m.time, sign, off / 60, off % 60);
	assert_due(d, text, HINT_JS_DATE, 999);
	(void)snprintf(text, sizeof(text), "%04u-%02u-%02uT%s.%03d%c%02d:%02d",
	    low.year, low.month, low.day, low.time, (int)(d->ms % 1000), sign,
	    off / 60, off % 60);
	assert_due(d, text, HINT_ISO8601, 0);
	assert_due(d, text, HINT_TEXT, 0);
	/* cut off at the minute, as Jira does */
	(void)snprintf(text, sizeof(text), "%04u-%02u-%02uT%.5s%c%02d:%02d",
	    low.year, low.month, low.day, low.time, sign, off / 60, off % 60);
	assert_due(d, text, HINT_ISO8601, 60000);
	(void)snprintf(text, sizeof(text), "%04u-%02u-%02u at %.5s %c%02d%02d",
	    low.year, low.month, low.day, low.time, sign, off / 60, off % 60);
	assert_due(d, text, HINT_TEXT, 60000);
}

static void
wait_until_any_moment_never_ends_before_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct due d = any_due();

		check_epochs(&d);
		check_dates(&d, (int)draw(1 + 28 * 60) - 14 * 60);
	}
}

static void
moment_that_is_over_or_far_is_never_a_wait(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct due d = any_due();
		char text[64];

		d.ms -= d.wait_ms;
		d.ms += draw(2)
		    ? -(int64_t)draw((uint64_t)(90 * DAY_MS))
		    : 35 * DAY_MS + 1 + (int64_t)draw((uint64_t)(900 * DAY_MS));
		(void)snprintf(text, sizeof(text), "%lld", (long long)d.ms);
		assert_int_equal(value(text, HINT_EPOCH_MS, &d.clk), NONE);
		if (d.ms >= INT64_C(1000000000000))
			assert_int_equal(value(text, HINT_AUTO, &d.clk), NONE);
	}
}

/* --- several limits ------------------------------------------------------ */

struct limit {
	bool told; /* remaining is there */
	unsigned remaining, reset_s;
};

#define LIMITS_MAX 6

static struct head
answer_of(const struct limit *v, size_t n, bool as_list)
{
	static const struct head_limits limits = {65536, 16384,
	    HEAD_FIELDS_MAX};
	static char text[4096];
	struct head_scan scan = {0};
	struct head h;
	const char *why = "";
	int len = snprintf(text, sizeof(text), "HTTP/1.1 429 X\r\n");

	for (size_t i = 0; i < n; i++) {
		if (as_list) {
			len += snprintf(text + len, sizeof(text) - (size_t)len,
			    "RateLimit: \"l%zu\";r=%u;t=%u\r\n", i,
			    v[i].remaining, v[i].reset_s);
			continue;
		}
		len += snprintf(text + len, sizeof(text) - (size_t)len,
		    "Anthropic-Ratelimit-l%zu-Reset: %u\r\n", i, v[i].reset_s);
		if (v[i].told)
			len += snprintf(text + len, sizeof(text) - (size_t)len,
			    "anthropic-ratelimit-l%zu-remaining: %u\r\n", i,
			    v[i].remaining);
	}
	len += snprintf(text + len, sizeof(text) - (size_t)len, "\r\n");
	assert_int_equal(head_response(text, (size_t)len, &scan, &limits, &h,
			     &why),
	    HEAD_OK);
	return h;
}

static void
assert_quota(const struct hint_quota *q, const struct limit *v, size_t n)
{
	double least = -1;

	for (size_t i = 0; i < n; i++) {
		double pace = (double)v[i].remaining / v[i].reset_s;

		if (v[i].told && v[i].reset_s > 0 &&
		    (least < 0 || pace < least))
			least = pace;
	}
	assert_int_equal(q->valid, least >= 0);
	if (!q->valid)
		return;
	double pace = (double)q->remaining * 1000 / (double)q->reset_ms;
	assert_true(pace <= least + 1e-9 && pace >= least - 1e-9);
}

static void
limits_of_any_number_wait_for_the_longest_used_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		bool as_list = draw(2);
		size_t n = draw(LIMITS_MAX + 1);
		struct limit v[LIMITS_MAX];
		int64_t want = 0;

		for (size_t k = 0; k < n; k++) {
			v[k].told = as_list || draw(4) > 0;
			v[k].remaining = (unsigned)(draw(2) ? 0 : draw(100));
			v[k].reset_s = (unsigned)draw(200);
			if ((!v[k].told || v[k].remaining == 0) &&
			    v[k].reset_s * INT64_C(1000) > want)
				want = v[k].reset_s * INT64_C(1000);
		}
		struct head h = answer_of(v, n, as_list);
		struct hint hint = hint_find(&hint_default, &h, 0);
		struct hint_quota q = hint_quota_find(&hint_default, &h, 0);
		assert_int_equal(hint.valid, want > 0);
		assert_int_equal(hint.wait_ms, want);
		assert_quota(&q, v, n);
	}
}

/* --- anything ------------------------------------------------------------ */

static void
value_of_anything_is_a_wait_or_none(void **state)
{
	static const char letters[] =
	    "0123456789999.,;:-+=\"() \tTZzrthmsdateGMTUCJanuonW/%eE*";
	static const char *const words[] = {"Tue, ", "01 Jan 2030 ", "00:00:10",
	    " GMT", "2030-01-01", "r=0;t=", "remaining=0", "reset=", " seconds",
	    "1893456010", "99999999999999999999", "\";r=0;t=9"};

	(void)state;
	for (unsigned i = 0; i < ROUNDS * 5; i++) {
		struct due d = any_due();
		char text[160] = "";
		size_t n = 0, parts = draw(12);

		for (size_t k = 0; k < parts; k++) {
			if (draw(3) == 0)
				n +=
				    (size_t)snprintf(text + n, sizeof(text) - n,
					"%s", words[draw(COUNT(words))]);
			else
				text[n++] = letters[draw(sizeof(letters) - 1)];
			text[n] = '\0';
			if (n > 100)
				break;
		}
		for (unsigned f = 0; f < HINT_FORMAT_COUNT; f++)
			(void)value(text, (enum hint_format)f, &d.clk);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(wait_in_any_relative_form_is_exact, start),
	    cmocka_unit_test_setup(wait_of_more_is_never_less, start),
	    cmocka_unit_test_setup(wait_of_two_numbers_is_in_their_order,
		start),
	    cmocka_unit_test_setup(wait_until_any_moment_never_ends_before_it,
		start),
	    cmocka_unit_test_setup(moment_that_is_over_or_far_is_never_a_wait,
		start),
	    cmocka_unit_test_setup(
		limits_of_any_number_wait_for_the_longest_used_up, start),
	    cmocka_unit_test_setup(value_of_anything_is_a_wait_or_none, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
