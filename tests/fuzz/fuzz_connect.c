/* SPDX-License-Identifier: MIT */
/*
 * fuzz_connect: any bytes as a proxy's answer to CONNECT.
 *
 * The first byte says in what pieces they come. However they come the verdict
 * is one, and so is the place where the tunnel's bytes begin: nothing behind
 * it is ever used up.
 */
#include <stdlib.h>

#include "proto/connect.h"

#define CHECK(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct head_limits limits = {.head_bytes = 1024,
    .line_bytes = 1024,
    .fields = 8};

static struct head head;

struct verdict {
	enum connect_result res;
	int status;
	size_t used; /* in all */
};

/* As its owner reads: what is used goes, what is left stays and grows. */
static struct verdict
read_in_steps(const char *p, size_t n, size_t step)
{
	struct connect_answer a = {.interims = 0};
	struct verdict v = {CONNECT_AGAIN, 0, 0};
	const char *why = NULL;
	size_t to = 0, used;

	do {
		to = n - to < step ? n : to + step;
		v.res = connect_read(&a, p + v.used, to - v.used, &limits,
		    &head, &used, &why);
		CHECK(used <= to - v.used);
		v.used += used;
	} while (v.res == CONNECT_AGAIN && to < n);
	CHECK((v.res == CONNECT_BAD) == (why != NULL));
	CHECK(v.res != CONNECT_AGAIN || n - v.used < limits.head_bytes);
	if (v.res == CONNECT_OPEN || v.res == CONNECT_REFUSED)
		v.status = head.status;
	CHECK(v.res != CONNECT_OPEN || v.status / 100 == 2);
	CHECK(v.res != CONNECT_REFUSED || v.status >= 300);
	return v;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data + 1;
	struct verdict whole, cut;

	if (size < 1)
		return 0;
	whole = read_in_steps(p, size - 1, size);
	cut = read_in_steps(p, size - 1, data[0] % 64 + 1u);
	CHECK(whole.res == cut.res && whole.status == cut.status);
	CHECK(whole.res == CONNECT_BAD || whole.used == cut.used);
	return 0;
}
