/* SPDX-License-Identifier: MIT */
/* Options about what is learned from answers and how much is retried. */
#include "conf_rig.h"

static struct conf *
with(const char *line)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "[defaults]\n%s", line);
	return rig_good(text);
}

static void
bad(const char *key, const char *value, const char *why, const char *takes)
{
	char text[200], expected[600];

	(void)snprintf(text, sizeof(text), "[defaults]\n%s = %s", key, value);
	(void)snprintf(expected, sizeof(expected), "f:2: %s '%s': %s%s", key,
	    value, why, takes);
	rig_bad(text, expected);
}

static void
budget_is_a_share_a_rate_or_both(void **state)
{
	static const struct {
		const char *line;
		struct budget_cfg is;
	} v[] = {{"", {.on = false}}, {"retry_budget = off", {.on = false}},
	    {"retry_budget = 20% + 10/s", {true, 20, {1, 100, 10}}},
	    {"retry_budget = 20%+10/s", {true, 20, {1, 100, 10}}},
	    {"retry_budget = 90/min + 1000%", {true, 1000, {3, 2000, 2}}},
	    {"retry_budget = 1%", {true, 1, {0, 0, 0}}},
	    {"retry_budget = 1/day", {true, 0, {1, 86400000, 1}}},
	    {"retry_budget = 5% + 1/s burst 50", {true, 5, {1, 1000, 50}}}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct conf *c = with(v[i].line);
		const struct budget_cfg *b = &c->defaults.policy.budget;

		assert_int_equal(b->on, v[i].is.on);
		assert_int_equal(b->percent, v[i].is.percent);
		assert_int_equal(b->floor.count, v[i].is.floor.count);
		assert_int_equal(b->floor.per_ms, v[i].is.floor.per_ms);
		assert_int_equal(b->floor.burst, v[i].is.floor.burst);
		conf_unref(c);
	}
}

static void
budget_that_is_none_is_told(void **state)
{
	static const char takes[] =
	    "; it takes PERCENT% (1 to 1000), NUMBER/UNIT with UNIT ms, s, min, "
	    "h or day, or both with a + between; or off\n";
	static const char *const v[][2] = {{"20", "a rate is NUMBER/UNIT"},
	    {"0%", "out of range"}, {"1001%", "out of range"},
	    {"x%", "it is no whole number"}, {"%", "the % is missing"},
	    {"20% +", "it does not begin with a digit"},
	    {"1/s + 2/s", "more than a share and a rate"},
	    {"1% + 2%", "a rate is NUMBER/UNIT"},
	    {"2/s + 1% + 1%", "more than a share and a rate"}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		bad("retry_budget", v[i][0], v[i][1], takes);
	}
}

static void
service_may_turn_the_budget_of_the_defaults_off(void **state)
{
	struct conf *c = rig_good("[defaults]\nretry_budget = 20%\n"
				  "[service a]\nhosts = a.test\n"
				  "[service b]\nhosts = b.test\n"
				  "retry_budget = off\n");

	(void)state;
	assert_true(conf_service_named(c, SPAN("a"))->policy.budget.on);
	assert_false(conf_service_named(c, SPAN("b"))->policy.budget.on);
	conf_unref(c);
}

static void
share_is_a_percentage_or_off(void **state)
{
	static const struct {
		const char *line;
		unsigned percent;
		bool pauses;
	} v[] = {{"", 50, true}, {"learn_quota = off", 0, true},
	    {"learn_quota = 1%", 1, true}, {"learn_quota = 100%", 100, true},
	    {"learn_retry_after = no", 50, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct conf *c = with(v[i].line);

		assert_int_equal(c->defaults.policy.quota.percent,
		    v[i].percent);
		assert_int_equal(c->defaults.policy.quota.pauses, v[i].pauses);
		conf_unref(c);
	}
}

static void
share_that_is_none_is_told(void **state)
{
	static const char takes[] = "; it takes PERCENT% (1 to 100), or off\n";
	static const char *const v[][2] = {{"0%", "out of range"},
	    {"101%", "out of range"}, {"50", "the % is missing"},
	    {"no", "the % is missing"}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		bad("learn_quota", v[i][0], v[i][1], takes);
}

static void
pace_is_learned_or_not(void **state)
{
	static const struct {
		const char *line;
		enum adaptive mode;
		double floor_per_ms;
	} v[] = {{"", ADAPTIVE_OFF, 1.0 / 60000},
	    {"adaptive = off", ADAPTIVE_OFF, 1.0 / 60000},
	    {"adaptive = aimd", ADAPTIVE_AIMD, 1.0 / 60000},
	    {"adaptive_floor = 6/h", ADAPTIVE_OFF, 6.0 / 3600000},
	    {"adaptive = aimd\nadaptive_floor = 5/s", ADAPTIVE_AIMD, 0.005}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct conf *c = with(v[i].line);
		const struct policy *p = &c->defaults.policy;

		assert_int_equal(p->adapt.mode, v[i].mode);
		assert_true(p->adapt.floor_per_ms == v[i].floor_per_ms);
		/* The pace takes the place of the slow start. */
		assert_int_equal(p->service.has_rate,
		    v[i].mode != ADAPTIVE_OFF);
		conf_unref(c);
	}
}

static void
pace_that_is_none_is_told(void **state)
{
	static const char takes[] =
	    "; it takes NUMBER/UNIT with UNIT ms, s, min, h or day\n";
	static const char *const v[][2] = {{"5", "a rate is NUMBER/UNIT"},
	    {"0/s", "a rate of 0 would let nothing through"},
	    {"5/s burst 2", "it takes no burst"},
	    {"none", "it does not begin with a digit"}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		bad("adaptive_floor", v[i][0], v[i][1], takes);
	bad("adaptive", "cubic", "no such choice", "; it takes off, or aimd\n");
}

static void
field_is_a_name_or_none(void **state)
{
	struct conf *c = rig_good("[defaults]\nbucket_header = x-b\n"
				  "[service a]\nhosts = a.test\n"
				  "bucket_header = none\nscope_header = X-S\n");
	const struct policy *p = &c->defaults.policy;

	(void)state;
	assert_true(span_eq(p->lesson.bucket, SPAN("x-b")));
	assert_int_equal(p->lesson.scope.n, 0);
	p = &conf_service_named(c, SPAN("a"))->policy;
	assert_int_equal(p->lesson.bucket.n, 0);
	assert_true(span_eq(p->lesson.scope, SPAN("X-S")));
	conf_unref(c);
	bad("bucket_header", "a b", "that is no field name",
	    "; it takes the name of a response field, or none\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(budget_is_a_share_a_rate_or_both),
	    cmocka_unit_test(budget_that_is_none_is_told),
	    cmocka_unit_test(share_is_a_percentage_or_off),
	    cmocka_unit_test(share_that_is_none_is_told),
	    cmocka_unit_test(pace_is_learned_or_not),
	    cmocka_unit_test(pace_that_is_none_is_told),
	    cmocka_unit_test(field_is_a_name_or_none),
	    cmocka_unit_test(service_may_turn_the_budget_of_the_defaults_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
