/* SPDX-License-Identifier: MIT */
/*
 * answer: one answer on its way out, made piece by piece.
 *
 * It owns its texts and borrows the keys of its attempt, which stay as long as
 * their `running` count says so. Bodies are made when there is room for them:
 * an answer of a terabyte needs no more memory than one of a line.
 */
#ifndef AB_ORIGIN_ANSWER_H
#define AB_ORIGIN_ANSWER_H

#include "judge.h"
#include "report.h"

#define ANSWER_PIECE 16384           /* bytes made at a time */
#define ANSWER_ECHO_MAX (1024 * 1024) /* bytes of a body that is echoed */

enum answer_kind {
	ANSWER_SEND,
	ANSWER_CLOSE, /* nothing but FIN */
	ANSWER_RST,   /* nothing but RST */
	ANSWER_HANG,  /* nothing, until the client leaves */
};

enum answer_body {
	BODY_TEXT,    /* text, `length` of them */
	BODY_PATTERN, /* `length` bytes; numbered lines of 16 */
	BODY_EVENTS,  /* `length` events, 0: without end */
	BODY_REPORT,  /* attempts [seq, seq_end) as JSON */
	BODY_ECHO,    /* becomes BODY_TEXT when the request is all here */
};

struct answer {
	enum answer_kind kind;
	int status;
	bool head_only;         /* HEAD */
	bool old_client;        /* HTTP/1.0: no chunks */
	bool keep_10;           /* HTTP/1.0 client that asked for keep-alive */
	bool http10;            /* answer as HTTP/1.0 */
	bool close;             /* the connection ends with it */
	bool early;             /* does not wait for the request's body */
	unsigned expect;        /* enum wish_expect */
	unsigned framing;       /* enum wish_framing */
	enum answer_body body;
	uint64_t length;
	struct strbuf text;     /* BODY_TEXT; else the piece at hand */
	struct strbuf fields, trailer, type;
	int info[WISH_INFOS_MAX];
	unsigned ninfo;

	/* time */
	int64_t delay_ns, drip_ns, body_ns, gap_ns;
	int64_t stale_ns;       /* -1: off */
	uint64_t piece;         /* bytes of a paced piece; 0: 20 pieces */

	/* where it ends too soon */
	bool has_at, reset;
	uint64_t at;

	/* the hint, put into words when the head is written */
	enum advice_form hint;
	bool hinted, refused;
	int64_t after_ns, ready_ns; /* as in struct verdict */
	struct advice_quota quota;

	/* progress */
	int64_t begun_ns;       /* the head was written then */
	uint64_t made;          /* body bytes so far */
	uint64_t off;           /* of text */
	uint64_t nth;           /* events or pieces so far */
	bool ended;             /* the last chunk is out */

	/* /report */
	struct report *report;  /* shared */
	uint64_t from, to;      /* from UINT64_MAX: all is written */
	bool comma;
	struct strbuf only;     /* this key; empty: all */

	/* /echo */
	struct strbuf echo;     /* the request's body */
	bool raw;

	/* the attempt; seq 0: not one that is recorded */
	uint64_t seq;
	struct key *key, *ident; /* shared; NULL: none */
	bool held;
};

enum answer_step {
	ANSWER_MORE, /* something was appended */
	ANSWER_WAIT, /* not before *ret_due_ns */
	ANSWER_END,  /* whole, or cut where it was to be */
};

void answer_init(struct answer *a);
void answer_free(struct answer *a);
/* Takes over all that a wish says about answers. -1: out of memory. */
AB_MUST int answer_adopt(struct answer *a, const struct wish *w);
/* Whether it ended before its time, on purpose. */
bool answer_is_cut(const struct answer *a);

/*
 * Appends 1xx heads and the head. wall_ns: for Date and absolute hints.
 * Returns the wait told, in ns, or -1. Check out->failed.
 */
int64_t answer_head(struct answer *a, struct strbuf *out, int64_t now_ns,
    int64_t wall_ns);
/* Appends the next piece of the body. */
enum answer_step answer_next(struct answer *a, struct strbuf *out,
    int64_t now_ns, int64_t *ret_due_ns);

#endif
