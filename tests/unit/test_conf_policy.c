/* SPDX-License-Identifier: MIT */
/* [defaults] and [service NAME]: values, layers, and what must fit together. */
#include "conf_rig.h"

static const struct conf_service *
named(const struct conf *c, const char *name)
{
	const struct conf_service *s = conf_service_named(c, span_of(name));

	assert_non_null(s);
	return s;
}

/* --- values -------------------------------------------------------------- */

static void
duration_with_any_unit_is_ms(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} v[] = {{"1ms", 1}, {"250ms", 250}, {"1s", 1000}, {"1.5s", 1500},
	    {"0.001s", 1}, {"2min", 120000}, {"0.5min", 30000}, {"1h", 3600000},
	    {"35d", INT64_C(3024000000)}, {"1.000000000s", 1000}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[100];

		(void)snprintf(text, sizeof(text), "[defaults]\ndeadline = %s",
		    v[i].text);
		struct conf *c = rig_good(text);
		assert_int_equal(c->defaults.policy.deadline_ms, v[i].ms);
		conf_unref(c);
	}
}

static void
size_with_any_unit_is_bytes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t bytes;
	} v[] = {{"0", 0}, {"0B", 0}, {"1B", 1}, {"64KiB", 65536},
	    {"1.5MiB", 1572864}, {"1024GiB", UINT64_C(1) << 40}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[100];

		(void)snprintf(text, sizeof(text),
		    "[defaults]\nbody_spill = %s", v[i].text);
		struct conf *c = rig_good(text);
		assert_int_equal(c->defaults.policy.body_spill_bytes,
		    v[i].bytes);
		conf_unref(c);
	}
}

static void
rate_is_kept_in_lowest_terms(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t count;
		int64_t per_ms;
		uint64_t burst;
	} v[] = {{"90/min", 3, 2000, 1}, {"1.5/s", 3, 2000, 1},
	    {"10000/day", 1, 8640, 1}, {"1/h burst 10", 1, 3600000, 10},
	    {"1000/s  burst  1000000000", 1, 1, 1000000000}, {"7/ms", 7, 1, 1},
	    {"1000000000/ms", 1000000000, 1, 1},
	    {"0.1/day", 1, INT64_C(864000000), 1}};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[100];

		(void)snprintf(text, sizeof(text), "[defaults]\nrate = %s",
		    v[i].text);
		struct conf *c = rig_good(text);
		const struct policy *p = &c->defaults.policy;
		assert_int_equal(p->bucket.n, 1);
		assert_int_equal(p->bucket.v[0].count, v[i].count);
		assert_int_equal(p->bucket.v[0].per_ms, v[i].per_ms);
		assert_int_equal(p->bucket.v[0].burst, v[i].burst);
		assert_true(p->service.has_rate);
		conf_unref(c);
	}
}

static void
lists_take_repeats_commas_and_indented_lines(void **state)
{
	(void)state;
	struct conf *c = rig_good("[defaults]\n"
				  "rate = 1/s, 2/min burst 3,\n"
				  "\t3/h\n"
				  "# a comment between\n"
				  "rate = 4/day\n"
				  "retry_on =\n"
				  "  429\n"
				  "  500 ; and this one\n"
				  "  429\n"
				  "burst = 7\n");
	const struct policy *p = &c->defaults.policy;

	assert_int_equal(p->bucket.n, 4);
	assert_int_equal(p->bucket.v[0].burst, 7);
	assert_int_equal(p->bucket.v[1].burst, 3);
	assert_int_equal(p->bucket.v[2].per_ms, 1200000);
	assert_int_equal(p->bucket.v[3].burst, 7);
	assert_int_equal(p->verdict.retry_on.n, 2);
	assert_int_equal(p->verdict.retry_on.v[1], 500);
	conf_unref(c);
}

static void
policy_takes_every_kind_of_value(void **state)
{
	(void)state;
	struct conf *c = rig_good("[defaults]\n"
				  "strategy = response_header\n"
				  "retry_on = none\n"
				  "retry_non_idempotent = always\n"
				  "retry_reset = always\n"
				  "retry_connect = off\n"
				  "wait_headers = X-Wait:ms, retry-after : s\n"
				  "max_wait = 0\n"
				  "dry_run = true\n"
				  "allow_half_close = yes\n"
				  "allow_overrides = on\n"
				  "head_timeout = 1ms\n"
				  "concurrency = 8\n");
	const struct policy *p = &c->defaults.policy;

	assert_int_equal(p->backoff.strategy, STRATEGY_RESPONSE_HEADER);
	assert_int_equal(p->verdict.retry_on.n, 0);
	assert_true(p->verdict.non_idempotent_always);
	assert_int_equal(p->verdict.retry_non_idempotent.n, 0);
	assert_int_equal(p->verdict.retry_reset, RESET_ALWAYS);
	assert_false(p->verdict.retry_connect);
	assert_int_equal(p->hint.n, 2);
	assert_true(span_eq(p->hint.v[0].name, SPAN("X-Wait")));
	assert_int_equal(p->hint.v[0].format, HINT_MS);
	assert_true(span_eq(p->hint.v[1].name, SPAN("retry-after")));
	assert_int_equal(p->hint.v[1].format, HINT_S);
	assert_int_equal(p->max_wait_ms, 0);
	assert_true(p->dry_run && p->allow_half_close && p->allow_overrides);
	assert_int_equal(p->head_timeout_ms, 1);
	assert_int_equal(p->concurrency, 8);
	conf_unref(c);

	c = rig_good("[defaults]\nwait_headers = none\n"
		     "retry_non_idempotent = never\n");
	assert_int_equal(c->defaults.policy.hint.n, 0);
	assert_int_equal(c->defaults.policy.verdict.retry_non_idempotent.n, 0);
	assert_false(c->defaults.policy.verdict.non_idempotent_always);
	conf_unref(c);
}

