/* SPDX-License-Identifier: MIT */
/*
 * head: the strict scanner for request and response heads (RFC 9112).
 *
 * It takes bytes that may hold a complete head and gives spans into them;
 * nothing is copied, nothing is kept between calls but how far it looked
 * (struct head_scan). A head is either accepted whole or refused with a
 * reason: there is no joining, trimming or guessing.
 */
#ifndef AB_HEAD_H
#define AB_HEAD_H

#include "base/span.h"

#define HEAD_FIELDS_MAX 128

/* Fields that the program looks at, by id; all others are FIELD_OTHER. */
#define HEAD_FIELD_LIST(X)                       \
	X(CONNECTION, "connection")              \
	X(CONTENT_LENGTH, "content-length")      \
	X(TRANSFER_ENCODING, "transfer-encoding") \
	X(HOST, "host")                          \
	X(EXPECT, "expect")                      \
	X(UPGRADE, "upgrade")                    \
	X(TE, "te")                              \
	X(TRAILER, "trailer")                    \
	X(KEEP_ALIVE, "keep-alive")              \
	X(PROXY_CONNECTION, "proxy-connection")  \
	X(PROXY_AUTHENTICATE, "proxy-authenticate") \
	X(PROXY_AUTHORIZATION, "proxy-authorization") \
	X(PROXY_AUTHENTICATION_INFO, "proxy-authentication-info") \
	X(PROXY_STATUS, "proxy-status")          \
	X(VIA, "via")                            \
	X(DATE, "date")                          \
	X(AGE, "age")                            \
	X(RETRY_AFTER, "retry-after")            \
	X(RETRY_AFTER_MS, "retry-after-ms")      \
	X(MAX_FORWARDS, "max-forwards")          \
	X(IDEMPOTENCY_KEY, "idempotency-key")    \
	X(PREFER, "prefer")                      \
	X(PRIORITY, "priority")                  \
	X(ABIDE_MAX_WAIT, "abide-max-wait")      \
	X(ABIDE_MAX_RETRIES, "abide-max-retries") \
	X(ABIDE_SERVICE, "abide-service")        \
	X(ABIDE_KEY, "abide-key")                \
	X(PROXY, "proxy")                        \
	X(HTTP2_SETTINGS, "http2-settings")      \
	X(X_AMZ_DATE, "x-amz-date")              \
	X(GRPC_TIMEOUT, "grpc-timeout")

enum field_id {
	FIELD_OTHER = 0,
#define X(id, name) FIELD_##id,
	HEAD_FIELD_LIST(X)
#undef X
	FIELD_COUNT
};

struct field {
	struct span name;  /* as sent */
	struct span value; /* OWS trimmed */
	enum field_id id;
};

struct head {
	bool is_request;
	unsigned minor;           /* HTTP/1.minor: 0 or 1 */
	struct span method;       /* request */
	struct span target;       /* request */
	int status;               /* response: 100..999 */
	struct span reason;       /* response: may be empty */
	size_t bytes;             /* of the whole head, empty line included */
	unsigned nfields;
	uint64_t seen;            /* bit 1 << field_id for each known field */
	uint64_t again;           /* the same for those there more than once */
	uint8_t first[FIELD_COUNT]; /* index of the first one; only if seen */
	struct field fields[HEAD_FIELDS_MAX];
};

struct head_limits {
	size_t head_bytes;   /* whole head, e.g. 64 KiB; over: HEAD_TOO_LARGE */
	size_t line_bytes;   /* request line without its CRLF, e.g. 16 KiB;
	                      * over: HEAD_URI_TOO_LONG */
	unsigned fields;     /* <= HEAD_FIELDS_MAX; over: HEAD_TOO_LARGE */
};

enum head_result {
	HEAD_OK = 0,
	HEAD_AGAIN,         /* no complete head yet and no fault yet */
	HEAD_BAD,           /* 400 */
	HEAD_TOO_LARGE,     /* 431 */
	HEAD_URI_TOO_LONG,  /* 414 */
	HEAD_VERSION,       /* 505: HTTP/ but not 1.0 or 1.1 */
};

/*
 * How far a head that is not whole yet has been looked at, so that one sent in
 * many small pieces costs linear time. Zeroed before a new head (HEAD_OK does
 * that), and kept while buf only grows at its end.
 */
struct head_scan {
	size_t at;      /* bytes before it are known to be good */
	size_t line;    /* where the line at hand starts */
	unsigned lines; /* whole lines before that */
};

/*
 * Scans buf[0, n); buf may move between calls.
 * Up to one empty line (CRLF) before a request line is skipped and counted in
 * bytes (RFC 9112 2.2).
 * Requests: CRLF line ends only; no obs-fold, bare CR, NUL or other controls;
 * field names are tokens directly followed by ':'; method a token; one SP
 * between the parts; the target %x21-7E. RFC 9112 2.2, 3, 5; RFC 9110 5.5.
 * A fault is reported as soon as it is certain, also before the head is whole;
 * so the verdict does not depend on how the bytes were cut into pieces, and
 * HEAD_AGAIN is never returned once n has reached head_bytes.
 * On HEAD_OK *h is filled; otherwise *h is unspecified and *ret_why is a static
 * text for people ("folded field line").
 */
AB_MUST enum head_result head_request(const char *buf, size_t n,
    struct head_scan *scan, const struct head_limits *lim, struct head *h,
    const char **ret_why);
/*
 * The same for a response. Lenient where real servers need it: lines may end
 * with a bare LF, and the reason phrase with its SP may be missing; obs-fold,
 * bad names and controls are refused all the same. line_bytes is not used.
 */
AB_MUST enum head_result head_response(const char *buf, size_t n,
    struct head_scan *scan, const struct head_limits *lim, struct head *h,
    const char **ret_why);

/*
 * One field line without its line end (a trailer's, say), by the same rules.
 * Returns 0, or -1 with *ret_why.
 */
AB_MUST int head_field_line(struct span line, struct field *ret,
    const char **ret_why);

static inline bool
head_has(const struct head *h, enum field_id id)
{
	return h->seen >> id & 1;
}

static inline bool
head_repeats(const struct head *h, enum field_id id)
{
	return h->again >> id & 1;
}

/* The id of a field name, any case; FIELD_OTHER for all that are not listed. */
enum field_id head_field_id(struct span name);

/* The first value of a known field, or a span with p NULL. */
struct span head_get(const struct head *h, enum field_id id);
/* The first value of any field; the name compares without case. */
struct span head_find(const struct head *h, struct span name);
/*
 * True where a comma list of tokens (all lines of the field) has this one, no
 * case. Quotes mean nothing here: they can't hide a token behind them.
 */
bool head_list_has(const struct head *h, enum field_id id, struct span token);

/*
 * Keep-Alive: timeout=N in seconds (RFC 2068 19.7.1.1): how long the peer keeps
 * an idle connection. -1 where there is none that can be read.
 */
int64_t head_keep_alive_timeout_s(const struct head *h);

/* RFC 9110 5.6.2. False for the empty span. */
bool head_is_token(struct span s);

#endif
