/* SPDX-License-Identifier: MIT */
/*
 * conf_preset: the layer between [defaults] and a service. Internal to the
 * configuration.
 */
#ifndef AB_CONF_PRESET_H
#define AB_CONF_PRESET_H

#include "edge/conf_draft.h"

/* Reads the presets that services name, once all that may name one has been
 * read. Whatever is wrong is noted in the draft. */
void conf_preset_load(struct conf_draft *d);

/* The directory of the user's own; borrows the draft. NULL: none. */
const char *conf_draft_preset_dir(const struct conf_draft *d);

/* As conf_draft_section, in the file of a preset: its own section, or NULL. */
struct conf_section *conf_preset_section(struct conf_draft *d,
    struct conf_section *preset, struct span header, struct conf_where where);

#endif