static void
key_takes_up_to_four_parts(void **state)
{
	(void)state;
	struct conf *c = rig_good("[service a]\nhosts = a\n"
				  "key = header:Authorization, path:16, "
				  "query:api_key, client\n"
				  "[service b]\nhosts = b\n");
	const struct policy *p = &named(c, "a")->policy;

	assert_int_equal(p->nkey, 4);
	assert_int_equal(p->key[0].kind, POLICY_KEY_HEADER);
	assert_true(span_eq(p->key[0].name, SPAN("Authorization")));
	assert_int_equal(p->key[1].kind, POLICY_KEY_PATH);
	assert_int_equal(p->key[1].depth, 16);
	assert_int_equal(p->key[2].kind, POLICY_KEY_QUERY);
	assert_true(span_eq(p->key[2].name, SPAN("api_key")));
	assert_int_equal(p->key[3].kind, POLICY_KEY_CLIENT);
	/* One state for the whole service, unless it says otherwise. */
	assert_int_equal(named(c, "b")->policy.nkey, 0);
	conf_unref(c);
}

/* --- layers -------------------------------------------------------------- */

static void
service_takes_defaults_wherever_they_stand(void **state)
{
	(void)state;
	struct conf *c =
	    rig_good("[service a]\nhosts = a.test, *.a.test\n"
		     "max_retries = 9\nrate = none\n"
		     "retry_on = 500\n"
		     "[defaults]\ndeadline = 10s\n"
		     "max_retries = 2\nrate = 5/s\nburst = 4\n"
		     "[service b]\nhosts = b.test:81\nburst = 6\n");
	const struct conf_service *a = named(c, "a"), *b = named(c, "b");

	assert_int_equal(c->nservices, 2);
	assert_int_equal(a->policy.max_wait_ms, 10000);
	assert_int_equal(a->policy.verdict.max_retries, 9);
	assert_int_equal(a->policy.bucket.n, 0);
	assert_false(a->policy.service.has_rate);
	assert_int_equal(a->policy.verdict.retry_on.n, 1);
	assert_int_equal(b->policy.verdict.max_retries, 2);
	assert_int_equal(b->policy.bucket.v[0].burst, 6);
	assert_int_equal(b->policy.verdict.retry_on.n, 3);
	assert_int_equal(c->defaults.policy.bucket.v[0].burst, 4);
	assert_ptr_equal(conf_service_of(c, SPAN("a.test"), 80), a);
	assert_ptr_equal(conf_service_of(c, SPAN("x.a.test"), 80), a);
	assert_ptr_equal(conf_service_of(c, SPAN("B.TEST"), 81), b);
	assert_ptr_equal(conf_service_of(c, SPAN("b.test"), 80), &c->defaults);
	assert_null(conf_service_named(c, SPAN("c")));
	conf_unref(c);
}

static void
route_goes_to_the_first_plain_host(void **state)
{
	static const struct {
		const char *hosts, *host;
		uint16_t port;
	} v[] = {{"a.test", "a.test", 80},
	    {"*.x, a.test:8080, b", "a.test", 8080},
	    {"*, 10.0.0.1:81", "10.0.0.1", 81}, {"[::1]:82", "::1", 82},
	    {"[::1]", "::1", 80}, {"a.test\ntls = originate", "a.test", 443},
	    {"a.test:80\ntls = originate", "a.test", 80}};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		char text[200];
		size_t n = 0;

		(void)snprintf(text, sizeof(text),
		    "[service s]\nroute = /s/\nhosts = %s\n", v[i].hosts);
		struct conf *c = rig_good(text);
		const struct conf_service *s = named(c, "s");
		assert_string_equal(s->route, "/s/");
		assert_string_equal(s->route_host, v[i].host);
		assert_int_equal(s->route_port, v[i].port);
		assert_ptr_equal(rules_find_route(&c->rules, SPAN("/s/x"), &n),
		    s);
		conf_unref(c);
	}
}

/* --- what must fit together ---------------------------------------------- */

