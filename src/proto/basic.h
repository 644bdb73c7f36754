/* SPDX-License-Identifier: MIT */
/*
 * basic: the credentials of the Basic scheme (RFC 7617), as a client sends them
 * in Authorization or Proxy-Authorization. One way to write a pair is accepted,
 * so that two parties can't read two different pairs in it.
 */
#ifndef AB_BASIC_H
#define AB_BASIC_H

#include "base/span.h"

#define BASIC_USER_MAX     255 /* bytes */
#define BASIC_PASSWORD_MAX 511 /* bytes; crypt(3) takes no more */
#define BASIC_PAIR_MAX     (BASIC_USER_MAX + 1 + BASIC_PASSWORD_MAX)

enum basic_result {
	BASIC_OK = 0,
	BASIC_OTHER, /* another scheme */
	BASIC_BAD,   /* Basic, but no user and password can be read in it */
};

struct basic {
	struct span user;     /* may be empty; has no ':' */
	struct span password; /* may be empty, may have ':' */
};

/*
 * Reads the value of the field. Spans of *ret point into buf, which the caller
 * wipes. Refused: any octet that is no base64 (RFC 4648 4), wrong or missing
 * padding, padding bits that are not 0, no ':', control characters (RFC 7617 2),
 * and more than the MAX bytes above. Octets >= 0x80 pass as they are.
 */
AB_MUST enum basic_result basic_parse(struct span value,
    char buf[BASIC_PAIR_MAX], struct basic *ret);

#endif
