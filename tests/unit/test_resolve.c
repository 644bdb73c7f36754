/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "resolve_rig.h"

/* clang-format off */
static const struct rig_rule rules[] = {
    {.name = "both.test", .type = ns_t_a, .addrs = "192.0.2.1 192.0.2.2",
	.ttl_s = 60},
    {.name = "both.test", .type = ns_t_aaaa,
	.addrs = "2001:db8::1 2001:db8::2 2001:db8::3", .ttl_s = 60},
    {.name = "v4.test", .type = ns_t_a, .addrs = "192.0.2.4", .ttl_s = 60},
    {.name = "v4.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "v6.test", .type = ns_t_a, .addrs = ""},
    {.name = "v6.test", .type = ns_t_aaaa, .addrs = "2001:db8::6",
	.ttl_s = 60},
    {.name = "alias.test", .type = ns_t_a, .addrs = "192.0.2.5",
	.alias = "real.test", .ttl_s = 60, .alias_ttl_s = 60},
    {.name = "alias.test", .type = ns_t_aaaa, .addrs = "",
	.alias = "real.test", .ttl_s = 60, .alias_ttl_s = 60},
    {.name = "many.test", .type = ns_t_a,
	.addrs = "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 "
		 "192.0.2.6 192.0.2.7 192.0.2.8 192.0.2.9 192.0.2.10 "
		 "192.0.2.11 192.0.2.12 192.0.2.13 192.0.2.14 192.0.2.15 "
		 "192.0.2.16 192.0.2.17 192.0.2.18"},
    {.name = "many.test", .type = ns_t_aaaa, .addrs = "::a"},
    {.name = "empty.test", .type = ns_t_a, .addrs = ""},
    {.name = "empty.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "broken.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "broken.test", .type = ns_t_aaaa, .says = RIG_SERVFAIL},
    {.name = "half.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "half.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "other-half.test", .type = ns_t_a, .addrs = ""},
    {.name = "other-half.test", .type = ns_t_aaaa, .says = RIG_SERVFAIL},
    {.name = "nonsense.test", .type = ns_t_a, .says = RIG_NONSENSE,
	.addrs = "192.0.2.7"},
    {.name = "nonsense.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "long.test", .type = ns_t_a, .says = RIG_TOO_LONG,
	.addrs = "192.0.2.8 192.0.2.9", .ttl_s = 60},
    {.name = "long.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "silent.test", .type = ns_t_a, .says = RIG_SILENT},
    {.name = "silent.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = "no-aaaa.test", .type = ns_t_a, .addrs = "192.0.2.10",
	.ttl_s = 60},
    {.name = "no-aaaa.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = "no-a.test", .type = ns_t_a, .says = RIG_SILENT},
    {.name = "no-a.test", .type = ns_t_aaaa, .addrs = "2001:db8::a",
	.ttl_s = 60},
    /* The search list is one.test, two.test. */
    {.name = "short.one.test", .type = ns_t_a, .addrs = ""},
    {.name = "short.one.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "short.two.test", .type = ns_t_a, .addrs = "192.0.2.20"},
    {.name = "short.two.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "mixed.one.test", .type = ns_t_a, .addrs = "192.0.2.21"},
    {.name = "mixed.one.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "mixed.two.test", .type = ns_t_a, .addrs = "192.0.2.22"},
    {.name = "mixed.two.test", .type = ns_t_aaaa, .addrs = "::22"},
    {.name = "sick.one.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "sick.one.test", .type = ns_t_aaaa, .says = RIG_SERVFAIL},
    {.name = "sick.two.test", .type = ns_t_a, .addrs = "192.0.2.23"},
    {.name = "sick.two.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "sicker.one.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "sicker.one.test", .type = ns_t_aaaa, .says = RIG_SERVFAIL},
    {.name = NULL},
};
/* clang-format on */

static void
literal_is_answered_at_once(void **state)
{
	static const char *const same[] = {"127.0.0.1", "0.0.0.0",
	    "255.255.255.255", "::1", "::", "2001:db8::17", "::ffff:192.0.2.1"};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_at_once(same[i], same[i]);
	assert_at_once("2001:DB8:0::1", "2001:db8::1");
}

/* What inet_aton takes for an address is none: it is a name like any other. */
static void
number_that_is_no_dotted_quad_is_a_name(void **state)
{
	static const char *const names[] = {"127.1.", "2130706433.",
	    "0x7f000001.", "127.0.0.01."};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_told(names[i], RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 8);
}

static void
localhost_never_leaves_the_machine(void **state)
{
	static const char *const names[] = {"localhost", "LOCALHOST",
	    "LocalHost.", "a.localhost", "a.b.LOCALHOST."};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct asker a;
		struct resolve_addrs *addrs;

		assert_int_equal(resolver_ask(resolver, names[i], &a.q, &addrs),
		    RESOLVE_OK);
		assert_non_null(addrs);
		put_text(&a, addrs);
		resolve_addrs_put(addrs);
		assert_non_null(strstr(a.text, "127.0.0.1"));
	}
	assert_int_equal(rig.nlog, 0);
}

#define LABEL_63 \
	"a23456789012345678901234567890123456789012345678901234567890123"
#define DOTS_192 LABEL_63 "." LABEL_63 "." LABEL_63 "."
#define TAIL_61 "a234567890123456789012345678901234567890123456789012345678901"

static void
no_host_name_does_not_exist(void **state)
{
	static const char *const names[] = {"", ".", "..", ".a.test", "a..test",
	    "a.test..", "a b.test", "a/b.test", "a:b", "[::1]", "fe80::1%lo",
	    "b\xc3\xbc"
	    "cher.test",
	    "a\\.test", "%61.test", LABEL_63 "4.test", DOTS_192 TAIL_61 "2",
	    DOTS_192 TAIL_61 "2.", "x.onion", "x.ONION.", "onion"};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct asker a;

		assert_int_equal(ask(&a, names[i]), -RESOLVE_NO_NAME);
		resolve_cancel(&a.q);
	}
	rig_settle(&rig);
	assert_int_equal(rig.nlog, 0);
}

static void
longest_names_are_asked_for(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told(LABEL_63 ".test.", RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 2);
	assert_told(DOTS_192 TAIL_61 ".", RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 4);
	/* With a search domain it would be too long: as it is, then no more. */
	assert_told(DOTS_192 TAIL_61, RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 6);
	assert_told("my_host-1.test.", RESOLVE_NO_NAME, "");
	assert_int_equal(rig.nlog, 8);
}

static void
families_take_turns_ipv6_first(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("both.test.", RESOLVE_OK,
	    "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2 2001:db8::3");
	assert_int_equal(rig.nlog, 2);
	assert_string_equal(rig.log[0], "A both.test");
	assert_string_equal(rig.log[1], "AAAA both.test");
}

static void
sixteen_addresses_are_kept(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("many.test.", RESOLVE_OK,
	    "::a 192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 "
	    "192.0.2.7 192.0.2.8 192.0.2.9 192.0.2.10 192.0.2.11 192.0.2.12 "
	    "192.0.2.13 192.0.2.14 192.0.2.15");
}

static void
answer_table(void **state)
{
	static const struct {
		const char *name;
		enum resolve_error err;
		const char *text;
	} t[] = {
	    {"v4.test.", RESOLVE_OK, "192.0.2.4"},
	    {"v6.test.", RESOLVE_OK, "2001:db8::6"},
	    {"alias.test.", RESOLVE_OK, "192.0.2.5"},
	    {"empty.test.", RESOLVE_NO_NAME, ""},
	    {"missing.test.", RESOLVE_NO_NAME, ""},
	    {"broken.test.", RESOLVE_FAILED, ""},
	    {"half.test.", RESOLVE_FAILED, ""},
	    {"other-half.test.", RESOLVE_FAILED, ""},
	    {"nonsense.test.", RESOLVE_FAILED, ""},
	};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_told(t[i].name, t[i].err, t[i].text);
}

static void
long_answer_comes_over_tcp(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("long.test.", RESOLVE_OK, "192.0.2.8 192.0.2.9");
	assert_int_equal(rig.ntcp, 1);
}

static void
silence_fails_at_the_timeout(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "silent.test."), 0);
	assert_waiting(&a);
	rig.now_ms += TIMEOUT_MS - 1;
	assert_waiting(&a);
	rig.now_ms += 1;
	assert_true(rig_until(&rig, &a.told, 1));
	assert_int_equal(a.err, RESOLVE_FAILED);
}

static void
ipv6_addresses_are_waited_for_a_moment(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "no-aaaa.test."), 0);
	assert_waiting(&a);
	rig.now_ms += RESOLVE_GRACE_MS - 1;
	assert_waiting(&a);
	rig.now_ms += 1;
	assert_true(rig_until(&rig, &a.told, 1));
	assert_string_equal(a.text, "192.0.2.10");
	/* Kept, but not for its TTL. */
	rig.now_ms += RESOLVE_PARTIAL_MS - 1;
	assert_at_once("no-aaaa.test.", "192.0.2.10");
	rig.now_ms += 1;
	assert_int_equal(ask(&a, "no-aaaa.test."), 0);
	resolve_cancel(&a.q);
}

static void
moment_does_not_outlast_the_timeout(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "no-aaaa.test."), 0);
	rig.now_ms += TIMEOUT_MS - 1; /* before any answer is seen */
	assert_waiting(&a);
	rig.now_ms += 1;
	assert_true(rig_until(&rig, &a.told, 1));
	assert_string_equal(a.text, "192.0.2.10");
}

