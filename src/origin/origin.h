/* SPDX-License-Identifier: MIT */
/*
 * origin: what one running simulator knows. Owned by main; sockets are in
 * struct server.
 */
#ifndef AB_ORIGIN_ORIGIN_H
#define AB_ORIGIN_ORIGIN_H

#include <stdio.h>

#include "keytab.h"
#include "report.h"

#define ORIGIN_RULES_MAX 64

struct rule {
	struct span path; /* borrows argv; begins with '/' */
	struct wish wish;
};

struct origin {
	struct keytab keys;
	struct keytab idents;  /* requests that named themselves with id= */
	struct report report;
	struct hash_key seed;
	struct rule rules[ORIGIN_RULES_MAX];
	unsigned nrules;
	int64_t grace_ns;
	bool plain;          /* no paths of our own but /report */
	bool verbose;        /* a line per attempt on standard output */
	FILE *log;           /* owns unless stdout; NULL: none */
	bool log_failed;
	uint64_t bad;        /* requests that were no HTTP */
};

/* 0, or -1 out of memory. The options are set by then. */
AB_MUST int origin_init(struct origin *o, uint64_t keep);
void origin_free(struct origin *o);
/* An attempt is over: counts it down and writes its lines. */
struct answer;
struct origin_end {
	enum attempt_end how;
	int64_t now_ns;
	uint64_t body_bytes, sent_bytes;
	uint32_t body_crc;
};
void origin_end(struct origin *o, struct answer *a,
    const struct origin_end *end);
void origin_flush(struct origin *o);

int64_t origin_mono_ns(void);
int64_t origin_wall_ns(void);

#endif
