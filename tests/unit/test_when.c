/* SPDX-License-Identifier: MIT */
/* Rules about answers: what they look like, and for which answers they hold. */
#include "when_rig.h"

/* --- does it hold? -------------------------------------------------------- */

#define LIMIT "HTTP/1.1 403 Forbidden\r\nX-RateLimit-Remaining: 0\r\n\r\n"
#define PLAIN "HTTP/1.1 403 Forbidden\r\n\r\n"
#define JSON(status) \
	"HTTP/1.1 " status " X\r\nContent-Type: application/json\r\n\r\n"

struct row {
	const char *rule, *head, *body;
	bool holds;
};

static void
check_rows(const struct row *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rig rig;
		struct when_cfg cfg = {.throttled = {&rig.rule, 1}};

		rig_open(&rig, v[i].head, v[i].body);
		rig_rule(&rig, v[i].rule, WHEN_RULE);
		bool holds = when_judge(&cfg, &rig.view) == WHEN_THROTTLED;
		if (holds != v[i].holds)
			fail_msg("%s: %s for %s%s", v[i].rule,
			    holds ? "holds" : "does not hold", v[i].head,
			    v[i].body ? v[i].body : "(no body)");
		rig_close(&rig);
	}
}
#define CHECK_ROWS(v) check_rows(v, sizeof(v) / sizeof((v)[0]))

