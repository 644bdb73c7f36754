/* SPDX-License-Identifier: MIT */
/*
 * conf_build: from the draft to the configuration. Internal to the
 * configuration.
 */
#ifndef AB_CONF_BUILD_H
#define AB_CONF_BUILD_H

#include "edge/conf_draft.h"

/*
 * Fills a zeroed *c: built-in defaults, then what the draft says. Problems are
 * noted in the draft; no memory shows in a pool's `failed`.
 */
void conf_build(struct conf_draft *d, struct conf *c);

/*
 * What can only be told from several values at once, and the values that
 * follow from others. After all settings of a service, or of [defaults], have
 * been applied.
 */
void conf_check_service(struct conf_draft *d, struct conf *c,
    const struct conf_section *sec, struct conf_service *s);
/* Right after the settings of a layer, [tls] being one, and before those of the
 * next: what one takes away, the next can't see. */
void conf_check_upstream(struct conf_draft *d, const struct conf_section *sec,
    struct conf_service *s);
/* After those of [tls]. */
void conf_check_tls(struct conf_draft *d, struct conf *c);
void conf_check_whole(struct conf_draft *d, struct conf *c);

#endif
