/* SPDX-License-Identifier: MIT */
/*
 * wishparam: a row of the table of parameters. Between wish.c, which has the
 * table, and wishparam.c, which reads a value as its row says.
 */
#ifndef AB_ORIGIN_WISHPARAM_H
#define AB_ORIGIN_WISHPARAM_H

#include "wish.h"

enum wish_kind {
	KIND_TEXT,   /* struct strbuf */
	KIND_FIELD,  /* struct strbuf: "Name:value" becomes a field line */
	KIND_COUNT,  /* uint64_t, min..max */
	KIND_BYTES,  /* uint64_t */
	KIND_TIME,   /* int64_t ns */
	KIND_STATUS, /* int, min..max */
	KIND_BOOL,
	KIND_WORD,   /* unsigned: index in words */
	KIND_HINT,
	KIND_RATE,
	KIND_BURST,
	KIND_STEPS,
	KIND_INFO,
	KIND_CHUNKED,
};

struct wish_param {
	const char *name;
	enum wish_kind kind;
	size_t at;             /* offset in struct wish */
	uint64_t min, max;
	const char *const *words;
	const char *value, *help;
};

#define AT(member) offsetof(struct wish, member)

/* 0, or -1 and what a value must look like appended to `why`. */
AB_MUST int wish_param(struct wish *w, const struct wish_param *p,
    struct span v, struct strbuf *why);

#endif
