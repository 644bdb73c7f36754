/* SPDX-License-Identifier: MIT */
/*
 * expiry.c: until when a request is worth sending.
 *
 * A proxy can't sign anew what it holds back, so a signature that ends during
 * a wait turns a refusal that would have passed into one that does not. Each
 * source below gives a time left or nothing, and the least of them holds.
 *
 * Decides when a request ends by its own word. It refuses to check signatures
 * and to judge what it can't read: the server will. Vague times count as their
 * early end.
 */
#include "policy/expiry.h"
#include "policy/instant.h"
#include "proto/octet.h"

#define NONE (-1)
#define SIGV4_MS (INT64_C(5) * INSTANT_MINUTE_MS)
#define SIGV4_S3_MS (INT64_C(15) * INSTANT_MINUTE_MS)
#define FOREVER_S UINT32_MAX /* some lifetime that needs no care */
#define GRPC_DIGITS_MAX 8
#define DECODED_MAX 64 /* bytes; no date is longer */

/* What the query says, percent-encoded; p NULL where it says nothing. */
struct signed_query {
	struct span amz_date, amz_expires;
	struct span goog_date, goog_expires;
	struct span sas_end, sas_signature;
};

/* Of two times left, NONE being no limit. */
static int64_t
sooner(int64_t a_ms, int64_t b_ms)
{
	if (a_ms == NONE || b_ms == NONE)
		return a_ms == NONE ? b_ms : a_ms;
	return a_ms < b_ms ? a_ms : b_ms;
}

/* Returns bytes written, or 0: empty, too long, or no percent encoding. */
static size_t
decode(struct span s, char out[DECODED_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++, n++) {
		int high, low;

		if (n == DECODED_MAX)
			return 0;
		out[n] = s.p[i];
		if (s.p[i] != '%')
			continue;
		if (s.n - i < 3)
			return 0;
		high = octet_hex(s.p[i + 1]);
		low = octet_hex(s.p[i + 2]);
		if (high < 0 || low < 0)
			return 0;
		out[n] = (char)(high << 4 | low);
		i += 2;
	}
	return n;
}

/* From wall_ms until `lifetime_ms` after the (encoded) date. */
static int64_t
left(struct span date, int64_t lifetime_ms, int64_t wall_ms)
{
	char text[DECODED_MAX];
	struct instant at;
	int64_t left_ms;

	if (instant_parse((struct span){text, decode(date, text)}, &at))
		return NONE;
	left_ms = at.ms + lifetime_ms - wall_ms;
	return left_ms > 0 ? left_ms : 0;
}

/* date + expires, of a presigned URL. */
static int64_t
left_presigned(struct span date, struct span expires, int64_t wall_ms)
{
	uint64_t s;

	if (span_u64(expires, &s))
		return NONE;
	if (s > FOREVER_S)
		s = FOREVER_S;
	return left(date, (int64_t)s * 1000, wall_ms);
}

/*
 * bucket.s3.eu-west-1.amazonaws.com, s3.cn-north-1.amazonaws.com.cn,
 * s3-accelerate, s3-accesspoint, s3express-...: a label of S3 before Amazon's.
 */
static bool
is_s3(struct span host)
{
	bool s3 = false;
	struct span label;

	while (span_cut(&host, '.', &label)) {
		if (s3 && span_ieq(label, SPAN("amazonaws")))
			return span_istarts(host, SPAN("com"));
		s3 = s3 || span_ieq(label, SPAN("s3")) ||
		    span_istarts(label, SPAN("s3-")) ||
		    span_istarts(label, SPAN("s3express-"));
	}
	return false;
}

static int64_t
left_sigv4(const struct head *h, struct span host, int64_t wall_ms)
{
	return left(head_get(h, FIELD_X_AMZ_DATE),
	    is_s3(host) ? SIGV4_S3_MS : SIGV4_MS, wall_ms);
}

static int64_t
left_grpc(const struct head *h)
{
	static const struct {
		char unit;
		int64_t us; /* of one; n is less */
	} units[] = {{'H', INT64_C(3600000000)}, {'M', 60000000},
	    {'S', 1000000}, {'m', 1000}, {'u', 1}};
	struct span s = head_get(h, FIELD_GRPC_TIMEOUT);
	uint64_t n;

	if (s.n < 2 || s.n > GRPC_DIGITS_MAX + 1 ||
	    span_u64((struct span){s.p, s.n - 1}, &n))
		return NONE;
	if (s.p[s.n - 1] == 'n')
		return (int64_t)n / 1000000;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].unit == s.p[s.n - 1])
			return (int64_t)n * units[i].us / 1000;
	}
	return NONE;
}

static void
keep_first(struct span *kept, struct span value)
{
	if (kept->p == NULL)
		*kept = value;
}

static void
keep_parameter(struct signed_query *q, struct span name, struct span value)
{
	if (span_ieq(name, SPAN("x-amz-date")))
		keep_first(&q->amz_date, value);
	else if (span_ieq(name, SPAN("x-amz-expires")))
		keep_first(&q->amz_expires, value);
	else if (span_ieq(name, SPAN("x-goog-date")))
		keep_first(&q->goog_date, value);
	else if (span_ieq(name, SPAN("x-goog-expires")))
		keep_first(&q->goog_expires, value);
	else if (span_ieq(name, SPAN("se")))
		keep_first(&q->sas_end, value);
	else if (span_ieq(name, SPAN("sig")))
		keep_first(&q->sas_signature, value);
}

static int64_t
left_query(struct span path_query, int64_t wall_ms)
{
	struct signed_query q = {.amz_date = {.p = NULL}};
	struct span path, parameter, name;
	int64_t left_ms;

	if (!span_cut(&path_query, '?', &path))
		return NONE;
	while (span_cut(&path_query, '&', &parameter)) {
		if (span_cut(&parameter, '=', &name) && parameter.p != NULL)
			keep_parameter(&q, name, parameter);
	}
	left_ms = left_presigned(q.amz_date, q.amz_expires, wall_ms);
	left_ms = sooner(left_ms,
	    left_presigned(q.goog_date, q.goog_expires, wall_ms));
	if (q.sas_signature.n > 0)
		left_ms = sooner(left_ms, left(q.sas_end, 0, wall_ms));
	return left_ms;
}

int64_t
expiry_left_ms(const struct head *h, struct span host, struct span path_query,
    int64_t wall_ms)
{
	int64_t left_ms = left_query(path_query, wall_ms);

	left_ms = sooner(left_ms, left_sigv4(h, host, wall_ms));
	return sooner(left_ms, left_grpc(h));
}
