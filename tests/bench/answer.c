/* SPDX-License-Identifier: MIT */
/*
 * answer.c: where a response ends.
 *
 * A head that comes in one piece, as nearly all do, is copied once and scanned
 * once: the client must not be what a benchmark measures.
 */
#include "answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATUS_AT 9 /* in "HTTP/1.1 200" */

void
answer_clear(struct answer *a)
{
	a->nhead = 0;
	a->headed = false;
	a->framed = false;
	a->close = false;
	a->left = 0;
}

static void
read_field(struct answer *a, const char *p)
{
	if (strncasecmp(p, "content-length:", 15) == 0) {
		a->left = strtoull(p + 15, NULL, 10);
		a->framed = true;
	} else if (strncasecmp(p, "connection:", 11) == 0) {
		p += 11 + strspn(p + 11, " ");
		a->close = strncasecmp(p, "close", 5) == 0 ||
		    (a->close && strncasecmp(p, "keep-alive", 10) != 0);
	}
}

/* The head ends with an empty line, so every line has its end. */
static int
read_head(struct answer *a)
{
	const char *p = a->head;

	if (strncmp(p, "HTTP/1.", 7) != 0)
		return -1;
	a->status = (unsigned)strtoul(p + STATUS_AT, NULL, 10);
	a->close = p[7] == '0';
	while ((p = strchr(p, '\n')) != NULL)
		read_field(a, ++p);
	a->headed = true;
	return 0;
}

static int
take_body(struct answer *a, size_t n)
{
	if (n > a->left)
		return -1;
	a->left -= n;
	return a->left == 0;
}

int
answer_feed(struct answer *a, const char *p, size_t n)
{
	size_t take = ANSWER_HEAD_MAX - a->nhead, head;
	char *end;

	if (a->headed)
		return take_body(a, n);
	if (take > n)
		take = n;
	memcpy(a->head + a->nhead, p, take);
	end = memmem(a->head, a->nhead + take, "\r\n\r\n", 4);
	if (end == NULL) {
		a->nhead += take;
		return a->nhead == ANSWER_HEAD_MAX ? -1 : 0;
	}
	end[4] = '\0';
	head = (size_t)(end + 4 - a->head) - a->nhead;
	a->nhead += head;
	if (read_head(a) < 0)
		return -1;
	return take_body(a, n - head);
}
