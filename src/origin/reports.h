/* SPDX-License-Identifier: MIT */
/*
 * reports: /report, /report/summary and the index page. These requests are
 * not attempts: they are neither judged nor recorded.
 */
#ifndef AB_ORIGIN_REPORTS_H
#define AB_ORIGIN_REPORTS_H

#include "route.h"

/* path is /report or below. 0, or -1 out of memory. */
AB_MUST int reports_serve(struct origin *o, const struct request *rq,
    struct span path, struct span query, struct answer *a);
/* What there is to ask for, as text. */
void reports_index(struct answer *a);

#endif
