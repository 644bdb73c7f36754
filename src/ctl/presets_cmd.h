/* SPDX-License-Identifier: MIT */
/* presets_cmd: which presets there are, and what is in them. */
#ifndef AB_PRESETS_CMD_H
#define AB_PRESETS_CMD_H

#include "ctl/args.h"

/* An enum ctl_exit; what is wrong has been said on standard error. */
AB_MUST int presets_cmd(const struct args *args);

#endif
