/* SPDX-License-Identifier: MIT */
/*
 * tls_wire decides how what OpenSSL wants to read and write becomes calls of a
 * chan, or of the session that this one runs in. It refuses to know what the
 * bytes are.
 */
#include "tls_wire.h"

#include <pthread.h>

#include "base/mem.h"
#include "chan.h"

/* Enough for a record, and for what may come before it. Who sends without end
 * what bears no data, such as new keys, has to wait for its next turn. */
#define TURN_BYTES (64 * 1024)

static int
wire_read(BIO *b, char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	ssize_t got;

	BIO_clear_retry_flags(b);
	if (t->early) {
		size_t left = t->early_n - t->early_at;

		if (left > (size_t)n)
			left = (size_t)n;
		memcpy(p, t->early + t->early_at, left);
		t->early_at += left;
		if (t->early_at == t->early_n) {
			mem_free(t->early);
			t->early = NULL;
		}
		return (int)left;
	}
	if (t->taken >= TURN_BYTES && t->chan->later) {
		t->chan->later(t->chan);
		BIO_set_retry_read(b);
		return -1;
	}
	got = t->below ? tls_read(t->below, p, (size_t)n)
		       : chan_wire_read(t->chan, p, (size_t)n);
	if (got > 0) {
		t->taken += (size_t)got;
		return (int)got;
	}
	if (got == CHAN_AGAIN)
		BIO_set_retry_read(b);
	else if (got == 0)
		t->end = true;
	else
		t->lost = true;
	return got == 0 ? 0 : -1;
}

static int
wire_write(BIO *b, const char *p, int n)
{
	struct tls *t = BIO_get_data(b);
	struct iovec v = {(char *)p, (size_t)n};
	ssize_t done;

	BIO_clear_retry_flags(b);
	done = t->below ? tls_writev(t->below, &v, 1)
			: chan_wire_writev(t->chan, &v, 1);
	if (done > 0)
		return (int)done;
	if (done == 0)
		BIO_set_retry_write(b);
	else
		t->mute = true;
	return -1;
}

static long
wire_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	const struct tls *t = BIO_get_data(b);

	(void)num;
	(void)ptr;
	switch (cmd) {
	case BIO_CTRL_FLUSH:
		return 1;
	case BIO_CTRL_EOF:
		return t->end;
	default:
		return 0;
	}
}

static BIO_METHOD *wire_method;

static void
make_wire_method(void)
{
	wire_method =
	    BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "chan");
	if (!wire_method)
		return;
	(void)BIO_meth_set_read(wire_method, wire_read);
	(void)BIO_meth_set_write(wire_method, wire_write);
	(void)BIO_meth_set_ctrl(wire_method, wire_ctrl);
}

BIO *
tls_wire_new(struct tls *t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	BIO *b;

	(void)pthread_once(&once, make_wire_method);
	b = wire_method ? BIO_new(wire_method) : NULL;
	if (!b)
		return NULL;
	BIO_set_data(b, t);
	BIO_set_init(b, 1);
	return b;
}
