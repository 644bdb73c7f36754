/* SPDX-License-Identifier: MIT */
/*
 * conf_file: configuration files, line by line, into a draft. Internal to the
 * configuration.
 */
#ifndef AB_CONF_FILE_H
#define AB_CONF_FILE_H

#include "edge/conf_draft.h"

/* Limits of the INI reader; what is longer is refused, never cut. */
#define CONF_LINE_MAX    199 /* bytes, without the line end */
#define CONF_NAME_MAX    49  /* of a key, and of what [ ] encloses */
#define CONF_FILE_MAX    (4u << 20) /* bytes */
#define CONF_DEPTH_MAX   8   /* files that include one another */

/* The file and its includes. Whatever is wrong is noted in the draft. */
void conf_file_read(struct conf_draft *d, const char *path);
void conf_file_read_text(struct conf_draft *d, const char *name,
    struct span text);
/* A preset: nothing but the section [preset NAME]; `name` as above. */
void conf_file_read_preset(struct conf_draft *d, struct conf_section *preset,
    const char *name, struct span text);
/* An include that an override asks for; `base`: the main file, or "". */
void conf_file_include(struct conf_draft *d, const char *base,
    struct span list, struct conf_where where);

#endif
