/* SPDX-License-Identifier: MIT */
/*
 * when: rules about answers, as data: which ones are refusals whatever their
 * status says, which ones no wait will mend, and where a body tells the wait.
 *
 *   throttled_when = 403 header x-ratelimit-remaining = 0
 *   permanent_when = 429 json error.code = insufficient_quota
 *   wait_body      = 429 json error.details.*.retryDelay : duration
 *   wait_when      = 403 body "secondary rate limit" : 60s
 *
 *   rule     = statuses [ term *( "and" term ) ]
 *   statuses = one *( "|" one )              one = 200..599, "4xx", or "*"
 *   term     = "header" NAME test | "json" PATH test | "body" TEXT
 *   test     = [ "present" ] | "absent" | ( "=" | "!=" | "<" | ">" |
 *              "contains" ) TEXT
 *   TEXT     = a word, or "quoted" with \" \\ \; \# in it
 *   PATH     = NAME, a number (of an array) or "*", joined by "."; see
 *              json_path.h
 *
 * wait_body is `[rule "and"] json PATH : FORMAT`, or `[rule "and"] body TEXT :
 * FORMAT` for what stands behind TEXT; a status comes first as ever. wait_when
 * is `rule : DURATION`.
 *
 * header: any line of that field will do (absent, !=: all must). = and contains
 * compare without case, < and > as decimal numbers. json: the same for all
 * values that PATH finds, = and contains with case, numbers by their value; of
 * an object or array only its presence is known, and null is no value. body: a
 * part of the text, ASCII letters without case. A body is looked at as it is
 * without its content coding (gzip, deflate), its first WHEN_BODY_MAX bytes; of
 * one that does not end there, or is no JSON, no json term holds, not even
 * "absent". An event stream ends, as far as rules see, with its first event; json
 * looks at the data of that.
 */
#ifndef AB_WHEN_H
#define AB_WHEN_H

#include "base/strbuf.h"
#include "hint.h"
#include "json_path.h"

#define WHEN_BODY_MAX (64 * 1024) /* bytes, decoded */
#define WHEN_TERMS_MAX 4
#define WHEN_RULES_MAX 64         /* of a list */
#define WHEN_RULE_BYTES_MAX 512   /* as written */
#define WHEN_WAIT_MS_MAX (INT64_C(35) * 24 * 3600 * 1000)

enum when_kind { WHEN_RULE, WHEN_WAIT_BODY, WHEN_WAIT };

/* The tests that take a TEXT come last. */
enum when_test {
	WHEN_PRESENT,
	WHEN_ABSENT,
	WHEN_EQUAL,
	WHEN_UNEQUAL,
	WHEN_LESS,
	WHEN_GREATER,
	WHEN_CONTAINS,
};

enum when_where { WHEN_HEADER, WHEN_JSON, WHEN_BODY };

struct when_text { /* in the rule's own bytes, so that a rule can be moved */
	uint16_t at, n;
};

struct when_term {
	enum when_where where;
	enum when_test test;
	struct when_text name; /* HEADER: the field; JSON: the steps of a path */
	struct when_text text; /* without quotes; of a body term: what is sought */
};

struct when_rule { /* owns all it holds, in itself */
	bool any_status;
	uint64_t status[8];    /* bit s - 100 for each status s, 100..599 */
	unsigned nterms;
	struct when_term term[WHEN_TERMS_MAX]; /* WAIT_BODY: the last one tells */
	enum hint_format format; /* WAIT_BODY */
	int64_t wait_ms;       /* WAIT */
	char bytes[WHEN_RULE_BYTES_MAX + WHEN_TERMS_MAX * JSON_PATH_BYTES(0)];
};

struct when_list {
	const struct when_rule *v; /* shared with the configuration */
	size_t n;
};

struct when_cfg {
	struct when_list permanent; /* asked first */
	struct when_list throttled;
	struct when_list wait_body;
	struct when_list wait;      /* wait_when: after all other hints */
};

struct when_fault {
	const char *why; /* static, for people: what is wrong, what to write */
	size_t at;       /* where in the text, in bytes from its start */
	size_t n;        /* how much of it; 0: what is missing is missing there */
};

/* text: one rule, as above. 0, or -1 with *ret_fault. */
AB_MUST int when_parse(struct span text, enum when_kind kind,
    struct when_rule *ret, struct when_fault *ret_fault);

/*
 * Is there a rule that this head does not rule out, and that the body would
 * decide? Then the body is worth a look before the verdict. Content types that
 * can't hold JSON (image/png) ask for none on account of a json term alone.
 */
bool when_wants_body(const struct when_cfg *cfg, const struct head *h);
/* Is it an event stream, of which only the first event counts? */
bool when_is_events(const struct head *h);

enum when_known { WHEN_NOT_ASKED, WHEN_KNOWN, WHEN_UNKNOWN };

/* What is known of an answer; what a rule asks for is made out when it does. */
struct when_view {
	const struct head *head; /* borrows until _clear */
	struct span body;        /* borrows until _clear */
	bool whole;              /* ... and the body ends there */
	enum when_known text_known, json_known;
	struct span text;        /* without content coding: body or `undone` */
	bool text_whole;
	struct strbuf undone;    /* owns */
	struct json_doc json;    /* owns */
};

/*
 * h, body: shared until when_view_clear. body: as received, its transfer coding
 * removed, or p NULL: not looked at, and no rule about it holds. whole: it ends
 * there. No memory, a broken coding, bytes that are no JSON: nothing is known.
 */
void when_view_init(struct when_view *v, const struct head *h,
    struct span body, bool whole);
void when_view_clear(struct when_view *v);

enum when_verdict { WHEN_NONE, WHEN_THROTTLED, WHEN_PERMANENT };
enum when_verdict when_judge(const struct when_cfg *cfg, struct when_view *v);

/*
 * The longest valid wait of wait_body, and for answers that say nothing at all
 * the longest of wait_when. valid is false where no rule holds. `source` is the
 * name of the option.
 */
struct hint when_hint(const struct when_cfg *cfg, struct when_view *v,
    const struct hint_clock *clk);
struct hint when_penalty(const struct when_cfg *cfg, struct when_view *v);

#endif
