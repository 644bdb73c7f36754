/* SPDX-License-Identifier: MIT */
/*
 * head_fields.c: finds and reads the fields of a head that was scanned.
 *
 * Decides which names are known and what a token list holds. It refuses to
 * know what follows from a value, but for the one number in Keep-Alive.
 */
#include "proto/head.h"
#include "proto/octet.h"

_Static_assert(FIELD_COUNT <= 64, "head.seen has a bit for each known field");

/*
 * The one known name of this length and first letter; the unit test walks
 * HEAD_FIELD_LIST and fails where a row is missing here.
 */
static enum field_id
candidate(size_t n, char first)
{
	switch (n << 8 | ((unsigned char)first | 0x20)) {
#define ROW(n, c, id) \
	case (n) << 8 | (c): \
		return FIELD_##id
		ROW(2, 't', TE);
		ROW(3, 'a', AGE);
		ROW(3, 'v', VIA);
		ROW(4, 'd', DATE);
		ROW(4, 'h', HOST);
		ROW(5, 'p', PROXY);
		ROW(6, 'e', EXPECT);
		ROW(6, 'p', PREFER);
		ROW(7, 't', TRAILER);
		ROW(7, 'u', UPGRADE);
		ROW(8, 'p', PRIORITY);
		ROW(9, 'a', ABIDE_KEY);
		ROW(10, 'c', CONNECTION);
		ROW(10, 'k', KEEP_ALIVE);
		ROW(10, 'x', X_AMZ_DATE);
		ROW(11, 'r', RETRY_AFTER);
		ROW(12, 'g', GRPC_TIMEOUT);
		ROW(12, 'm', MAX_FORWARDS);
		ROW(12, 'p', PROXY_STATUS);
		ROW(13, 'a', ABIDE_SERVICE);
		ROW(14, 'a', ABIDE_MAX_WAIT);
		ROW(14, 'c', CONTENT_LENGTH);
		ROW(14, 'h', HTTP2_SETTINGS);
		ROW(14, 'r', RETRY_AFTER_MS);
		ROW(15, 'i', IDEMPOTENCY_KEY);
		ROW(16, 'p', PROXY_CONNECTION);
		ROW(17, 'a', ABIDE_MAX_RETRIES);
		ROW(17, 't', TRANSFER_ENCODING);
		ROW(18, 'p', PROXY_AUTHENTICATE);
		ROW(19, 'p', PROXY_AUTHORIZATION);
		ROW(25, 'p', PROXY_AUTHENTICATION_INFO);
#undef ROW
	default:
		return FIELD_OTHER;
	}
}

/*
 * `known` is in small letters. Among tchars the bit 0x20 makes only capitals
 * into letters.
 */
static bool
same_name(const char *p, const char *known, size_t n)
{
	const uint64_t bits = OCTET_ONES * 0x20;

	if (n < OCTET_WORD) {
		for (size_t i = 0; i < n; i++) {
			if ((p[i] | 0x20) != known[i])
				return false;
		}
		return true;
	}
	for (size_t i = 0; i < n - OCTET_WORD; i += OCTET_WORD) {
		if ((octet_load(p + i) | bits) != octet_load(known + i))
			return false;
	}
	p += n - OCTET_WORD;
	known += n - OCTET_WORD;
	return (octet_load(p) | bits) == octet_load(known);
}

enum field_id
head_field_id(struct span name)
{
	static const char *const names[FIELD_COUNT] = {[FIELD_OTHER] = "",
#define X(id, text) [FIELD_##id] = text,
	    HEAD_FIELD_LIST(X)
#undef X
	};
	enum field_id id = name.n ? candidate(name.n, name.p[0]) : 0;
	const char *known = names[id];

	if (id == FIELD_OTHER)
		return FIELD_OTHER;
	return same_name(name.p, known, name.n) ? id : FIELD_OTHER;
}

struct span
head_get(const struct head *h, enum field_id id)
{
	if (!head_has(h, id))
		return (struct span){0};
	for (unsigned i = h->first[id]; i < h->nfields; i++) {
		if (h->fields[i].id == id)
			return h->fields[i].value;
	}
	return (struct span){0};
}

struct span
head_find(const struct head *h, struct span name)
{
	for (unsigned i = 0; i < h->nfields; i++) {
		if (span_ieq(h->fields[i].name, name))
			return h->fields[i].value;
	}
	return (struct span){0};
}

static bool
list_has(struct span list, struct span token)
{
	struct span item;

	while (span_cut(&list, ',', &item)) {
		if (span_ieq(span_trim(item), token))
			return true;
	}
	return false;
}

bool
head_list_has(const struct head *h, enum field_id id, struct span token)
{
	if (!head_has(h, id))
		return false;
	for (unsigned i = h->first[id]; i < h->nfields; i++) {
		if (h->fields[i].id == id &&
		    list_has(h->fields[i].value, token))
			return true;
	}
	return false;
}

int64_t
head_keep_alive_timeout_s(const struct head *h)
{
	struct span list = head_get(h, FIELD_KEEP_ALIVE);
	struct span item, name;
	uint64_t seconds;

	while (span_next_item(&list, &item)) {
		if (!span_cut(&item, '=', &name) ||
		    !span_ieq(span_trim(name), SPAN("timeout")))
			continue;
		if (item.p == NULL || span_u64(span_trim(item), &seconds) != 0)
			return -1;
		return seconds > INT64_MAX ? INT64_MAX : (int64_t)seconds;
	}
	return -1;
}

bool
head_is_token(struct span s)
{
	return s.n > 0 && octet_skip_token(s.p, s.p + s.n) == s.p + s.n;
}
