/* SPDX-License-Identifier: MIT */
/*
 * exchange_ports decides nothing: each function is one port of the engine, put
 * into practice with an exchange's two connections.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "access.h"
#include "client.h"
#include "heartbeat.h"
#include "relay.h"
#include "script.h"
#include "upstream.h"

static void
port_start(struct request *r, bool fresh)
{
	upstream_start(exchange_of(r), fresh);
}

static void
port_discard(struct request *r)
{
	struct exchange *x = exchange_of(r);

	if (x->up)
		upstream_discard(x->up);
}

static void
port_abort(struct request *r)
{
	struct exchange *x = exchange_of(r);

	if (x->up)
		upstream_close(x->up);
}

static void
port_relay(struct request *r)
{
	heartbeat_end(exchange_of(r));
	relay_begin(exchange_of(r));
}

static void
port_answer(struct request *r, const struct answer *a)
{
	struct exchange *x = exchange_of(r);

	heartbeat_end(x);
	if (x->client)
		client_answer(x->client, x, a, NULL);
	else
		request_answered(r);
}

static void
port_cut(struct request *r)
{
	struct exchange *x = exchange_of(r);

	if (x->up)
		upstream_close(x->up);
	if (x->client)
		client_cut(x->client, x->to_client.kind == FRAMING_CLOSE);
}

static void
port_want_body(struct request *r)
{
	struct exchange *x = exchange_of(r);
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec v = {(char *)go_on, sizeof(go_on) - 1};

	/* A client that has begun to send does not wait for leave. */
	if (x->expect && x->client->in_n == 0 &&
	    client_send(x->client, &v, 1) < 0)
		return;
	x->expect = false;
	client_read_body(x->client);
}

static void
port_parked(struct request *r)
{
	struct exchange *x = exchange_of(r);

	access_parked(x);
	heartbeat_begin(x);
	if (x->client)
		client_parked(x->client);
}

static void
port_reap(struct request *r)
{
	struct exchange *x = exchange_of(r);

	access_finished(x);
	exchange_free(x);
}

static int
port_custom(struct request *r, const struct custom_ctx *c,
    struct custom_wait *ret)
{
	struct exchange *x = exchange_of(r);

	return script_ask(x->service, r->key->label, rng_next(&x->worker->rng),
	    c, ret);
}

static double
port_random(struct engine *e)
{
	return rng_unit(&worker_of(e)->rng);
}

static int64_t
port_wall_ms(struct engine *e)
{
	(void)e;
	return clock_wall_ms();
}

static void
port_wake(struct engine *e)
{
	worker_wake(worker_of(e));
}

static int
port_spill_open(struct engine *e)
{
	const char *dir = worker_of(e)->conf->spill_dir;
	char name[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 ||
	    (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	/* A file system without O_TMPFILE: a name, gone at once. */
	if (snprintf(name, sizeof(name), "%s/abided.XXXXXX", dir) >=
	    (int)sizeof(name))
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

static int
port_spill_write(struct engine *e, int fd, const void *p, size_t n, uint64_t at)
{
	const char *from = p;
	ssize_t done;

	(void)e;
	while (n > 0) {
		done = pwrite(fd, from, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		from += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int
port_spill_read(struct engine *e, int fd, void *p, size_t n, uint64_t at)
{
	char *to = p;
	ssize_t done;

	(void)e;
	while (n > 0) {
		done = pread(fd, to, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		to += done;
		at += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static void
port_spill_close(struct engine *e, int fd)
{
	(void)e;
	(void)close(fd);
}

const struct ports exchange_ports = {
    .start = port_start,
    .discard = port_discard,
    .abort = port_abort,
    .relay = port_relay,
    .answer = port_answer,
    .cut = port_cut,
    .want_body = port_want_body,
    .parked = port_parked,
    .reap = port_reap,
    .custom = port_custom,
    .random = port_random,
    .wall_ms = port_wall_ms,
    .wake = port_wake,
    .spill_open = port_spill_open,
    .spill_write = port_spill_write,
    .spill_read = port_spill_read,
    .spill_close = port_spill_close,
};
