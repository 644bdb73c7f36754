/* SPDX-License-Identifier: MIT */
/* say: what goes wrong everywhere, on standard error. */
#ifndef AB_SAY_H
#define AB_SAY_H

#include <stdio.h>

/* About errno; says what to do where a directory is missing. CTL_MISSING. */
int say_no_file(const char *path);
/* The path as one word of a shell command. */
void say_word(const char *path, FILE *to);

/* Why a CA can't be read; where it has no certificate yet, how it gets one.
 * CTL_MISSING. */
int say_no_ca(const char *cert, const char *why);
int say_no_memory(void); /* CTL_MISSING */

#endif