static void
ipv4_addresses_are_waited_for_to_the_end(void **state)
{
	struct asker a;

	(void)state;
	rig_resolver(rules);
	assert_int_equal(ask(&a, "no-a.test."), 0);
	assert_waiting(&a);
	rig.now_ms += TIMEOUT_MS - 1;
	assert_waiting(&a);
	rig.now_ms += 1;
	assert_true(rig_until(&rig, &a.told, 1));
	assert_string_equal(a.text, "2001:db8::a");
}

static void
search_list_is_followed(void **state)
{
	static const struct {
		const char *name;
		enum resolve_error err;
		const char *text;
		unsigned questions;
		const char *last;
	} t[] = {
	    {"short", RESOLVE_OK, "192.0.2.20", 4, "AAAA short.two.test"},
	    {"short.", RESOLVE_NO_NAME, "", 2, "AAAA short"},
	    {"nowhere", RESOLVE_NO_NAME, "", 6, "AAAA nowhere"},
	    /* Families of two hosts are not mixed. */
	    {"mixed", RESOLVE_OK, "192.0.2.21", 2, "AAAA mixed.one.test"},
	    /* With a dot: as it is first, then the list. */
	    {"v4.test", RESOLVE_OK, "192.0.2.4", 2, "AAAA v4.test"},
	    {"no.where", RESOLVE_NO_NAME, "", 6, "AAAA no.where.two.test"},
	};

	(void)state;
	rig_resolver(rules);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		rig.nlog = 0;
		assert_told(t[i].name, t[i].err, t[i].text);
		assert_int_equal(rig.nlog, t[i].questions);
		assert_string_equal(rig.log[rig.nlog - 1], t[i].last);
	}
}

