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
 *   statuses = one *( "|" one )              one = 100..599, "4xx", or "*"
 *   term     = "header" NAME test | "json" PATH test | "body" TEXT
 *   test     = [ "present" ] | "absent" | ( "=" | "!=" | "<" | ">" |
 *              "contains" ) TEXT
 *   TEXT     = a word, or "quoted" with \" and \\ in it
 *   PATH     = NAME, a number (of an array) or "*", joined by "."
 *
 * wait_body is `[rule "and"] json PATH : FORMAT`, or `[rule "and"] body TEXT :
 * FORMAT` for what stands behind TEXT; a status comes first as ever. wait_when
 * is `rule : DURATION`.
 *
 * header: any line of that field will do (absent, !=: all must). = and contains
 * compare without case, < and > as decimal numbers. json: the same for all
 * values that PATH finds, = with case; of a value that is no scalar only its
 * presence is known. body: a part of the text, without case. A body is looked
 * at as it is without its content coding (gzip, deflate), its first
 * WHEN_BODY_MAX bytes; of one that does not end there json finds nothing. In
 * an event stream json looks at the data of the first event.
 */
#ifndef AB_WHEN_H
#define AB_WHEN_H

#include "hint.h"

#define WHEN_BODY_MAX (64 * 1024) /* bytes, decoded */
#define WHEN_TERMS_MAX 4
#define WHEN_RULES_MAX 64         /* of a list */

struct when_rule;

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

enum when_kind { WHEN_RULE, WHEN_WAIT_BODY, WHEN_WAIT };

/*
 * text: one rule, as above; its spans go on pointing into text. 0, or -1 with
 * *ret_why (static, for people: what is wrong, and what to write).
 */
AB_MUST int when_parse(struct span text, enum when_kind kind,
    struct when_rule *ret, const char **ret_why);

/* What is known of an answer. Begin with when_view_init, end with _clear. */
struct when_view;

/*
 * Is there a rule that this head does not rule out, and that the body would
 * decide? Then the body is worth a look before the verdict. Content types that
 * can't hold JSON (image/png) ask for none on account of a json term alone.
 */
bool when_wants_body(const struct when_cfg *cfg, const struct head *h);

/*
 * body: as received, its transfer coding removed, or p NULL: not looked at, and
 * no rule about it holds. whole: it ends there.
 */
void when_view_init(struct when_view *v, const struct head *h,
    struct span body, bool whole);
void when_view_clear(struct when_view *v);

enum when_verdict { WHEN_NONE, WHEN_THROTTLED, WHEN_PERMANENT };
enum when_verdict when_judge(const struct when_cfg *cfg, struct when_view *v);

/* The longest valid wait of wait_body; else, where `h` says nothing either, that
 * of wait_when. valid is false where there is none. */
struct hint when_hint(const struct when_cfg *cfg, struct when_view *v,
    const struct hint_clock *clk);
struct hint when_penalty(const struct when_cfg *cfg, struct when_view *v);

#endif
