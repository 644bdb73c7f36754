/* SPDX-License-Identifier: MIT */
/* say: what goes wrong everywhere, on standard error. */
#ifndef AB_SAY_H
#define AB_SAY_H

/* About errno; says what to do where a directory is missing. CTL_MISSING. */
int say_no_file(const char *path);
int say_no_memory(void); /* CTL_MISSING */

#endif