static void
failing_search_domain_is_passed_but_not_forgotten(void **state)
{
	(void)state;
	rig_resolver(rules);
	assert_told("sick", RESOLVE_OK, "192.0.2.23");
	assert_told("sicker", RESOLVE_FAILED, "");
}

static void
servers_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *servers;
		bool good;
	} t[] = {
	    {"", true},
	    {"127.0.0.1", true},
	    {"127.0.0.1:5353, [::1]:53,[::1],::1", true},
	    {"ns.test", false},
	    {"127.0.0.1,nope", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct resolver_cfg cfg = cfg_of(&rig);
		const char *why = NULL;
		struct resolver *r;

		cfg.servers = t[i].servers;
		r = resolver_new(rig.base, &rig.timers, &rig.now_ms, &cfg,
		    &why);
		assert_int_equal(r != NULL, t[i].good);
		assert_true(t[i].good || why != NULL);
		resolver_free(r);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_set_up, rig_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(literal_is_answered_at_once),
	    TEST(number_that_is_no_dotted_quad_is_a_name),
	    TEST(localhost_never_leaves_the_machine),
	    TEST(no_host_name_does_not_exist),
	    TEST(longest_names_are_asked_for),
	    TEST(families_take_turns_ipv6_first),
	    TEST(sixteen_addresses_are_kept),
	    TEST(answer_table),
	    TEST(long_answer_comes_over_tcp),
	    TEST(silence_fails_at_the_timeout),
	    TEST(ipv6_addresses_are_waited_for_a_moment),
	    TEST(moment_does_not_outlast_the_timeout),
	    TEST(ipv4_addresses_are_waited_for_to_the_end),
	    TEST(search_list_is_followed),
	    TEST(failing_search_domain_is_passed_but_not_forgotten),
	    TEST(servers_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
