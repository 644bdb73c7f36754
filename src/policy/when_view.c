/* SPDX-License-Identifier: MIT */
/*
 * when_view.c: a body as rules see it.
 *
 *	as received --> coding undone, bounded --> text --> JSON
 *	                                            |        ^
 *	                                            +- first +
 *	                                               event
 *
 * Decides what the text of a body is and which text is its JSON. Each step is
 * taken when the first rule asks for it, and once. Whatever goes wrong on the
 * way means that nothing is known, and no rule holds that asks for it.
 */
#include "policy/when_view.h"

#include "proto/coding.h"
#include "proto/sse.h"

static struct span
content_type(const struct head *h)
{
	struct span value = head_find(h, SPAN("content-type")), type;

	if (!span_cut(&value, ';', &type))
		return (struct span){"", 0};
	return span_trim(type);
}

bool
when_is_events(const struct head *h)
{
	return span_ieq(content_type(h), SPAN("text/event-stream"));
}

bool
when_may_hold_json(const struct head *h)
{
	struct span type = content_type(h);

	return type.n == 0 || span_istarts(type, SPAN("text/")) ||
	    find_text(type, 0, SPAN("json"), true) < type.n ||
	    find_text(type, 0, SPAN("javascript"), true) < type.n;
}

bool
when_can_undo(const struct head *h)
{
	struct coding_list codings;

	return coding_list_of(h, &codings) == 0;
}

void
when_view_init(struct when_view *v, const struct head *h, struct span body,
    bool whole)
{
	*v = (struct when_view){.head = h, .body = body, .whole = whole};
	strbuf_init(&v->undone, WHEN_BODY_MAX);
}

void
when_view_clear(struct when_view *v)
{
	strbuf_free(&v->undone);
	json_doc_clear(&v->json);
	*v = (struct when_view){.head = NULL};
}

/* --- text ----------------------------------------------------------------- */

/* What stands behind the first event came in by chance, or did not yet. */
static void
end_with_event(struct when_view *v)
{
	struct sse_scan scan = {.at = 0};
	struct span event;

	if (!sse_first_event(v->text, &scan, &event))
		return;
	v->text.n = (size_t)(event.p + event.n - v->text.p);
	v->text_whole = true;
}

static bool
make_text(struct when_view *v)
{
	struct coding_list codings;

	if (v->body.p == NULL || coding_list_of(v->head, &codings) != 0)
		return false;
	v->text = v->body;
	v->text_whole = v->whole;
	if (codings.n > 0) {
		if (coding_undo(&codings, v->body, v->whole, WHEN_BODY_MAX,
			&v->undone, &v->text_whole) != 0)
			return false;
		v->text = strbuf_view(&v->undone);
	}
	if (v->text.n > WHEN_BODY_MAX) {
		v->text.n = WHEN_BODY_MAX;
		v->text_whole = false;
	}
	if (when_is_events(v->head))
		end_with_event(v);
	return true;
}

bool
when_text_of(struct when_view *v, struct span *ret)
{
	if (v->text_known == WHEN_NOT_ASKED)
		v->text_known = make_text(v) ? WHEN_KNOWN : WHEN_UNKNOWN;
	if (v->text_known == WHEN_KNOWN)
		*ret = v->text;
	return v->text_known == WHEN_KNOWN;
}

/* --- JSON ----------------------------------------------------------------- */

/* The last event of a stream that has ended may lack its empty line. */
static bool
first_event(const struct when_view *v, struct span *ret)
{
	struct sse_scan scan = {.at = 0};

	if (sse_first_event(v->text, &scan, ret))
		return true;
	*ret = (struct span){v->text.p + scan.event, v->text.n - scan.event};
	return v->text_whole;
}

static bool
read_event(struct when_view *v)
{
	struct strbuf data;
	struct span event;
	int rc = -1;

	if (!first_event(v, &event))
		return false;
	strbuf_init(&data, WHEN_BODY_MAX);
	sse_data(event, &data);
	if (!data.failed)
		rc = json_doc_read(strbuf_view(&data), &v->json);
	strbuf_free(&data);
	return rc == 0;
}

static bool
make_json(struct when_view *v)
{
	struct span text;

	if (!when_text_of(v, &text) || !when_may_hold_json(v->head))
		return false;
	if (when_is_events(v->head))
		return read_event(v);
	return v->text_whole && json_doc_read(text, &v->json) == 0;
}

const struct json_doc *
when_json_of(struct when_view *v)
{
	if (v->json_known == WHEN_NOT_ASKED)
		v->json_known = make_json(v) ? WHEN_KNOWN : WHEN_UNKNOWN;
	return v->json_known == WHEN_KNOWN ? &v->json : NULL;
}