static void
values_that_contradict_are_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[defaults]\nbase_delay = 20s\n",
		"f:2: base_delay (20s) is longer than max_delay (10s, the "
		"default); lower it or raise max_delay\n"},
	    {"[defaults]\nmax_delay = 999ms\n",
		"f:2: max_delay (999ms) is shorter than base_delay (1s, the "
		"default); raise it or lower base_delay\n"},
	    {"[defaults]\ndeadline = 5s\nmax_wait = 5001ms\n",
		"f:3: max_wait (5001ms) is longer than deadline (5s, f:2); "
		"lower it or raise deadline\n"},
	    {"[defaults]\nqueue_timeout = 61s\n",
		"f:2: queue_timeout (61s) is longer than deadline (60s, the "
		"default); lower it or raise deadline\n"},
	    /* Inherited: told where the service says its part. */
	    {"[defaults]\nmax_wait = 30s\n[service a]\nhosts = a\n"
	     "deadline = 29s\n",
		"f:5: deadline (29s) is shorter than max_wait (30s, f:2); "
		"raise it or lower max_wait\n"},
	    /* Once, not once more per service. */
	    {"[service a]\nhosts = a\n[defaults]\nbase_delay = 20s\n",
		"f:4: base_delay (20s) is longer than max_delay (10s, the "
		"default); lower it or raise max_delay\n"},
	    /* A bad value has no consequences beside itself. */
	    {"[defaults]\ndeadline = 90\nmax_wait = 80s\n",
		"f:2: deadline '90': the unit is missing; it takes a duration "
		"(ms, s, min, h, d) from 1ms to 35d\n"},
	    {"[defaults]\nburst = 3\n",
		"f:2: burst (3) has no effect: there is no rate; add one\n"},
	    {"[service a]\nhosts = a\nburst = 3\n",
		"f:3: burst (3) has no effect: service 'a' has no rate without "
		"a burst of its own\n"},
	    {"[service a]\nhosts = a\nrate = 1/s burst 2\nburst = 3\n",
		"f:4: burst (3) has no effect: service 'a' has no rate without "
		"a burst of its own\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		rig_bad(v[i].text, v[i].problems);
	conf_unref(rig_good("[defaults]\nbase_delay = 10s\nmax_wait = 60s\n"
			    "queue_timeout = 60s\n"));
	conf_unref(rig_good("[defaults]\nburst = 3\n"
			    "[service a]\nhosts = a\nrate = 1/s\n"));
}

static void
service_that_is_in_the_way_of_another_is_told(void **state)
{
	static const struct {
		const char *text, *problems;
	} v[] = {
	    {"[service a]\nhosts = a\n[service b]\nhosts = b, A\n",
		"f:4: hosts 'A': service 'a' has it already; one of 'a' and "
		"'b' must let it go\n"},
	    {"[service a]\nhosts = a, b, a\n",
		"f:2: hosts 'a': listed twice in this service; take one out\n"},
	    {"[service a]\nroute = /x/\nhosts = a\n"
	     "[service b]\nroute = /x/\nhosts = b\n",
		"f:5: route '/x/': service 'a' has it already; one of 'a' and "
		"'b' must let it go\n"},
	    {"[service a]\nhosts = a\n\n[service a]\nhosts = a\njitter = 1\n",
		"f:4: service 'a' is given twice, first at f:1; rename one or "
		"join them\n"
		"f:6: jitter '1': the unit is missing; it takes a duration "
		"(ms, s, min, h, d) from 0 to 1h\n"},
	    {"[service a]\n\n[service b]\nmax_retries = 1\n",
		"f:1: service 'a' has neither hosts nor a route, so no request "
		"belongs to it; add hosts\n"
		"f:3: service 'b' has neither hosts nor a route, so no request "
		"belongs to it; add hosts\n"},
	    {"[service a]\nroute = /x/\n",
		"f:2: route (/x/) leads nowhere: hosts of service 'a' names no "
		"host without a wildcard; add one\n"},
	    {"[service a]\nroute = /x/\nhosts = *.a, *\n",
		"f:2: route (/x/) leads nowhere: hosts of service 'a' names no "
		"host without a wildcard; add one\n"},
	    {"[service a]\nhosts =\n",
		"f:2: hosts '': the value is missing; it takes a list of host, "
		"host:port, [v6]:port, *.suffix, *.suffix:port, or *\n"},
	    {"[service a]\nhosts = a\nroute = x\n",
		"f:3: route 'x': a route begins and ends with '/'; it takes a "
		"path that begins and ends with /\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		rig_bad(v[i].text, v[i].problems);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(duration_with_any_unit_is_ms),
	    cmocka_unit_test(size_with_any_unit_is_bytes),
	    cmocka_unit_test(rate_is_kept_in_lowest_terms),
	    cmocka_unit_test(lists_take_repeats_commas_and_indented_lines),
	    cmocka_unit_test(policy_takes_every_kind_of_value),
	    cmocka_unit_test(key_takes_up_to_four_parts),
	    cmocka_unit_test(service_takes_defaults_wherever_they_stand),
	    cmocka_unit_test(route_goes_to_the_first_plain_host),
	    cmocka_unit_test(values_that_contradict_are_told),
	    cmocka_unit_test(service_that_is_in_the_way_of_another_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
