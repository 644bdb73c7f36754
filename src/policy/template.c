/* SPDX-License-Identifier: MIT */
/*
 * Decides which part of a path is a name and which is a place holder. It
 * refuses to know what shares a limit with what: the service says that.
 */
#include "policy/template.h"

#define HEX_MIN 8
#define BASE64_MIN 16

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_base64(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '=';
}

bool
template_is_id(struct span segment)
{
	size_t digits = 0, hex = 0, base64 = 0;

	for (size_t i = 0; i < segment.n; i++) {
		char c = segment.p[i];

		if (c == '%')
			return true;
		digits += is_digit(c);
		hex += is_hex(c) || c == '-';
		base64 += is_base64(c);
	}
	if (digits == 0)
		return false;
	return digits == segment.n ||
	    (segment.n >= HEX_MIN && hex == segment.n) ||
	    (segment.n >= BASE64_MIN && base64 == segment.n);
}

static uint64_t
mix(const struct hash_key *key, uint64_t sum, struct span s)
{
	uint64_t both[2] = {sum, hash_bytes(key, s.p, s.n)};

	return hash_bytes(key, both, sizeof(both));
}

uint64_t
template_hash(const struct hash_key *key, struct span method, struct span path)
{
	struct span rest = path, segment;
	uint64_t sum = mix(key, 0, method);

	(void)span_cut(&rest, '?', &path);
	rest = path;
	while (span_cut(&rest, '/', &segment))
		sum = mix(key, sum,
		    template_is_id(segment) ? SPAN("%") : segment);
	return sum ? sum : 1;
}
