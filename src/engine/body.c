/* SPDX-License-Identifier: MIT */
/*
 * body decides where the bytes of a request body lie: memory first, in blocks
 * that double, then the file. It refuses to know where the bytes come from and
 * how they are framed.
 *
 *      0            in_memory                    bytes
 *      |--- blocks ---|------ file, offset 0 ------|
 */
#include "body.h"

#include "base/mem.h"
#include "engine.h"

#define BLOCK_FIRST 512  /* bytes; most bodies are small */
#define BLOCK_MOST 65536 /* bytes */

struct body_block {
	struct body_block *next; /* owns */
	size_t used, cap;
	char data[];
};

void
body_init(struct body *b)
{
	*b = (struct body){.spill = -1};
}

void
body_free(struct body *b, struct engine *e)
{
	struct body_block *next;

	for (struct body_block *k = b->first; k; k = next) {
		next = k->next;
		atomic_fetch_sub_explicit(&e->shared->body_memory, k->cap,
		    memory_order_relaxed);
		mem_free(k);
	}
	if (b->spill >= 0) {
		atomic_fetch_sub_explicit(&e->shared->body_disk,
		    b->bytes - b->in_memory, memory_order_relaxed);
		e->ports->spill_close(e, b->spill);
	}
	mem_free(b->trailer);
	body_init(b);
}

/* Room in the last block, a new one where it is full; 0: no memory. */
static size_t
body_room(struct body *b, struct engine *e, size_t want)
{
	struct body_block *k = b->last;
	size_t cap;

	if (k && k->used < k->cap)
		return k->cap - k->used;
	cap = k ? k->cap * 2 : BLOCK_FIRST;
	if (cap < want)
		cap = want;
	if (cap > BLOCK_MOST)
		cap = BLOCK_MOST;
	k = mem_alloc(sizeof(*k) + cap);
	if (!k)
		return 0;
	*k = (struct body_block){.cap = cap};
	if (b->last)
		b->last->next = k;
	else
		b->first = k;
	b->last = k;
	atomic_fetch_add_explicit(&e->shared->body_memory, cap,
	    memory_order_relaxed);
	return cap;
}

/*
 * How many more bytes may go to memory. The first block is everybody's right,
 * also where all bodies together hold too much: most are no longer.
 */
static uint64_t
body_memory_left(const struct body *b, const struct engine *e,
    const struct body_cfg *cfg)
{
	const struct engine_shared *s = e->shared;
	uint64_t most = cfg->memory_bytes;

	if (atomic_load_explicit(&s->body_memory, memory_order_relaxed) >=
		atomic_load_explicit(&s->max_body_memory,
		    memory_order_relaxed) &&
	    most > BLOCK_FIRST)
		most = BLOCK_FIRST;
	return b->spill < 0 && b->in_memory < most ? most - b->in_memory : 0;
}

static size_t
append_memory(struct body *b, struct engine *e, uint64_t left, const char *p,
    size_t n)
{
	size_t room;

	if (n > left)
		n = (size_t)left;
	room = body_room(b, e, n);
	if (room == 0) {
		b->once = BODY_NO_MEMORY;
		return 0;
	}
	if (n > room)
		n = room;
	memcpy(b->last->data + b->last->used, p, n);
	b->last->used += n;
	b->in_memory += n;
	return n;
}

static bool
body_disk_has(const struct engine_shared *s, size_t n)
{
	uint64_t most =
	    atomic_load_explicit(&s->max_body_disk, memory_order_relaxed);
	uint64_t used =
	    atomic_load_explicit(&s->body_disk, memory_order_relaxed);

	return used <= most && n <= most - used;
}

static size_t
append_spill(struct body *b, struct engine *e, const struct body_cfg *cfg,
    const char *p, size_t n)
{
	uint64_t in_file = b->bytes - b->in_memory;

	if (in_file >= cfg->spill_bytes) {
		b->once = BODY_TOO_LARGE;
		return 0;
	}
	if (n > cfg->spill_bytes - in_file)
		n = (size_t)(cfg->spill_bytes - in_file);
	if (b->spill < 0 && body_disk_has(e->shared, n))
		b->spill = e->ports->spill_open(e);
	if (b->spill < 0 || !body_disk_has(e->shared, n) ||
	    e->ports->spill_write(e, b->spill, p, n, in_file) < 0) {
		b->once = BODY_SPILL_FAILED;
		return 0;
	}
	atomic_fetch_add_explicit(&e->shared->body_disk, n,
	    memory_order_relaxed);
	return n;
}

size_t
body_append(struct body *b, struct engine *e, const struct body_cfg *cfg,
    const char *p, size_t n)
{
	size_t done = 0, k;
	uint64_t left;

	while (done < n && b->once == BODY_WHOLE) {
		left = body_memory_left(b, e, cfg);
		k = left ? append_memory(b, e, left, p + done, n - done)
			 : append_spill(b, e, cfg, p + done, n - done);
		b->bytes += k;
		done += k;
	}
	return done;
}

int
body_at(const struct body *b, struct engine *e, uint64_t at, char *buf,
    size_t cap, struct span *ret)
{
	const struct body_block *k = b->first;
	uint64_t left;

	if (at >= b->bytes) {
		*ret = (struct span){buf, 0};
		return 0;
	}
	if (at >= b->in_memory) {
		left = b->bytes - at;
		if (cap > left)
			cap = (size_t)left;
		if (e->ports->spill_read(e, b->spill, buf, cap,
			at - b->in_memory) < 0)
			return -1;
		*ret = (struct span){buf, cap};
		return 0;
	}
	while (at >= k->used) {
		at -= k->used;
		k = k->next;
	}
	*ret = (struct span){k->data + at, k->used - (size_t)at};
	return 0;
}
