/* SPDX-License-Identifier: MIT */
/*
 * ca_find: what a command about the CA is about: its files and its hosts. The
 * command line says so, else the configuration, which may be good but for the
 * CA that is yet to be made.
 */
#ifndef AB_CA_FIND_H
#define AB_CA_FIND_H

#include "ctl/args.h"

struct ca_find {
	struct conf *conf;     /* a reference; NULL: was not needed */
	const char *conf_path; /* where its text is, or would be */
	bool no_paths;         /* it does not name the files yet */
	const char *cert;      /* all texts borrow the above and args */
	const char *key;       /* NULL: not told; never with CA_FIND_KEY */
	const char **hosts;    /* patterns; owns the array */
	size_t nhosts;
};

#define CA_FIND_KEY   1u /* --cert without --key is an error */
#define CA_FIND_HOSTS 2u /* else the configuration is read for paths only */

/*
 * needs: of the above.
 * CTL_OK, or the exit code, with the reason said. ca_find_free in any case.
 */
AB_MUST int ca_find(const struct args *args, unsigned needs,
    struct ca_find *ret);
void ca_find_free(struct ca_find *f);

#endif
