/* SPDX-License-Identifier: MIT */
/*
 * policy: all that a service (or [defaults]) decides, as plain numbers. Built
 * by the configuration, read by everybody, never changed once published.
 */
#ifndef AB_POLICY_H
#define AB_POLICY_H

#include "adapt.h"
#include "backoff.h"
#include "bucket.h"
#include "budget.h"
#include "hint.h"
#include "lesson.h"
#include "service.h"
#include "verdict.h"
#include "when.h"

#define POLICY_KEY_PARTS_MAX 4

/* key = ...: what, beside the service, tells one state from another. */
enum policy_key_kind {
	POLICY_KEY_HOST,   /* host:port */
	POLICY_KEY_HEADER, /* the value of field `name` */
	POLICY_KEY_PATH,   /* the first `depth` path segments */
	POLICY_KEY_QUERY,  /* the value of query parameter `name` */
	POLICY_KEY_CLIENT, /* the client's address */
};

struct policy_key_part {
	enum policy_key_kind kind;
	struct span name; /* HEADER, QUERY */
	unsigned depth;   /* PATH: 1..16 */
};

struct policy {
	struct verdict_cfg verdict;
	struct backoff_cfg backoff;
	struct service_cfg service;
	struct hint_cfg hint;
	struct when_cfg when;
	struct bucket_cfg bucket;
	struct adapt_cfg adapt;
	struct budget_cfg budget;  /* of retries */
	struct quota_cfg quota;    /* what successes teach */
	struct lesson_cfg lesson;  /* fields that name buckets */
	uint32_t concurrency;      /* 0: no limit */
	uint32_t queue;            /* places in line */
	int64_t queue_timeout_ms;  /* <= deadline_ms */
	int64_t deadline_ms;
	int64_t max_wait_ms;       /* <= deadline_ms */
	uint64_t body_buffer_bytes;
	uint64_t body_spill_bytes;
	int64_t head_timeout_ms;
	int64_t connect_timeout_ms;
	int64_t response_timeout_ms;
	int64_t idle_timeout_ms;
	int64_t heartbeat_ms;      /* 0: off */
	uint64_t stream_peek_bytes; /* 0: off; <= WHEN_BODY_MAX */
	bool allow_half_close;
	bool allow_overrides;
	bool script_body;          /* strategy = custom: its script looks at the
	                            * bodies of refusals */
	bool dry_run;              /* decide, log and count, but relay at once */
	unsigned nkey;             /* 0: one state for the whole service */
	struct policy_key_part key[POLICY_KEY_PARTS_MAX];
	uint32_t max_keys;         /* LRU bound on states of this service */
};

#endif
