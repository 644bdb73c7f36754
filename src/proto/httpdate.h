/* SPDX-License-Identifier: MIT */
/*
 * httpdate: HTTP-date in its three forms (RFC 9110 5.6.7).
 */
#ifndef AB_HTTPDATE_H
#define AB_HTTPDATE_H

#include "base/span.h"

#define HTTPDATE_LEN 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

/*
 * IMF-fixdate, RFC 850 and asctime forms; the whole of s. Lenient in the zone:
 * "GMT", "UTC", "+0000" or none; in the day of the month: one digit or two; in
 * the letters' case. now_s (wall clock) decides a two-digit year: the latest
 * one that is not more than 50 years ahead. The day name is not held against
 * the date. Returns 0 and seconds since the epoch, or -1.
 */
AB_MUST int httpdate_parse(struct span s, int64_t now_s, int64_t *ret_s);

/* Writes HTTPDATE_LEN bytes and a NUL. Times outside the years 0..9999 are
 * written as the nearest one inside. */
void httpdate_format(int64_t t_s, char out[HTTPDATE_LEN + 1]);

/* Days since 1970-01-01 of a proleptic Gregorian date; month 1..12. */
int64_t httpdate_days(int64_t year, unsigned month, unsigned day);

#endif