static void
statuses_are_the_first_condition(void **state)
{
	static const struct row v[] = {
	    {"403", PLAIN, NULL, true},
	    {"404", PLAIN, NULL, false},
	    {"4xx", PLAIN, NULL, true},
	    {"5xx|2xx", PLAIN, NULL, false},
	    {"200|403|503", PLAIN, NULL, true},
	    {"*", PLAIN, NULL, true},
	    {"*", "HTTP/1.1 999 X\r\n\r\n", NULL, true},
	    {"5xx", "HTTP/1.1 600 X\r\n\r\n", NULL, false},
	    {"5xx", "HTTP/1.1 599 X\r\n\r\n", NULL, true},
	    {"5xx", "HTTP/1.1 500 X\r\n\r\n", NULL, true},
	    {"4xx", "HTTP/1.1 500 X\r\n\r\n", NULL, false},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
header_is_compared_line_by_line(void **state)
{
#define TWO "HTTP/1.1 403 X\r\nA: 5\r\nB: x\r\nA: Seven\r\n\r\n"
	static const struct row v[] = {
	    {"403 header x-ratelimit-remaining = 0", LIMIT, NULL, true},
	    {"403 header X-RATELIMIT-REMAINING", LIMIT, NULL, true},
	    {"403 header x-ratelimit-remaining present", LIMIT, NULL, true},
	    {"403 header x-ratelimit-remaining absent", LIMIT, NULL, false},
	    {"403 header retry-after absent", LIMIT, NULL, true},
	    {"403 header retry-after", LIMIT, NULL, false},
	    {"403 header x-ratelimit-remaining = 1", LIMIT, NULL, false},
	    {"403 header x-ratelimit-remaining != 1", LIMIT, NULL, true},
	    {"403 header x-ratelimit-remaining < 1", LIMIT, NULL, true},
	    {"403 header x-ratelimit-remaining > 0", LIMIT, NULL, false},
	    {"403 header a = seven", TWO, NULL, true},
	    {"403 header a = 5", TWO, NULL, true},
	    {"403 header a != 5", TWO, NULL, false},
	    {"403 header a != 6", TWO, NULL, true},
	    {"403 header c != 6", TWO, NULL, true},
	    {"403 header a contains EVE", TWO, NULL, true},
	    {"403 header a contains six", TWO, NULL, false},
	    {"403 header a > 4.99", TWO, NULL, true},
	    {"403 header b > 0", TWO, NULL, false},
	    {"403 header b < 0", TWO, NULL, false},
	    {"403 header a = 5 and header b = x", TWO, NULL, true},
	    {"403 header a = 5 and header b = y", TWO, NULL, false},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
numbers_are_compared_exactly(void **state)
{
#define N(text) "HTTP/1.1 403 X\r\nn: " text "\r\n\r\n"
	static const struct row v[] = {
	    {"* header n < 10", N("9"), NULL, true},
	    {"* header n < 9", N("10"), NULL, false},
	    {"* header n < 0", N("-1"), NULL, true},
	    {"* header n < -1", N("-2.5"), NULL, true},
	    {"* header n > -1", N("-2.5"), NULL, false},
	    {"* header n < 0", N("-0"), NULL, false},
	    {"* header n > 0", N("0.000"), NULL, false},
	    {"* header n > 0", N("0.0001"), NULL, true},
	    {"* header n > 00.5", N("0.50"), NULL, false},
	    {"* header n < 0.5", N("000.49"), NULL, true},
	    {"* header n > 9007199254740992", N("9007199254740993"), NULL,
		true},
	    {"* header n > 1", N("99999999999999999999999999"), NULL, true},
	    {"* header n < 1", N("1e-3"), NULL, false},
	    {"* header n < 1", N(""), NULL, false},
	    {"* header n < 1", N("-"), NULL, false},
	    {"* header n < 1", N("0."), NULL, false},
	    {"* header n < 1", N("0x0"), NULL, false},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
body_is_sought_without_case(void **state)
{
	static const struct row v[] = {
	    {"400 body throttlingexception", "HTTP/1.1 400 X\r\n\r\n",
		"<Code>ThrottlingException</Code>", true},
	    {"400 body \"rate limit\"", "HTTP/1.1 400 X\r\n\r\n",
		"Secondary RATE LIMIT.", true},
	    {"400 body \"rate limit\"", "HTTP/1.1 400 X\r\n\r\n", "rate-limit",
		false},
	    {"400 body \"say \\\"a\\\\b\\\" \\; \\#\"",
		"HTTP/1.1 400 X\r\n\r\n", "{say \"a\\b\" ; #}", true},
	    {"400 body x", "HTTP/1.1 400 X\r\n\r\n", "", false},
	    {"400 body x", "HTTP/1.1 400 X\r\n\r\n", NULL, false},
	    {"400 body x and body y", "HTTP/1.1 400 X\r\n\r\n", "y x", true},
	    {"400 body x and body z", "HTTP/1.1 400 X\r\n\r\n", "y x", false},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
json_is_found_by_path(void **state)
{
#define ERR \
	"{\"error\":{\"code\":\"slow\",\"n\":0,\"list\":[{\"r\":\"a\"}," \
	"{\"r\":\"b\"}],\"none\":null,\"yes\":true,\"f\":2.50," \
	"\"@type\":\"t\",\"empty\":[]}}"
	static const struct row v[] = {
	    {"400 json error.code = slow", JSON("400"), ERR, true},
	    {"400 json error.code = Slow", JSON("400"), ERR, false},
	    {"400 json error.code != slow", JSON("400"), ERR, false},
	    {"400 json error.code != fast", JSON("400"), ERR, true},
	    {"400 json error.code contains lo", JSON("400"), ERR, true},
	    {"400 json error.code contains LO", JSON("400"), ERR, false},
	    {"400 json error.n = 0", JSON("400"), ERR, true},
	    {"400 json error.n = 0.0", JSON("400"), ERR, true},
	    {"400 json error.n < 1", JSON("400"), ERR, true},
	    {"400 json error.f = 2.5", JSON("400"), ERR, true},
	    {"400 json error.f > 2.49", JSON("400"), ERR, true},
	    {"400 json error.yes = true", JSON("400"), ERR, true},
	    {"400 json error.none", JSON("400"), ERR, false},
	    {"400 json error.none absent", JSON("400"), ERR, true},
	    {"400 json error.empty", JSON("400"), ERR, true},
	    {"400 json error.empty.*", JSON("400"), ERR, false},
	    {"400 json error.list = a", JSON("400"), ERR, false},
	    {"400 json error.list != a", JSON("400"), ERR, true},
	    {"400 json error.list.*.r = b", JSON("400"), ERR, true},
	    {"400 json error.list.*.r != b", JSON("400"), ERR, false},
	    {"400 json error.list.0.r = a", JSON("400"), ERR, true},
	    {"400 json error.list.1.r = a", JSON("400"), ERR, false},
	    {"400 json error.list.2.r", JSON("400"), ERR, false},
	    {"400 json *.code = slow", JSON("400"), ERR, true},
	    {"400 json error.\"@type\" = t", JSON("400"), ERR, true},
	    {"400 json error.missing absent", JSON("400"), ERR, true},
	    {"400 json error.code.deeper", JSON("400"), ERR, false},
	    {"400 json 0.code = x", JSON("400"), "[{\"code\":\"x\"}]", true},
	    {"400 json *.code = x", JSON("400"), "[1,{\"code\":\"x\"}]", true},
	    {"400 json error = slow and header retry-after absent", JSON("400"),
		"{\"error\":\"slow\"}", true},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
json_that_can_not_be_read_makes_no_rule_hold(void **state)
{
	static const struct row v[] = {
	    {"400 json e absent", JSON("400"), "<html>", false},
	    {"400 json e absent", JSON("400"), "", false},
	    {"400 json e != x", JSON("400"), "{\"e\":", false},
	    {"400 json e absent", JSON("400"), NULL, false},
	    {"400 json e absent", JSON("400"), "{}", true},
	    {"400 json e absent",
		"HTTP/1.1 400 X\r\nContent-Type: image/png\r\n\r\n", "{}",
		false},
	    {"400 json e absent",
		"HTTP/1.1 400 X\r\nContent-Encoding: br\r\n\r\n", "{}", false},
	    {"400 body x", "HTTP/1.1 400 X\r\nContent-Encoding: br\r\n\r\n",
		"x", false},
	    {"400 body x",
		"HTTP/1.1 400 X\r\nContent-Encoding: identity\r\n\r\n", "x",
		true},
	};

	(void)state;
	CHECK_ROWS(v);
}

#define STREAM(status) \
	"HTTP/1.1 " status " X\r\nContent-Type: Text/Event-Stream; a=b\r\n\r\n"

static void
event_stream_shows_its_first_event(void **state)
{
	static const struct row v[] = {
	    {"200 json error.code = slow", STREAM("200"),
		"event: error\ndata: {\"error\":\ndata: {\"code\":\"slow\"}}\n"
		"\ndata: 1\n\n",
		true},
	    {"200 json error.code = slow", STREAM("200"),
		"data: {}\n\ndata: {\"error\":{\"code\":\"slow\"}}\n\n", false},
	    {"200 json error.code = slow", STREAM("200"),
		": hello\n\ndata: {\"error\":{\"code\":\"slow\"}}", true},
	    {"200 body \"event: error\"", STREAM("200"),
		"event: error\ndata: {}\n\n", true},
	    {"200 body hello", STREAM("200"), ": hello\n\ndata: {}\n\n", true},
	    /* How much more has come in is a matter of packets. */
	    {"200 body \"event: error\"", STREAM("200"),
		"data: {}\n\nevent: error\ndata: {}\n\n", false},
	    {"200 body error and json a = 1", STREAM("200"),
		"data: {\"a\":1}\n\nevent: error\n", false},
	    {"200 body event and json a = 1", STREAM("200"),
		"event: x\ndata: {\"a\":1}\n\ndata: {\"b\"", true},
	};

	(void)state;
	CHECK_ROWS(v);
}

static void
event_needs_no_end_of_the_stream(void **state)
{
	struct rig rig;
	struct when_cfg cfg = {.throttled = {&rig.rule, 1}};

	(void)state;
	rig_open(&rig, STREAM("200"), "data: {\"e\":1}\n\ndata: {");
	rig.view.whole = false;
	rig_rule(&rig, "200 json e = 1", WHEN_RULE);
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_THROTTLED);
	rig_close(&rig);
	rig_open(&rig, STREAM("200"), "data: {\"e\":1}\n");
	rig.view.whole = false;
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_NONE);
	rig_close(&rig);
}

static void
put(char *to, struct span s)
{
	memcpy(to, s.p, s.n);
}

static void
body_is_seen_up_to_its_bound(void **state)
{
	static char text[WHEN_BODY_MAX + 10];
	struct rig rig;
	struct when_cfg cfg = {.throttled = {&rig.rule, 1}};

	(void)state;
	memset(text, ' ', sizeof(text));
	put(text, SPAN("{\"e\":1}"));
	put(text + WHEN_BODY_MAX - 3, SPAN("end"));
	rig_open(&rig, JSON("400"), NULL);
	rig_rule(&rig, "400 body end", WHEN_RULE);
	rig.view.body = (struct span){text, WHEN_BODY_MAX};
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_THROTTLED);
	rig_rule(&rig, "400 json e = 1", WHEN_RULE);
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_THROTTLED);
	rig_close(&rig);

	/* One byte more, and the text is no longer all there. */
	rig_open(&rig, JSON("400"), NULL);
	rig.view.body = (struct span){text, WHEN_BODY_MAX + 1};
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_NONE);
	memmove(text + 1, text, WHEN_BODY_MAX);
	rig_rule(&rig, "400 body end", WHEN_RULE);
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_NONE);
	rig_close(&rig);
}

static void
permanent_is_asked_before_throttled(void **state)
{
	struct rig rig;
	struct when_cfg cfg = {.throttled = {&rig.rule, 1},
	    .permanent = {&rig.rule, 1}};

	(void)state;
	rig_open(&rig, PLAIN, NULL);
	rig_rule(&rig, "403", WHEN_RULE);
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_PERMANENT);
	rig_rule(&rig, "404", WHEN_RULE);
	assert_int_equal(when_judge(&cfg, &rig.view), WHEN_NONE);
	rig_close(&rig);
}

/* --- is the body wanted? -------------------------------------------------- */

static void
body_is_wanted_where_it_decides(void **state)
{
#define TYPE(type) "HTTP/1.1 400 X\r\nContent-Type: " type "\r\n\r\n"
	static const struct row v[] = {
	    {"400 body x", "HTTP/1.1 400 X\r\n\r\n", NULL, true},
	    {"401 body x", "HTTP/1.1 400 X\r\n\r\n", NULL, false},
	    {"400 header a", "HTTP/1.1 400 X\r\nA: 1\r\n\r\n", NULL, false},
	    {"400", "HTTP/1.1 400 X\r\n\r\n", NULL, false},
	    {"400 header a and body x", "HTTP/1.1 400 X\r\n\r\n", NULL, false},
	    {"400 body x and header a", "HTTP/1.1 400 X\r\n\r\n", NULL, false},
	    {"400 body x and header a", "HTTP/1.1 400 X\r\nA: 1\r\n\r\n", NULL,
		true},
	    {"400 json x", TYPE("application/json"), NULL, true},
	    {"400 json x", TYPE("application/problem+json; charset=utf-8"),
		NULL, true},
	    {"400 json x", TYPE("application/x-amz-json-1.0"), NULL, true},
	    {"400 json x", TYPE("TEXT/plain"), NULL, true},
	    {"400 json x", TYPE("image/png"), NULL, false},
	    {"400 body x", TYPE("image/png"), NULL, true},
	    {"400 body x and json y", TYPE("image/png"), NULL, false},
	    {"400 json x", "HTTP/1.1 400 X\r\n\r\n", NULL, true},
	    {"400 body x", "HTTP/1.1 400 X\r\nContent-Encoding: zstd\r\n\r\n",
		NULL, false},
	    {"400 body x", "HTTP/1.1 400 X\r\nContent-Encoding: gzip\r\n\r\n",
		NULL, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct rig rig;
		struct when_cfg cfg[4] = {{.throttled = {&rig.rule, 1}},
		    {.permanent = {&rig.rule, 1}}, {.wait = {&rig.rule, 1}},
		    {.wait_body = {&rig.rule, 1}}};

		rig_open(&rig, v[i].head, NULL);
		rig_rule(&rig, v[i].rule, WHEN_RULE);
		for (size_t j = 0; j < 4; j++) {
			if (when_wants_body(&cfg[j], &rig.head) != v[i].holds)
				fail_msg("%s for %s: not %d", v[i].rule,
				    v[i].head, v[i].holds);
		}
		rig_close(&rig);
	}
}

/* --- waits ---------------------------------------------------------------- */

static void
wait_is_read_from_the_body(void **state)
{
#define DETAILS \
	"{\"error\":{\"details\":[{\"retryDelay\":\"34.5s\"},{}," \
	"{\"retryDelay\":\"36s\"}]},\"after\":64.57,\"n\":3}"
	static const struct {
		const char *rule, *body;
		int64_t ms;
	} v[] = {
	    {"429 json error.details.*.retryDelay : duration", DETAILS, 36000},
	    {"429 json error.details.0.retryDelay : duration", DETAILS, 34500},
	    {"429 json after : s", DETAILS, 64570},
	    {"429 json after : ms", DETAILS, 65},
	    {"429 json n : s", DETAILS, 3000},
	    {"429 json n : duration", DETAILS, 0},
	    {"429 json error : s", DETAILS, 0},
	    {"429 json n = 3 and json after : s", DETAILS, 64570},
	    {"429 json n = 4 and json after : s", DETAILS, 0},
	    {"503 json n : s", DETAILS, 0},
	    {"429 body \"wait \" : s", "please wait 30, or so", 30000},
	    {"429 body \"wait \" : s", "please wait 30.", 30000},
	    {"429 body \"wait \" : s", "wait 3; WAIT 30; wait 4", 30000},
	    {"429 body \"wait \" : s", "wait", 0},
	    {"429 body \"wait \" : s", "wait long", 0},
	    {"429 body wait_s : s", "{\"wait_s\": 5}", 5000},
	    {"429 body \"retry after \" : text",
		"{\"m\":\"Please retry after 37 seconds.\"}", 37000},
	    {"429 body \"retry in \" : text", "retry in 34.07s, or", 34070},
	    {"429 body \"retry after \" : text", "retry after all", 0},
	    {"429 json m : text", "{\"m\":\"2 minutes\"}", 120000},
	    {"429 body <Wait> : duration", "<Wait>1m30s</Wait>", 90000},
	    {"429 body \"again on \" : http-date",
		"again on Tue, 01 Jan 2030 00:00:10 GMT\n", 10000},
	    {"429 body \"again on \" : iso8601",
		"\"again on 2030-01-01T00:00:20Z\"", 20000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct rig rig;
		struct when_cfg cfg = {.wait_body = {&rig.rule, 1}};

		rig_open(&rig, JSON("429"), v[i].body);
		rig_rule(&rig, v[i].rule, WHEN_WAIT_BODY);
		struct hint hint = when_hint(&cfg, &rig.view, &rig_clock);
		if (hint.valid != (v[i].ms > 0) || hint.wait_ms != v[i].ms)
			fail_msg("%s: %lld ms of %s", v[i].rule,
			    (long long)hint.wait_ms, v[i].body);
		rig_close(&rig);
	}
}

static void
longest_wait_of_the_rules_that_hold_counts(void **state)
{
	struct rig rig;
	struct when_rule v[3];
	struct when_fault f;
	struct when_cfg cfg = {.wait = {v, 3}};

	(void)state;
	assert_int_equal(when_parse(SPAN("403 : 10s"), WHEN_WAIT, &v[0], &f),
	    0);
	assert_int_equal(when_parse(SPAN("403 body secondary : 1min"),
			     WHEN_WAIT, &v[1], &f),
	    0);
	assert_int_equal(when_parse(SPAN("4xx : 1500ms"), WHEN_WAIT, &v[2], &f),
	    0);
	rig_open(&rig, PLAIN, "the secondary limit");
	assert_int_equal(when_penalty(&cfg, &rig.view).wait_ms, 60000);
	assert_true(
	    span_eq(when_penalty(&cfg, &rig.view).source, SPAN("wait_when")));
	rig_close(&rig);
	rig_open(&rig, PLAIN, "no");
	assert_int_equal(when_penalty(&cfg, &rig.view).wait_ms, 10000);
	rig_close(&rig);
	rig_open(&rig, "HTTP/1.1 500 X\r\n\r\n", "no");
	assert_false(when_penalty(&cfg, &rig.view).valid);
	rig_close(&rig);
}

/* --- memory --------------------------------------------------------------- */

/* Whatever allocation fails: the rule holds, or it does not, and nothing is
 * left behind. */
static void
no_memory_makes_no_rule_hold(void **state)
{
	struct when_cfg cfg;
	struct rig rig;
	bool held = false;

	(void)state;
	json_setup();
	cfg = (struct when_cfg){.throttled = {&rig.rule, 1}};
	for (unsigned long n = 1; !held; n++) {
		assert_true(n < 100);
		rig_open(&rig, STREAM("200"), "data: {\"e\":[1,2]}\n\n");
		rig_rule(&rig, "200 json e.1 = 2", WHEN_RULE);
		mem_fail_at(n, false);
		held = when_judge(&cfg, &rig.view) == WHEN_THROTTLED;
		mem_fail_at(0, false);
		assert_true(!held || n > 5);
		rig_close(&rig);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(statuses_are_the_first_condition),
	    cmocka_unit_test(header_is_compared_line_by_line),
	    cmocka_unit_test(numbers_are_compared_exactly),
	    cmocka_unit_test(body_is_sought_without_case),
	    cmocka_unit_test(json_is_found_by_path),
	    cmocka_unit_test(json_that_can_not_be_read_makes_no_rule_hold),
	    cmocka_unit_test(event_stream_shows_its_first_event),
	    cmocka_unit_test(event_needs_no_end_of_the_stream),
	    cmocka_unit_test(body_is_seen_up_to_its_bound),
	    cmocka_unit_test(permanent_is_asked_before_throttled),
	    cmocka_unit_test(body_is_wanted_where_it_decides),
	    cmocka_unit_test(wait_is_read_from_the_body),
	    cmocka_unit_test(longest_wait_of_the_rules_that_hold_counts),
	    cmocka_unit_test(no_memory_makes_no_rule_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
