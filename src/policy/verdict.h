/* SPDX-License-Identifier: MIT */
/*
 * verdict: an attempt has an outcome; what now? Rules 1 to 5 and 9 to 14.
 */
#ifndef AB_VERDICT_H
#define AB_VERDICT_H

#include "backoff.h"
#include "hint.h"
#include "lesson.h"
#include "service.h"

#define VERDICT_STATUSES_MAX 32

/* Why a request ended without a success; log, Proxy-Status, metrics. */
#define GIVE_UP_LIST(X)                                \
	X(NONE, "none")                                \
	X(RETRIES, "retries-exhausted")                \
	X(NO_RETRIES, "retries-off")                   \
	X(METHOD, "method-not-repeatable")             \
	X(BODY, "body-too-large")                      \
	X(MAX_WAIT, "hint-over-max-wait")              \
	X(DEADLINE, "deadline")                        \
	X(SIGNATURE, "signature-expiry")               \
	X(CUTOFF, "failure-cutoff")                    \
	X(SHUT, "service-shut")                        \
	X(QUEUE_FULL, "queue-full")                    \
	X(QUEUE_TIMEOUT, "queue-timeout")              \
	X(CONNECT, "connect-failed")                   \
	X(CONNECT_TIMEOUT, "connect-timeout")          \
	X(DNS, "dns-failed")                           \
	X(RESET, "connection-lost")                    \
	X(RESPONSE_TIMEOUT, "response-timeout")        \
	X(IDLE, "idle-timeout")                        \
	X(PROTOCOL, "bad-response")                    \
	X(CLIENT_GONE, "client-gone")                  \
	X(DRAINING, "draining")                        \
	X(MEMORY, "out-of-memory")                     \
	X(SPILL, "spill-failed")                       \
	X(UPSTREAM_CUT, "upstream-cut")                \
	X(BAD_REQUEST, "bad-request")                  \
	X(DENIED, "denied")                            \
	X(LOOP, "loop")                                \
	X(CLIENT_TIMEOUT, "client-timeout")            \
	X(TLS_CERTIFICATE, "tls-certificate")          \
	X(TLS, "tls-handshake")                        \
	X(PARENT, "parent-proxy")                      \
	X(PROXY_AUTH, "proxy-auth")                    \
	X(MISDIRECTED, "misdirected")                  \
	X(CLIENT_TLS, "client-tls")                    \
	X(PERMANENT, "permanent-refusal")              \
	X(BUDGET, "retry-budget")                      \
	X(SCRIPT, "script")
enum give_up {
#define X(id, text) GIVE_UP_##id,
	GIVE_UP_LIST(X)
#undef X
	GIVE_UP_COUNT
};
const char *give_up_name(enum give_up g);

enum reset_policy { RESET_NEVER, RESET_IDEMPOTENT, RESET_ALWAYS };

struct verdict_statuses { /* a set of statuses */
	unsigned n;
	short v[VERDICT_STATUSES_MAX];
};
bool verdict_statuses_has(const struct verdict_statuses *s, int status);

struct verdict_cfg {
	struct verdict_statuses retry_on;             /* 429, 503, 504 */
	struct verdict_statuses retry_non_idempotent; /* 429 */
	bool non_idempotent_always;
	unsigned max_retries;
	bool retry_connect;
	enum reset_policy retry_reset;
};

/* RFC 9110 9.2.2 and, of the registry, the safe WebDAV methods. */
bool verdict_idempotent(struct span method);

/* What is known about the request when an attempt of it has ended. */
struct verdict_request {
	bool repeatable;      /* idempotent method, or Idempotency-Key */
	bool replayable;      /* the whole body is in the replay buffer, or none */
	bool spill_failed;    /* why not replayable: disk, not size */
	unsigned retries;     /* retries made so far */
	unsigned max_retries; /* of the policy, or less by the client's wish */
	unsigned resets;      /* of them, after a lost connection */
	int64_t max_wait_ms;  /* longest single wait accepted */
	int64_t deadline_ms;  /* monotonic */
	bool signature_bound; /* the deadline comes from a signature */
};

enum attempt_end {
	ATTEMPT_ANSWER,           /* a final response head is in hand */
	ATTEMPT_CONNECT_FAILED,   /* nothing was sent */
	ATTEMPT_CONNECT_TIMEOUT,
	ATTEMPT_DNS_FAILED,       /* may be passing: SERVFAIL, timeout */
	ATTEMPT_DNS_NAME,         /* no such name: final */
	ATTEMPT_RESET,            /* lost before the response head */
	ATTEMPT_RESPONSE_TIMEOUT,
	ATTEMPT_BAD_RESPONSE,     /* what came is no HTTP */
	ATTEMPT_NO_MEMORY,
	ATTEMPT_TLS_CERTIFICATE,  /* the server is not who it should be: final */
	ATTEMPT_TLS,              /* no TLS with it: final */
	ATTEMPT_PARENT,           /* the parent proxy refused the way: final */
};

