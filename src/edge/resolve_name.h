/* SPDX-License-Identifier: MIT */
/*
 * resolve_name: the one spelling of a host name under which it is asked for
 * and kept. Internal to the resolver.
 */
#ifndef AB_RESOLVE_NAME_H
#define AB_RESOLVE_NAME_H

#include "policy/pattern.h"

/* Bytes of a name, with a trailing dot and a NUL. */
#define RESOLVE_NAME_SIZE (PATTERN_HOST_MAX + 2)

/*
 * Small letters; a trailing dot stays, it ends the search list. Whatever is
 * below "localhost" becomes "localhost". False: no host name (labels of 1 to 63
 * letters, digits, '-' and '_'), or one below "onion".
 */
bool resolve_name(const char *host, char ret[RESOLVE_NAME_SIZE]);

#endif
