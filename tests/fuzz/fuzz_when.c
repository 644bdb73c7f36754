/* SPDX-License-Identifier: MIT */
/*
 * fuzz_when: any bytes as a rule, and any as the answer that it is about.
 *
 * The first byte is '0', '1' or '2', the kind of the rule in the order of enum
 * when_kind, or '3' to '5': the same, and the body goes on. The rule ends at the
 * first LF; then come the head of a response and its body. It is
 * 2030-01-01T00:00:00Z.
 */
#include <stdlib.h>

#include "policy/when.h"

#define NOW_MS INT64_C(1893456000000)
#define FOREVER_MS (INT64_MAX / 4)

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_fault(struct span text, const struct when_fault *f)
{
	CHECK(f->why != NULL);
	CHECK(f->at <= text.n && f->n <= text.n - f->at);
}

static void
check_rule(const struct when_rule *r, enum when_kind kind)
{
	CHECK(r->nterms <= WHEN_TERMS_MAX);
	for (unsigned i = 0; i < r->nterms; i++) {
		const struct when_term *t = &r->term[i];

		CHECK((size_t)t->name.at + t->name.n <= sizeof(r->bytes));
		CHECK((size_t)t->text.at + t->text.n <= sizeof(r->bytes));
		CHECK((t->name.n > 0) == (t->where != WHEN_BODY));
		CHECK((t->text.n > 0) ==
		    (t->where == WHEN_BODY || t->test >= WHEN_EQUAL));
	}
	CHECK((r->wait_ms > 0) == (kind == WHEN_WAIT));
	CHECK(r->wait_ms <= WHEN_WAIT_MS_MAX);
}

static bool
asks_body(const struct when_rule *r)
{
	for (unsigned i = 0; i < r->nterms; i++) {
		if (r->term[i].where != WHEN_HEADER)
			return true;
	}
	return false;
}

static void
check_wait(const struct hint *hint)
{
	if (!hint->valid)
		return;
	CHECK(hint->wait_ms > 0 && hint->wait_ms <= FOREVER_MS);
	CHECK(hint->source.n > 0);
}

/* What it says now it says again, and what a body decides was worth a look. */
static void
check_answer(const struct when_rule *r, enum when_kind kind,
    const struct head *h, struct span body, bool whole)
{
	static const struct hint_clock clk = {.wall_ms = NOW_MS, .date_ms = -1};
	struct when_list list = {r, 1};
	struct when_cfg cfg = {.throttled = list};
	struct when_view v;

	when_view_init(&v, h, body, whole);
	bool holds = when_judge(&cfg, &v) == WHEN_THROTTLED;
	CHECK(holds == (when_judge(&cfg, &v) == WHEN_THROTTLED));
	if (holds && asks_body(r))
		CHECK(body.p != NULL && when_wants_body(&cfg, h));
	if (kind == WHEN_WAIT) {
		cfg.wait = list;
		struct hint hint = when_penalty(&cfg, &v);
		CHECK(hint.valid == holds);
		check_wait(&hint);
	} else if (kind == WHEN_WAIT_BODY) {
		cfg.wait_body = list;
		struct hint hint = when_hint(&cfg, &v, &clk);
		CHECK(holds || !hint.valid);
		check_wait(&hint);
	}
	when_view_clear(&v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct head_limits limits = {65536, 65536,
	    HEAD_FIELDS_MAX};
	struct span rest = {(const char *)data + 1, size - 1}, rule_text;
	struct head_scan scan = {0};
	struct when_fault fault;
	struct when_rule rule;
	struct head h;
	const char *why;

	if (size == 0 || data[0] < '0' || data[0] > '5')
		return 0;
	enum when_kind kind = (enum when_kind)((data[0] - '0') % 3);
	if (!span_cut(&rest, '\n', &rule_text))
		return 0;
	if (when_parse(rule_text, kind, &rule, &fault) != 0) {
		check_fault(rule_text, &fault);
		return 0;
	}
	check_rule(&rule, kind);
	if (rest.p == NULL ||
	    head_response(rest.p, rest.n, &scan, &limits, &h, &why) != HEAD_OK)
		return 0;
	check_answer(&rule, kind, &h,
	    (struct span){rest.p + h.bytes, rest.n - h.bytes}, data[0] < '3');
	check_answer(&rule, kind, &h, (struct span){.p = NULL}, false);
	return 0;
}