/* What a rule says about an answer (see reading.h). */
enum attempt_says {
	SAYS_STATUS,      /* nothing: its status decides */
	SAYS_THROTTLED,   /* it is a refusal, whatever its status */
	SAYS_PERMANENT,   /* it is none that a wait would mend */
};

/* What a script says about a refusal (strategy = custom). */
enum custom_kind {
	CUSTOM_NONE,    /* no script was asked */
	CUSTOM_OWN,     /* it leaves the wait to own back-off: ms is that one */
	CUSTOM_WAIT,    /* wait for ms, or for the hint where that is longer */
	CUSTOM_GIVE_UP, /* relay the refusal; the key is shut as with OWN */
};

struct custom_wait {
	enum custom_kind kind;
	int64_t ms; /* >= 0 */
};

struct attempt {
	enum attempt_end end;
	int status;       /* ATTEMPT_ANSWER; ATTEMPT_PARENT: to answer with */
	enum attempt_says says; /* ATTEMPT_ANSWER */
	struct hint hint; /* ATTEMPT_ANSWER; ATTEMPT_PARENT: its Retry-After */
	struct custom_wait custom; /* ATTEMPT_ANSWER, a refusal */
	struct lesson lesson; /* ATTEMPT_ANSWER; of a refusal the marks only */
	bool reused;      /* the connection had served before */
	bool sent;        /* any byte of the request was written */
};

enum verdict_kind {
	VERDICT_DELIVER,   /* relay the answer: it is no refusal */
	VERDICT_RETRY,     /* go back to the line, not before at_ms */
	VERDICT_RECONNECT, /* rule 14: the same attempt with the same ticket, on a
	                    * fresh connection (never a reused one) */
	VERDICT_GIVE_UP,   /* relay the answer in hand; without one, answer */
};

struct verdict {
	enum verdict_kind kind;
	enum give_up why;  /* GIVE_UP */
	int64_t at_ms;     /* RETRY: monotonic; of a connection failure the
	                    * request's own, of a refusal the end of the key's
	                    * hold (own back-off where no hold is on) */
	bool counts_reset; /* RETRY: one more to verdict_request.resets */
};

bool verdict_throttled(const struct verdict_cfg *cfg, const struct attempt *a);
/* The n of own back-off after a refusal: of the larger of (retries made + 1) and
 * the key's consecutive refusals, that of t included. */
unsigned verdict_nth(unsigned retries, const struct service *s,
    const struct ticket *t);
/* The status of the refusal; 429 where it hides behind one below 400. */
int verdict_refusal_status(const struct attempt *a);

/*
 * The one decision. Learns t into *s once (service_ok, _throttled, _neutral);
 * only RECONNECT does not: the attempt goes on, t stays out and is learned with
 * what becomes of it. u_own, u_jitter: draws in [0, 1). now_ms: when the
 * outcome came in.
 *
 * Refusals: the key is shut by max(own back-off, hint) + jitter whatever
 * becomes of this request. Own back-off is that of the larger of (retries made
 * + 1) and the key's consecutive refusals. Refusals of an earlier epoch bring
 * their hint alone: the back-off of this burst was drawn with its first one.
 * The wait of a script counts like a hint, and is never shorter than one.
 * The request retries unless: retries are used up or off, the method may not be
 * repeated for this status, the body is not replayable, the wait to come
 * (without jitter) is over max_wait, the hold ends after the deadline, or the
 * key is cut off. The reason given is the first that holds, in this order:
 * NO_RETRIES, METHOD, BODY/SPILL, SCRIPT, MAX_WAIT, CUTOFF, RETRIES, SIGNATURE or
 * DEADLINE. One that no wait would mend is given up at once (PERMANENT), and
 * says nothing about the key's limits. All other answers are delivered, and
 * prove that nothing throttles.
 *
 * A lost connection that was reused gives one RECONNECT where nothing was sent,
 * or the request is repeatable and replayable. A fresh one: retry_reset, at
 * most once per request; with `idempotent` also any method of which nothing was
 * sent. Connection failures: retry_connect, any method. Both wait the own
 * back-off of the n-th retry, n = retries made + 1, + jitter, if max_retries,
 * max_wait and the deadline leave room; else the failure itself is the reason.
 * Names that do not exist, timeouts while a response was awaited (the server
 * may be at work), a server that TLS does not vouch for and what a parent proxy
 * says to our CONNECT are final.
 */
struct verdict verdict_of(const struct verdict_cfg *cfg,
    const struct backoff_cfg *backoff, const struct service_cfg *service_cfg,
    const struct verdict_request *r, const struct attempt *a,
    struct service *s, const struct ticket *t, int64_t now_ms,
    double u_own, double u_jitter);
/*
 * In place of a RETRY for which the service's budget has nothing left: it is
 * asked last of all, since only a retry that would be made takes from it. An
 * answer in hand: BUDGET; of a failure the reason stays the failure itself.
 */
struct verdict verdict_over_budget(const struct attempt *a);

#endif
