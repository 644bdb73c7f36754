/* SPDX-License-Identifier: MIT */
/*
 * The ring of attempts. This file decides how long an attempt is remembered
 * and how one is written as JSON; what they add up to is summary.c's business.
 */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "amount.h"
#include "base/mem.h"

static const char *const end_words[] = {"open", "done", "cut", "left"};

void
report_init(struct report *r, uint64_t keep)
{
	*r = (struct report){.keep = keep, .next = 1, .base = 1};
}

void
report_free(struct report *r)
{
	report_clear(r, (struct span){NULL, 0});
	mem_free(r->v);
	r->v = NULL;
	r->cap = 0;
}

static struct attempt *
slot(struct report *r, uint64_t seq)
{
	return &r->v[(seq - r->base) % r->keep];
}

uint64_t
report_first(const struct report *r)
{
	uint64_t n = r->next - r->base;

	return n > r->keep ? r->next - r->keep : r->base;
}

struct attempt *
report_get(struct report *r, uint64_t seq)
{
	struct attempt *a;

	if (seq < report_first(r) || seq >= r->next)
		return NULL;
	a = slot(r, seq);
	return a->seq == seq ? a : NULL;
}

static void
forget(struct attempt *a)
{
	mem_free(a->text);
	*a = (struct attempt){.seq = 0};
}

void
report_clear(struct report *r, struct span key)
{
	for (uint64_t s = report_first(r); s < r->next; s++) {
		struct attempt *a = slot(r, s);

		if (a->seq != 0 &&
		    (key.p == NULL || span_eq(attempt_key(a), key)))
			forget(a);
	}
	if (key.p == NULL) {
		r->base = r->next;
		r->dropped = 0;
	}
}

/* Room for the next attempt: the array doubles until it holds `keep`. */
static int
make_room(struct report *r)
{
	uint64_t cap = r->cap ? r->cap * 2 : 256;
	struct attempt *v;

	if (r->next - r->base < r->cap || r->cap == r->keep)
		return 0;
	if (cap > r->keep)
		cap = r->keep;
	v = mem_realloc(r->v, cap * sizeof *v);
	if (v == NULL)
		return -1;
	memset(v + r->cap, 0, (cap - r->cap) * sizeof *v);
	r->v = v;
	r->cap = cap;
	return 0;
}

static uint16_t
bound(size_t n, uint16_t max)
{
	return n > max ? max : (uint16_t)n;
}

int
report_add(struct report *r, const struct attempt *a, struct span key,
    struct span id, struct span method, struct span path, uint64_t *ret_seq)
{
	uint16_t key_n = bound(key.n, 128), id_n = bound(id.n, 128);
	uint16_t method_n = bound(method.n, 32), path_n = bound(path.n, 512);
	struct attempt *at;
	char *text;

	if (make_room(r) < 0)
		return -1;
	text = mem_alloc((size_t)key_n + id_n + method_n + path_n + 1);
	if (text == NULL)
		return -1;
	at = slot(r, r->next);
	if (at->seq != 0)
		r->dropped++;
	forget(at);
	*at = *a;
	at->seq = r->next++;
	at->text = text;
	at->key_n = key_n;
	at->id_n = id_n;
	at->method_n = method_n;
	at->path_n = path_n;
	memcpy(text, key.p, key_n);
	text += key_n;
	if (id_n > 0)
		memcpy(text, id.p, id_n);
	text += id_n;
	memcpy(text, method.p, method_n);
	memcpy(text + method_n, path.p, path_n);
	*ret_seq = at->seq;
	return 0;
}

void
report_put_ms(struct strbuf *out, int64_t ns)
{
	char digits[16];
	int n;

	if (ns < 0) {
		strbuf_lit(out, "null");
		return;
	}
	strbuf_u64(out, (uint64_t)(ns / AMOUNT_MS_NS));
	if (ns % AMOUNT_MS_NS == 0)
		return;
	n = snprintf(digits, sizeof digits, ".%06" PRId64, ns % AMOUNT_MS_NS);
	while (n > 1 && digits[n - 1] == '0')
		n--;
	strbuf_put(out, digits, (size_t)n);
}

static void
put_bool(struct strbuf *out, bool b)
{
	strbuf_span(out, b ? SPAN("true") : SPAN("false"));
}

void
attempt_json(const struct attempt *a, struct strbuf *out)
{
	strbuf_fmt(out, "{\"seq\":%" PRIu64 ",\"key\":", a->seq);
	strbuf_json(out, attempt_key(a));
	strbuf_lit(out, ",\"id\":");
	if (a->id_n > 0)
		strbuf_json(out, attempt_id(a));
	else
		strbuf_lit(out, "null");
	strbuf_lit(out, ",\"method\":");
	strbuf_json(out, attempt_method(a));
	strbuf_lit(out, ",\"path\":");
	strbuf_json(out, attempt_path(a));
	strbuf_fmt(out,
	    ",\"conn\":%" PRIu64 ",\"nth\":%" PRIu64 ",\"mono_ns\":%" PRId64
	    ",\"status\":%d,\"throttled\":",
	    a->conn, a->nth, a->mono_ns, a->status);
	put_bool(out, a->throttled);
	strbuf_lit(out, ",\"hint_ms\":");
	report_put_ms(out, a->hint_ns);
	strbuf_lit(out, ",\"early\":");
	put_bool(out, a->early_ns > 0);
	strbuf_lit(out, ",\"early_ms\":");
	report_put_ms(out, a->early_ns);
	strbuf_lit(out, ",\"hint_age_ms\":");
	report_put_ms(out, a->age_ns);
	strbuf_fmt(out,
	    ",\"running\":%" PRIu64 ",\"body_bytes\":%" PRIu64
	    ",\"body_crc32\":\"%08" PRIx32 "\",\"sent_bytes\":%" PRIu64
	    ",\"end\":\"%s\",\"end_ns\":",
	    a->running, a->body_bytes, a->body_crc, a->sent_bytes,
	    end_words[a->end]);
	if (a->end == END_OPEN)
		strbuf_lit(out, "null}");
	else
		strbuf_fmt(out, "%" PRId64 "}", a->end_ns);
}
