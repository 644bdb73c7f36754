/* SPDX-License-Identifier: MIT */
/*
 * Decides who of those that wait goes next. It does not know why they wait nor
 * whether anyone may go at all (service.c, bucket.c), and it starts nobody.
 *
 * The order is (urgency, tag, order of arrival), smallest first. A client's
 * n-th waiting request is tagged n steps behind the virtual time, which is the
 * tag served last; so each turn of virtual time serves one request of every
 * client that waits, however many each has:
 *
 *     client A   1 2 3 4 5 ...        served: A1 B1 A2 B2 A3 A4 ...
 *     client B   1 2
 *
 * A client's record lives while the client stands in the line. What it had
 * before is then behind the virtual time, unless it left unserved; leaving
 * gains it nothing that arriving for the first time would not.
 *
 * Who passed has no tag, for there was nobody to stand behind. Where it comes
 * back, refused, its client's first one gets the next turn, its second one the
 * turn after that and so on, each before the one that arrived later and has the
 * same turn: the old ones do not queue behind the new, and a crowd of one
 * client that was refused together does not shut others out.
 */
#include "policy/line.h"

#include <assert.h>

#include "base/list.h"
#include "base/mem.h"

struct line_client {
	struct map_node node;          /* hash: line_entry.client */
	uint32_t standing;             /* entries in the line that point here */
	uint64_t last[LINE_URGENCIES]; /* tag of the latest to arrive */
	uint64_t
	    back[LINE_URGENCIES]; /* of those that had passed: the latest */
};

#define TAG_BITS 60 /* urgency has the three above; the sign bit stays 0 */

int
line_init(struct line *l, uint32_t limit)
{
	*l = (struct line){.limit = limit};
	heap_init(&l->heap);
	return map_init(&l->clients);
}

static struct line_entry *
entry_of(struct heap_node *node)
{
	return AB_CONTAINER(node, struct line_entry, node);
}

static struct line_client *
client_of(struct map_node *node)
{
	return AB_CONTAINER(node, struct line_client, node);
}

static void
client_release(struct line *l, struct line_client *c)
{
	if (--c->standing > 0)
		return;
	map_del(&l->clients, &c->node);
	mem_free(c);
}

void
line_free(struct line *l)
{
	for (uint32_t i = 0; i < l->heap.n; i++) {
		struct line_entry *e = entry_of(l->heap.v[i]);

		client_release(l, e->owner);
		e->owner = NULL;
	}
	heap_clear(&l->heap);
	map_clear(&l->clients);
}

void
line_entry_init(struct line_entry *e, uint64_t client, uint8_t urgency)
{
	*e = (struct line_entry){
	    .client = client,
	    .urgency = urgency < LINE_URGENCIES ? urgency : LINE_URGENCIES - 1,
	};
	heap_node_init(&e->node);
}

static struct line_client *
client_find(const struct line *l, uint64_t client)
{
	struct map_node *node = map_find(&l->clients, client);

	return node ? client_of(node) : NULL;
}

/* The record of e's client, made where there is none, with e counted in. */
static struct line_client *
client_take(struct line *l, uint64_t client)
{
	struct line_client *c = client_find(l, client);

	if (!c) {
		c = mem_zalloc(sizeof(*c));
		if (!c)
			return NULL;
		map_add(&l->clients, &c->node, client);
	}
	c->standing++;
	return c;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The tag that it has, or is to get. */
static uint64_t
tag_for(const struct line *l, const struct line_client *c,
    const struct line_entry *e)
{
	const uint64_t *before = e->passed ? c->back : c->last;

	if (e->tag != 0)
		return e->tag;
	return larger(l->vtime[e->urgency], before[e->urgency]) + 1;
}

enum line_result
line_enter(struct line *l, struct line_entry *e)
{
	struct line_client *c;
	bool is_new = e->tag == 0 && !e->passed;
	bool comes_back = e->tag == 0 && e->passed;
	uint64_t tag, seq;

	assert(!heap_has(&e->node));
	if (is_new && line_length(l) >= l->limit)
		return LINE_FULL;
	c = client_take(l, e->client);
	if (!c)
		return LINE_NO_MEMORY;
	tag = tag_for(l, c, e);
	seq = is_new ? l->next_seq : e->seq;
	e->node.key = (int64_t)((uint64_t)e->urgency << TAG_BITS | tag);
	e->node.tie = seq;
	if (heap_add(&l->heap, &e->node) != 0) {
		client_release(l, c);
		return LINE_NO_MEMORY;
	}
	l->next_seq += is_new;
	if (comes_back)
		c->back[e->urgency] = tag;
	c->last[e->urgency] = larger(c->last[e->urgency], tag);
	e->owner = c;
	e->tag = tag;
	e->seq = seq;
	return LINE_OK;
}

void
line_leave(struct line *l, struct line_entry *e)
{
	if (!heap_has(&e->node))
		return;
	heap_del(&l->heap, &e->node);
	client_release(l, e->owner);
	e->owner = NULL;
}

void
line_pop(struct line *l, struct line_entry *e)
{
	assert(heap_has(&e->node));
	l->vtime[e->urgency] = larger(l->vtime[e->urgency], e->tag);
	line_leave(l, e);
}

void
line_pass(struct line *l, struct line_entry *e)
{
	assert(!heap_has(&e->node));
	if (e->tag != 0 || e->passed)
		return;
	e->passed = true;
	e->seq = l->next_seq++;
}

void
line_join(struct line *l, struct line_entry *e, uint64_t place)
{
	assert(!heap_has(&e->node));
	e->tag = l->vtime[e->urgency] + 1 + place;
	e->seq = l->next_seq++;
}

struct line_entry *
line_head(const struct line *l)
{
	struct heap_node *node = heap_min(&l->heap);

	return node ? entry_of(node) : NULL;
}

struct line_entry *
line_find(const struct line *l, uint32_t most,
    bool (*fits)(const struct line_entry *e))
{
	struct heap_node *first = NULL;

	/* A heap has its smallest ones in front, if in no strict order. */
	for (uint32_t i = 0; i < l->heap.n && i < most; i++) {
		struct heap_node *n = l->heap.v[i];

		if (fits(entry_of(n)) &&
		    (!first || n->key < first->key ||
			(n->key == first->key && n->tie < first->tie)))
			first = n;
	}
	return first ? entry_of(first) : NULL;
}

uint32_t
line_client_count(const struct line *l, uint64_t client)
{
	const struct line_client *c = client_find(l, client);

	return c ? c->standing : 0;
}
