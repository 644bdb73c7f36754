/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/basic.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
assert_span(struct span s, struct span want)
{
	assert_int_equal(s.n, want.n);
	if (want.n > 0)
		assert_memory_equal(s.p, want.p, want.n);
}

static void
pair_when_well_formed_is_read(void **state)
{
	static const struct {
		const char *value, *user, *password;
	} good[] = {
	    /* RFC 7617 2 and 2.1. */
	    {"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"},
	    {"Basic dGVzdDoxMjPCow==", "test", "123\xc2\xa3"},
	    {"Basic YTpi", "a", "b"},
	    {"basic YTpi", "a", "b"},
	    {"BASIC   YTpi", "a", "b"},
	    {"Basic YTo6Yjpj", "a", ":b:c"},
	    {"Basic YTo=", "a", ""},
	    {"Basic OmI=", "", "b"},
	    {"Basic Og==", "", ""},
	    {"Basic Pz8/Oj4+fg==", "?\?\?", ">>~"},
	    {"Basic 5Dr8", "\xe4", "\xfc"},
	};
	char buf[BASIC_PAIR_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		struct basic b = {.user = {NULL, 0}};

		if (basic_parse(span_of(good[i].value), buf, &b) != BASIC_OK)
			fail_msg("%s: refused", good[i].value);
		assert_span(b.user, span_of(good[i].user));
		assert_span(b.password, span_of(good[i].password));
	}
}

static void
pair_when_not_the_one_way_to_write_it_is_refused(void **state)
{
	static const struct {
		const char *value;
		enum basic_result res;
	} bad[] = {
	    {"Bearer abc", BASIC_OTHER}, {"", BASIC_OTHER},
	    {"Basics YTpi", BASIC_OTHER}, {"Basic=YTpi", BASIC_OTHER},
	    {"YTpi", BASIC_OTHER}, {"Basic", BASIC_BAD}, {"Basic ", BASIC_BAD},
	    {"Basic YTpi YTpi", BASIC_BAD}, {"Basic YTpi,", BASIC_BAD},
	    {"Basic\tYTpi", BASIC_OTHER}, {"Basic \tYTpi", BASIC_BAD},
	    {"Basic YTp", BASIC_BAD},      /* length */
	    {"Basic YTo", BASIC_BAD},      /* padding is missing */
	    {"Basic YTo==", BASIC_BAD},    /* too much of it */
	    {"Basic YTpi====", BASIC_BAD}, /* padding alone */
	    {"Basic ====", BASIC_BAD}, {"Basic Y===", BASIC_BAD},
	    {"Basic YT=i", BASIC_BAD}, /* inside */
	    {"Basic YTo=YTo=", BASIC_BAD},
	    {"Basic YTp=", BASIC_BAD}, /* bits behind the last byte */
	    {"Basic Oh==", BASIC_BAD},
	    {"Basic YT_i", BASIC_BAD}, /* the URL alphabet */
	    {"Basic YT-i", BASIC_BAD}, {"Basic YT\xc3\xa4", BASIC_BAD},
	    {"Basic YWJj", BASIC_BAD},     /* no colon */
	    {"Basic YQA6Yg==", BASIC_BAD}, /* NUL in the user */
	    {"Basic YTpiAA==", BASIC_BAD}, /* and in the password */
	    {"Basic YQo6Yg==", BASIC_BAD}, /* LF */
	    {"Basic YTpiCQ==", BASIC_BAD}, /* HTAB */
	    {"Basic YTp/", BASIC_BAD},     /* DEL */
	};
	char buf[BASIC_PAIR_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct basic b = {.user = {NULL, 77}};

		if (basic_parse(span_of(bad[i].value), buf, &b) != bad[i].res)
			fail_msg("%s: not as expected", bad[i].value);
		assert_int_equal(b.user.n, 77);
	}
}

/* "Basic " and base64 of `user` times 'a' (3 n of them), ':', 'a's. */
static enum basic_result
parse_long(size_t user_threes, size_t password_threes, struct basic *ret)
{
	static char buf[BASIC_PAIR_MAX];
	static char text[4096];
	size_t n = 0;

	memcpy(text, "Basic ", 6);
	n = 6;
	for (size_t i = 0; i < user_threes; i++, n += 4)
		memcpy(text + n, "YWFh", 4);
	memcpy(text + n, "OmFh", 4); /* ":aa" */
	n += 4;
	for (size_t i = 0; i < password_threes; i++, n += 4)
		memcpy(text + n, "YWFh", 4);
	return basic_parse((struct span){text, n}, buf, ret);
}

static void
pair_when_too_long_is_refused(void **state)
{
	struct basic b;

	(void)state;
	assert_int_equal(parse_long(85, 169, &b), BASIC_OK);
	assert_int_equal(b.user.n, BASIC_USER_MAX);
	assert_int_equal(b.password.n, 509);
	assert_int_equal(parse_long(86, 1, &b), BASIC_BAD);
	assert_int_equal(parse_long(0, 170, &b), BASIC_BAD);
	assert_int_equal(parse_long(85, 170, &b), BASIC_BAD);
	assert_int_equal(parse_long(500, 500, &b), BASIC_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pair_when_well_formed_is_read),
	    cmocka_unit_test(pair_when_not_the_one_way_to_write_it_is_refused),
	    cmocka_unit_test(pair_when_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
