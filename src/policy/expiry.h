/* SPDX-License-Identifier: MIT */
/*
 * expiry: until when a request is worth sending, where it says so itself.
 *
 *   X-Amz-Date field (SigV4)                  + 5 min (S3 hosts: 15 min)
 *   ?X-Amz-Date=...&X-Amz-Expires=SECONDS     date + expires (presigned)
 *   ?X-Goog-Date=...&X-Goog-Expires=SECONDS   date + expires
 *   ?se=ISO8601 with sig=                     SAS token: that time
 *   grpc-timeout: 1*8DIGIT (H M S m u n)      from receipt
 * Sources: AWS SigV4 and S3 manuals, Google V4 signing, Azure SAS, gRPC over
 * HTTP/2 (timeouts).
 */
#ifndef AB_EXPIRY_H
#define AB_EXPIRY_H

#include "proto/head.h"

/*
 * ms from wall_ms until the first of these expires (0: already has), rounded
 * down; -1 where the request carries none that can be read. wall_ms: when the
 * request came in. host (without port) decides the S3 rule. Of a query
 * parameter given twice the first counts; names compare without case.
 */
int64_t expiry_left_ms(const struct head *h, struct span host,
    struct span path_query, int64_t wall_ms);

#endif
