/* SPDX-License-Identifier: MIT */
/*
 * line: the bounded waiting line of one service key. Priority first (RFC 9218
 * urgency, 0 is most urgent), then fair between clients: start-time fair
 * queueing (Goyal, Vin, Cheng 1996). Each request gets a tag on its first
 * arrival, one step behind its client's last one, and keeps it: a refused
 * request comes back to its old place. One client alone sees plain FIFO.
 *
 * Tags are counted for each urgency by itself: were there one count, a client
 * that was served much at a high priority would push newcomers of the lower
 * ones behind all who stand there.
 */
#ifndef AB_LINE_H
#define AB_LINE_H

#include "base/hash.h"
#include "base/heap.h"
#include "base/map.h"

#define LINE_URGENCIES 8

struct line_entry {
	struct heap_node node;  /* key, tie: priority, tag and order of arrival */
	uint64_t client;        /* hash of who it is for: that is its identity */
	struct line_client *owner; /* shared with the line while in it, or NULL */
	uint64_t tag;           /* 0: never stood in a line */
	uint64_t seq;           /* order of first arrival; kept like the tag */
	bool passed;            /* served without standing: seq is set */
	uint8_t urgency;        /* 0..7, 3 is the default */
};

struct line {
	struct heap heap;
	struct map clients;     /* of those who stand here; owns the records */
	uint64_t vtime[LINE_URGENCIES]; /* the greatest tag served so far */
	uint64_t next_seq;
	uint32_t limit;         /* places */
};

AB_MUST int line_init(struct line *l, uint32_t limit); /* 0, or -1 no memory */
/* Entries that still stand here are let go of; they are not the line's. */
void line_free(struct line *l);
/* urgency: more than 7 counts as 7. */
void line_entry_init(struct line_entry *e, uint64_t client, uint8_t urgency);

enum line_result { LINE_OK, LINE_FULL, LINE_NO_MEMORY };
/*
 * Only an entry that stands in no line. A returning one (served before, here or
 * by line_pass) is never refused for want of a place, and goes back to the line
 * that served it. On FULL and NO_MEMORY nothing has changed.
 */
AB_MUST enum line_result line_enter(struct line *l, struct line_entry *e);
/* Gone without being served; fine when not in it. */
void line_leave(struct line *l, struct line_entry *e);
/*
 * Taken out to be served, the head or any other that stands here: from now on
 * newcomers are tagged behind it, which is what keeps the line fair.
 */
void line_pop(struct line *l, struct line_entry *e);
/*
 * Served at once, without standing here: nobody waited. Should it come back, it
 * does so as one that was here before all who came since.
 */
void line_pass(struct line *l, struct line_entry *e);
/*
 * It has stood in another line, as the place-th (from 0) of those who come over
 * from there: that many behind who is next here, whenever each of them comes. As
 * one that returns it is never refused for want of a place. It has just been
 * initialised.
 */
void line_join(struct line *l, struct line_entry *e, uint64_t place);
/* Who is next, or NULL; stays in the line. */
struct line_entry *line_head(const struct line *l);
/* The first that fits of the `most` that stand in front, roughly; or NULL. */
struct line_entry *line_find(const struct line *l, uint32_t most,
    bool (*fits)(const struct line_entry *e));
static inline uint32_t
line_length(const struct line *l)
{
	return l->heap.n;
}
/* How many of this client stand here. */
uint32_t line_client_count(const struct line *l, uint64_t client);

#endif
