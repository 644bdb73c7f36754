/* SPDX-License-Identifier: MIT */
/*
 * wish: how somebody wants attempts to be answered, from the parameters of a
 * URL or from the words of a --limit rule. Both use the same table.
 *
 * Times are ns. A wish owns its texts; what it says is checked while it is
 * read, so whoever acts on it need not doubt it.
 */
#ifndef AB_ORIGIN_WISH_H
#define AB_ORIGIN_WISH_H

#include "advice.h"
#include "limit.h"
#include "script.h"

#define WISH_RATES_MAX 4
#define WISH_INFOS_MAX 4
#define WISH_TEXT_MAX  16384 /* bytes of one text */

enum wish_framing { FRAME_LENGTH, FRAME_CHUNKED, FRAME_CLOSE };
enum wish_mode { MODE_CLOSE, MODE_RST };
enum wish_expect { EXPECT_CONTINUE, EXPECT_REFUSE, EXPECT_FINAL, EXPECT_SILENT };

struct wish {
	/* who is counted together, and how much they may do */
	struct strbuf key, by, id;
	struct limit_cfg rates[WISH_RATES_MAX];
	unsigned nrates;
	uint64_t burst; /* for rates without their own; 0: not given */
	unsigned window; /* enum limit_kind */
	uint64_t max;   /* in progress at once; 0: no limit */

	/* how a refusal looks */
	int status;
	unsigned hint;    /* enum advice_form */
	int64_t after_ns; /* -1: what the limit really asks for */
	struct script script;
	uint64_t fail;    /* attempts to refuse before all else */
	bool loop;
	struct strbuf th; /* field lines */
	struct strbuf tbody;
	uint64_t tn;      /* 0: tbody or the built-in text */

	/* how an answer looks */
	int code; /* 0: 200 */
	uint64_t n;
	bool has_n;
	int64_t hold_ns, head_ns, drip_ns, body_ns, gap_ns;
	uint64_t piece; /* 0: body_ns in 20 pieces */
	unsigned framing; /* enum wish_framing */
	struct strbuf h, trailer; /* field lines */
	struct strbuf type;
	int info[WISH_INFOS_MAX];
	unsigned ninfo;
	bool raw, http10;

	/* what the connection does */
	uint64_t at; /* cut after so many bytes of the body */
	bool has_at;
	unsigned mode; /* enum wish_mode */
	bool close;
	int64_t stale_ns; /* -1: off */
	unsigned expect; /* enum wish_expect */
	bool early;
};

void wish_init(struct wish *w);
void wish_free(struct wish *w);
/* Sets one parameter. 0, or -1 and a text for people appended to `why`. */
AB_MUST int wish_set(struct wish *w, struct span name, struct span value,
    struct strbuf *why);
/*
 * Reads "rate=200/s&burst=10" ('+' and %XX decoded). 0, or -1 as wish_set; the
 * caller ends with wish_check.
 */
AB_MUST int wish_query(struct wish *w, struct span query, struct strbuf *why);
/* Reads "200/s burst 20 status 429". A bare word with '/' is a rate. */
AB_MUST int wish_words(struct wish *w, struct span words, struct strbuf *why);
/* What can be judged only when all is there. 0, or -1 as wish_set. */
AB_MUST int wish_check(struct wish *w, struct strbuf *why);
/* A deep copy into an uninitialised *to. -1: out of memory; *to is freed. */
AB_MUST int wish_copy(struct wish *to, const struct wish *from);

/* The parameters, as --help and the index page list them. */
void wish_help(struct strbuf *out);

#endif
