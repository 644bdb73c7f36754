/* SPDX-License-Identifier: MIT */
/*
 * pages: the paths of the simulator. They differ only in what they take for
 * granted; every parameter goes with every one of them.
 */
#ifndef AB_ORIGIN_PAGES_H
#define AB_ORIGIN_PAGES_H

#include "route.h"

struct page {
	const char *path, *example, *help;
	/* Defaults, before the query is read; or NULL. */
	void (*prepare)(struct wish *w);
	/*
	 * After the query: settles what the path means; `sub` is what follows
	 * it ("/418"). Returns what is missing, for people, or NULL.
	 */
	const char *(*settle)(struct wish *w, struct span sub);
	/* Fills in the body of an admitted attempt; or NULL: "ok". */
	void (*fill)(struct answer *a, const struct wish *w,
	    const struct request *rq);
};

/* Whether path is prefix or lies below it: "/a" and "/a/b", not "/ab". */
bool page_covers(struct span prefix, struct span path);
/* The page of a path, or NULL. */
const struct page *page_find(struct span path);
/* The body that all pages share: n bytes of the pattern, or "ok". */
void page_plain(struct answer *a, const struct wish *w);
/* The paths, as --help and the index page list them. */
void page_help(struct strbuf *out);

#endif
