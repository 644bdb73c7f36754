/* SPDX-License-Identifier: MIT */
/*
 * lesson: what an answer teaches about the quota of a service beside being a
 * refusal or none.
 */
#ifndef AB_LESSON_H
#define AB_LESSON_H

#include "hint.h"
#include "quota.h"

/* Of a refusal: about whom it is, where a field tells. */
enum lesson_scope {
	SCOPE_BUCKET, /* the bucket; or nothing is said */
	SCOPE_GLOBAL, /* all that the service does for this client */
	SCOPE_SHARED, /* the bucket, and others have used it up */
};

/* Fields that name buckets; a name without text: none does. */
struct lesson_cfg {
	struct span bucket; /* bucket_header */
	struct span scope;  /* scope_header */
};

struct lesson {
	struct span bucket;      /* its name, of the answer; or empty */
	enum lesson_scope scope;
	struct quota_told quota; /* reset_ms 0: nothing is told */
	int64_t pause_ms;        /* Retry-After of a success; 0: none */
};

/*
 * Of an answer that is no refusal. A pause: of 2xx but 201 and 202, in which
 * Retry-After says when the work will be done and not how often one may ask
 * (RFC 9110 15.3.3, 10.2.3). Both only as far as cfg wants them, and neither
 * where hints are ignored (no sources). wall_ms: at its receipt.
 */
struct lesson lesson_of(const struct quota_cfg *cfg,
    const struct hint_cfg *hints, const struct head *h, int64_t wall_ms);

/*
 * The bucket that an answer names, refusal or not, and the scope: "global" or
 * "true", "shared", anything else is the bucket's own. The spans are h's.
 * Source: Discord developer docs, rate limits (X-RateLimit-Bucket, -Scope,
 * -Global).
 */
void lesson_marks(struct lesson *l, const struct lesson_cfg *cfg,
    const struct head *h);

#endif
