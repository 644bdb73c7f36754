/* SPDX-License-Identifier: MIT */
/* script_rig: one refusal, and what a script makes of it. After cmocka.h. */
#ifndef AB_SCRIPT_RIG_H
#define AB_SCRIPT_RIG_H

#include <stdio.h>

#include "edge/script.h"

#define WALL_MS INT64_C(1790000000000)

/* Over the text at `to`, without a NUL. */
static inline void
rig_put(char *to, const char *text)
{
	struct span s = span_of(text);

	memcpy(to, s.p, s.n);
}

/* One refusal, and what a script made of it. */
struct rig {
	struct head head;
	struct body_view body;
	struct custom_ctx ctx;
	struct script_call call;
	struct strbuf why;
	struct custom_wait got;
	int rc;
};

static inline void
rig_head(struct rig *g, const char *text)
{
	static const struct head_limits lim = {65536, 16384, HEAD_FIELDS_MAX};
	struct head_scan scan = {0};
	const char *flaw;

	assert_int_equal(head_response(text, strlen(text), &scan, &lim,
			     &g->head, &flaw),
	    HEAD_OK);
}

static inline void
rig_init(struct rig *g)
{
	*g = (struct rig){.rc = -2};
	rig_head(g,
	    "HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nX-One: a\r\n"
	    "Set-Cookie: secret=1\r\nx-one: b\r\n\r\n");
	g->ctx = (struct custom_ctx){
	    .head = &g->head,
	    .body = &g->body,
	    .attempt = 2,
	    .wall_ms = WALL_MS,
	    .waited_ms = 1500,
	    .deadline_ms = 50000,
	    .hint_ms = 3000,
	    .backoff_ms = 700,
	};
	g->call = (struct script_call){
	    .ctx = &g->ctx,
	    .body = SPAN("{\"wait\": 9}"),
	    .service = "api",
	    .key = "api.test:80",
	    .seed = 7,
	};
	strbuf_init(&g->why, 4096);
}

static inline const char *
rig_why(struct rig *g)
{
	strbuf_char(&g->why, '\0');
	assert_false(g->why.failed);
	return g->why.p;
}

/* A script with this text is made, asked, and gone. */
static inline void
rig_run(struct rig *g, const char *text)
{
	struct script *s = NULL;

	strbuf_clear(&g->why);
	g->rc = script_new("/etc/x/test.lua", span_of(text), &s, &g->why);
	if (g->rc == 0)
		g->rc = script_call(s, &g->call, &g->got, &g->why);
	script_free(s);
}

/* "return EXPRESSION", in get_delay. */
static inline void
rig_eval(struct rig *g, const char *expression)
{
	char text[4096];

	assert_true(snprintf(text, sizeof(text),
			"function get_delay(ctx) return %s end",
			expression) < (int)sizeof(text));
	rig_run(g, text);
}

static inline void
assert_wait(struct rig *g, const char *expression, int64_t ms)
{
	rig_eval(g, expression);
	if (g->rc != 0 || g->got.kind != CUSTOM_WAIT || g->got.ms != ms)
		print_error("%s: rc %d, kind %d, %lld ms, %s\n", expression,
		    g->rc, g->got.kind, (long long)g->got.ms, rig_why(g));
	assert_int_equal(g->rc, 0);
	assert_int_equal(g->got.kind, CUSTOM_WAIT);
	assert_int_equal(g->got.ms, ms);
}

static inline void
assert_true_in_lua(struct rig *g, const char *condition)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "(%s) and 1 or 0", condition);
	assert_wait(g, text, 1);
}

/* It fails, and says so with this in its words. */
static inline void
assert_fails(struct rig *g, const char *text, const char *words)
{
	rig_run(g, text);
	if (g->rc == 0 || !strstr(rig_why(g), words))
		print_error("%s\n-> rc %d: %s\n", text, g->rc, rig_why(g));
	assert_int_equal(g->rc, -1);
	assert_non_null(strstr(rig_why(g), words));
}

#define IN_DELAY(body) "function get_delay(ctx) " body " end"

#endif
