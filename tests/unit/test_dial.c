/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "resolve_rig.h"

#include "edge/dial.h"

/* Listeners share one port on different loopback addresses. */
/* clang-format off */
static const struct rig_rule rules[] = {
    {.name = "closed-open.test", .type = ns_t_a,
	.addrs = "127.0.1.1 127.0.1.2"},
    {.name = "closed-open.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "kept.test", .type = ns_t_a, .addrs = "127.0.1.1 127.0.1.2",
	.ttl_s = 60},
    {.name = "kept.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "last-open.test", .type = ns_t_a,
	.addrs = "127.0.1.3 127.0.1.4 127.0.1.5 127.0.1.6 127.0.1.7 "
		 "127.0.1.8 127.0.1.9 127.0.1.10 127.0.1.11 127.0.1.12 "
		 "127.0.1.13 127.0.1.14 127.0.1.15 127.0.1.16 127.0.1.17 "
		 "127.0.1.2"},
    {.name = "last-open.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "closed.test", .type = ns_t_a, .addrs = "127.0.1.1 127.0.1.3"},
    {.name = "closed.test", .type = ns_t_aaaa, .addrs = ""},
    /* TCP has no way to a broadcast address. */
    {.name = "no-way-closed.test", .type = ns_t_a,
	.addrs = "255.255.255.255 127.0.1.1"},
    {.name = "no-way-closed.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "closed-no-way.test", .type = ns_t_a,
	.addrs = "127.0.1.1 255.255.255.255"},
    {.name = "closed-no-way.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "open.test", .type = ns_t_a, .addrs = "127.0.1.2"},
    {.name = "open.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "silent.test", .type = ns_t_a, .addrs = "127.0.2.1"},
    {.name = "silent.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "silent-open.test", .type = ns_t_a,
	.addrs = "127.0.2.1 127.0.1.2"},
    {.name = "silent-open.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "silent-closed-open.test", .type = ns_t_a,
	.addrs = "127.0.2.1 127.0.1.1 127.0.1.2"},
    {.name = "silent-closed-open.test", .type = ns_t_aaaa, .addrs = ""},
    /* One address, so that all of its sockets meet one full backlog. */
    {.name = "five-silent.test", .type = ns_t_a,
	.addrs = "127.0.2.1 127.0.2.1 127.0.2.1 127.0.2.1 127.0.2.1 "
		 "127.0.1.2"},
    {.name = "five-silent.test", .type = ns_t_aaaa, .addrs = ""},
    {.name = "lame.test", .type = ns_t_a, .says = RIG_SERVFAIL},
    {.name = "lame.test", .type = ns_t_aaaa, .says = RIG_SERVFAIL},
    {.name = "mute.test", .type = ns_t_a, .says = RIG_SILENT},
    {.name = "mute.test", .type = ns_t_aaaa, .says = RIG_SILENT},
    {.name = NULL},
};
/* clang-format on */

#define DENIED_MAX 8

static struct dialer dialer;
static uint16_t port; /* of all listeners */
static int open_fd;   /* listens on 127.0.1.2 */
static int silent_fd; /* the same on 127.0.2.1, its backlog full */
static int filler_fd; /* fills it */

static struct {
	char addr[32]; /* not allowed; "" ends */
} denied[DENIED_MAX];
static unsigned nasked; /* calls of allowed() */

static struct outcome {
	unsigned told;
	int fd;
	enum dial_error err;
	int err_no;
	bool inside; /* dial_start is on the stack */
} out;

static bool
allowed(const struct sockaddr *sa, void *arg)
{
	const struct sockaddr_in *in = (const void *)sa;
	char text[32];

	assert_ptr_equal(arg, &out);
	if (sa->sa_family == AF_INET6) {
		nasked++;
		return true;
	}
	assert_int_equal(sa->sa_family, AF_INET);
	assert_int_equal(ntohs(in->sin_port), port);
	assert_non_null(inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)));
	nasked++;
	for (unsigned i = 0; i < DENIED_MAX && denied[i].addr[0]; i++) {
		if (strcmp(denied[i].addr, text) == 0)
			return false;
	}
	return true;
}

static void
on_done(struct dial *d, int fd, enum dial_error err, int err_no)
{
	assert_ptr_equal(d->arg, &out);
	assert_false(out.inside);
	out.told++;
	out.fd = fd;
	out.err = err;
	out.err_no = err_no;
}

static void
start_with(struct dial *d, const char *host,
    void (*done)(struct dial *d, int fd, enum dial_error err, int err_no))
{
	out = (struct outcome){.fd = -2, .inside = true};
	dial_start(d, &dialer, host, port, &out, done);
	out.inside = false;
	assert_int_equal(out.told, 0);
}

static void
start(struct dial *d, const char *host)
{
	start_with(d, host, on_done);
}

static void
assert_outcome(enum dial_error err, int err_no)
{
	assert_true(rig_until(&rig, &out.told, 1));
	assert_int_equal(out.err, err);
	assert_int_equal(out.err_no, err_no);
	assert_int_equal(out.fd >= 0, err == DIAL_OK);
	rig_settle(&rig);
	assert_int_equal(out.told, 1);
}

/* Connected to the listener at `addr`. */
static void
assert_connected(const char *addr)
{
	struct sockaddr_in sa;
	socklen_t n = sizeof(sa);

	assert_outcome(DIAL_OK, 0);
	assert_int_equal(getpeername(out.fd, (struct sockaddr *)&sa, &n), 0);
	assert_int_equal(ntohs(sa.sin_port), port);
	assert_int_equal(sa.sin_addr.s_addr, inet_addr(addr));
	assert_int_equal(close(out.fd), 0);
}

static void
assert_under_way(unsigned sockets, const struct dial *d)
{
	unsigned n = 0;

	rig_settle(&rig);
	assert_int_equal(out.told, 0);
	for (unsigned i = 0; i < DIAL_SOCKETS_MAX; i++)
		n += d->sockets[i].fd >= 0;
	assert_int_equal(n, sockets);
}

static unsigned
open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool
has_visitor(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static uint16_t own_port; /* of sockets not bound otherwise; 0: any */

/* Instead of the C library's. */
int
socket(int domain, int type, int protocol)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons(own_port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = (int)syscall(SYS_socket, domain, type, protocol);

	if (own_port != 0)
		assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)),
		    0);
	return fd;
}

/* --- listeners ------------------------------------------------------------ */

/* -1: the port is taken there. */
static int
listen_at(const char *addr, uint16_t at, int backlog)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons(at),
	    .sin_addr.s_addr = inet_addr(addr)};
	socklen_t n = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (bind(fd, (struct sockaddr *)&sa, n) != 0) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	port = ntohs(sa.sin_port);
	return fd;
}

/* One connection that nobody accepts is all that a backlog of 0 takes. */
static void
fill(void)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = inet_addr("127.0.2.1")};

	filler_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(filler_fd, (struct sockaddr *)&sa, sizeof(sa)),
	    0);
}

static int
set_up(void **state)
{
	(void)rig_set_up(state);
	rig_resolver(rules);
	dialer = (struct dialer){.base = rig.base,
	    .timers = &rig.timers,
	    .now_ms = &rig.now_ms,
	    .resolver = resolver,
	    .allowed = allowed};
	memset(denied, 0, sizeof(denied));
	nasked = 0;
	for (silent_fd = -1; silent_fd < 0;) {
		open_fd = listen_at("127.0.1.2", 0, 16);
		silent_fd = listen_at("127.0.2.1", port, 0);
		if (silent_fd < 0)
			(void)close(open_fd);
	}
	fill();
	return 0;
}

static int
tear_down(void **state)
{
	(void)close(open_fd);
	(void)close(silent_fd);
	(void)close(filler_fd);
	return rig_tear_down(state);
}

/* --- outcomes ------------------------------------------------------------- */

static void
open_port_connects(void **state)
{
	struct dial d;
	int on = 0;
	socklen_t n = sizeof(on);

	(void)state;
	start(&d, "127.0.1.2");
	assert_outcome(DIAL_OK, 0);
	assert_true(fcntl(out.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(out.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(getsockopt(out.fd, IPPROTO_TCP, TCP_NODELAY, &on, &n),
	    0);
	assert_int_equal(on, 1);
	assert_true(has_visitor(open_fd));
	dial_cancel(&d);
	assert_int_equal(close(out.fd), 0);
	assert_int_equal(d.state, DIAL_IDLE);
}

static void
outcome_table(void **state)
{
	static const struct {
		const char *host;
		enum dial_error err;
		int err_no;
	} t[] = {
	    {"127.0.1.1", DIAL_REFUSED, ECONNREFUSED},
	    {"closed.test.", DIAL_REFUSED, ECONNREFUSED},
	    {"255.255.255.255", DIAL_REFUSED, ENETUNREACH},
	    {"no-way-closed.test.", DIAL_REFUSED, ECONNREFUSED},
	    {"closed-no-way.test.", DIAL_REFUSED, ECONNREFUSED},
	    {"missing.test.", DIAL_NO_NAME, 0},
	    {"not a host", DIAL_NO_NAME, 0},
	    {"lame.test.", DIAL_DNS, 0},
	};
	struct dial d;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		start(&d, t[i].host);
		assert_outcome(t[i].err, t[i].err_no);
		dial_cancel(&d);
	}
}

static void
ipv6_connects(void **state)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6,
	    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t n = sizeof(sa);
	struct dial d;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, n) != 0) {
		(void)close(fd);
		skip(); /* IPv6 is turned off here */
	}
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	port = ntohs(sa.sin6_port);
	start(&d, "::1");
	assert_outcome(DIAL_OK, 0);
	assert_true(has_visitor(fd));
	assert_int_equal(nasked, 1);
	assert_int_equal(close(out.fd), 0);
	assert_int_equal(close(fd), 0);
}

static void
next_address_is_tried_at_once_after_a_failure(void **state)
{
	struct dial d;

	(void)state;
	start(&d, "closed-open.test.");
	assert_connected("127.0.1.2");
	assert_int_equal(nasked, 2);
}

static void
all_addresses_are_tried(void **state)
{
	struct dial d;

	(void)state;
	start(&d, "last-open.test.");
	assert_connected("127.0.1.2");
	assert_int_equal(nasked, 16);
}

/*
 * The kernel picks the very port that the connection leads to, as it does now
 * and then among thousands: here it has no choice.
 */
static void
connection_to_itself_is_none(void **state)
{
	struct dial d;

	(void)state;
	assert_int_equal(close(listen_at("127.0.0.1", 0, 0)), 0);
	own_port = port;
	start(&d, "127.0.0.1");
	assert_outcome(DIAL_REFUSED, ECONNREFUSED);
	own_port = 0;
}

/* --- the rule ------------------------------------------------------------- */

static void
deny(const char *addr)
{
	unsigned i = 0;

	while (denied[i].addr[0] != '\0')
		i++;
	(void)snprintf(denied[i].addr, sizeof(denied[i].addr), "%s", addr);
}

static void
denied_address_sees_nobody(void **state)
{
	struct dial d;

	(void)state;
	deny("127.0.1.2");
	start(&d, "closed-open.test.");
	assert_outcome(DIAL_REFUSED, ECONNREFUSED);
	assert_int_equal(nasked, 2);
	start(&d, "127.0.1.2");
	assert_outcome(DIAL_DENIED, 0);
	assert_false(has_visitor(open_fd));
}

static void
all_addresses_denied_is_denied(void **state)
{
	struct dial d;

	(void)state;
	deny("127.0.1.1");
	deny("127.0.1.2");
	start(&d, "closed-open.test.");
	assert_outcome(DIAL_DENIED, 0);
	assert_int_equal(nasked, 2);
	assert_false(has_visitor(open_fd));
}

static void
denied_addresses_are_passed_over(void **state)
{
	struct dial d;

	(void)state;
	deny("127.0.1.1");
	start(&d, "closed-open.test.");
	assert_connected("127.0.1.2");
}

/* --- the pace ------------------------------------------------------------- */

static void
second_address_starts_after_the_stagger(void **state)
{
	unsigned before = open_fds();
	struct dial d;

	(void)state;
	start(&d, "silent-open.test.");
	assert_under_way(1, &d);
	rig.now_ms += DIAL_STAGGER_MS - 1;
	assert_under_way(1, &d);
	rig.now_ms += 1;
	assert_connected("127.0.1.2");
	assert_int_equal(open_fds(), before);
	assert_int_equal(rig.timers.heap.n, 1); /* that of the resolver */
}

/* The failure of the second starts the third; the first is still silent. */
static void
failure_does_not_wait_for_the_stagger(void **state)
{
	struct dial d;

	(void)state;
	start(&d, "silent-closed-open.test.");
	assert_under_way(1, &d);
	rig.now_ms += DIAL_STAGGER_MS;
	assert_connected("127.0.1.2");
}

static void
oldest_of_too_many_makes_room(void **state)
{
	unsigned before = open_fds();
	int64_t begun_ms;
	struct dial d;

	(void)state;
	start(&d, "five-silent.test.");
	assert_under_way(1, &d);
	begun_ms = rig.now_ms;
	for (unsigned n = 2; n <= DIAL_SOCKETS_MAX; n++) {
		rig.now_ms += DIAL_STAGGER_MS;
		assert_under_way(n, &d);
	}
	assert_int_equal(d.next, 4);
	rig.now_ms = begun_ms + DIAL_PATIENCE_MS - 1;
	assert_under_way(4, &d);
	assert_int_equal(d.next, 4);
	rig.now_ms += 1;
	assert_under_way(4, &d);
	assert_int_equal(d.next, 5);
	/* The next oldest is as old as the first one was. */
	rig.now_ms += DIAL_STAGGER_MS - 1;
	assert_under_way(4, &d);
	rig.now_ms += 1;
	assert_connected("127.0.1.2");
	assert_int_equal(open_fds(), before);
}

/* --- cancelling ----------------------------------------------------------- */

static void
zeroed_dial_can_be_cancelled(void **state)
{
	static struct dial d;

	(void)state;
	dial_cancel(&d);
	assert_int_equal(d.state, DIAL_IDLE);
}

static void
assert_cancelled(struct dial *d, unsigned fds)
{
	dial_cancel(d);
	assert_int_equal(d->state, DIAL_IDLE);
	assert_int_equal(open_fds(), fds);
	memset(d, 0xa5, sizeof(*d)); /* nobody looks at it any more */
	rig_settle(&rig);
	rig.now_ms += TIMEOUT_MS;
	rig_settle(&rig);
	assert_int_equal(out.told, 0);
}

static void
cancel_while_resolving(void **state)
{
	struct dial d;

	(void)state;
	start(&d, "mute.test.");
	rig_settle(&rig);
	assert_int_equal(d.state, DIAL_RESOLVING);
	assert_cancelled(&d, open_fds());
}

static void
cancel_while_connecting(void **state)
{
	unsigned before = open_fds();
	struct dial d;

	(void)state;
	start(&d, "127.0.2.1");
	assert_under_way(1, &d);
	assert_int_equal(open_fds(), before + 1);
	assert_int_equal(rig.timers.heap.n, 1); /* nothing left to stagger */
	assert_cancelled(&d, before);
}

static void
cancel_between_staggered_starts(void **state)
{
	struct dial d;
	unsigned before;

	(void)state;
	/* Resolved once before, so that c-ares's sockets are not counted. */
	start(&d, "five-silent.test.");
	assert_under_way(1, &d);
	before = open_fds() - 1;
	rig.now_ms += DIAL_STAGGER_MS;
	assert_under_way(2, &d);
	assert_cancelled(&d, before);
}

static void
cancel_before_an_error_is_told(void **state)
{
	unsigned before = open_fds();
	struct dial d;

	(void)state;
	deny("127.0.1.2");
	start(&d, "127.0.1.2");
	assert_int_equal(d.state, DIAL_DONE);
	assert_cancelled(&d, before);
}

static struct event canceller;

/* Queued behind the socket, it comes to its turn before the report. */
static void
on_cancel(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;

	(void)fd;
	(void)what;
	if (d->state == DIAL_DONE)
		dial_cancel(d);
	else if (d->state == DIAL_CONNECTING && ++rig.ticks < 10)
		event_active(&canceller, EV_TIMEOUT, 0);
}

static void
cancel_before_the_connection_is_told(void **state)
{
	unsigned before = open_fds();
	struct pollfd p = {.events = POLLOUT};
	struct dial d;

	(void)state;
	start(&d, "127.0.1.2");
	for (unsigned i = 0; i < DIAL_SOCKETS_MAX; i++) {
		if (d.sockets[i].fd >= 0)
			p.fd = d.sockets[i].fd;
	}
	assert_int_equal(poll(&p, 1, 10000), 1);
	event_assign(&canceller, rig.base, -1, 0, on_cancel, &d);
	event_active(&canceller, EV_TIMEOUT, 0);
	rig.ticks = 0;
	(void)event_base_loop(rig.base, EVLOOP_ONCE);
	assert_int_equal(d.state, DIAL_IDLE);
	assert_true(has_visitor(open_fd));
	assert_int_equal(out.told, 0);
	assert_cancelled(&d, before);
}

static void
on_done_free(struct dial *d, int fd, enum dial_error err, int err_no)
{
	on_done(d, fd, err, err_no);
	memset(d, 0xa5, sizeof(*d));
	mem_free(d);
}

static void
told_dial_may_be_freed(void **state)
{
	static const char *const hosts[] = {"closed-open.test.", "closed.test.",
	    "missing.test.", "127.0.1.2"};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		start_with(mem_must_zalloc(sizeof(struct dial)), hosts[i],
		    on_done_free);
		assert_true(rig_until(&rig, &out.told, 1));
		rig_settle(&rig);
		if (out.fd >= 0)
			assert_int_equal(close(out.fd), 0);
	}
}

/* --- shortage ------------------------------------------------------------- */

static void
no_descriptors_is_told_apart(void **state)
{
	struct rlimit old, now;
	struct dial d;
	int next = dup(0);

	(void)state;
	assert_true(next >= 0);
	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	now = old;
	now.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	start(&d, "127.0.1.2");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_outcome(DIAL_NO_FILES, EMFILE);
	start(&d, "127.0.1.2");
	assert_connected("127.0.1.2");
}

static void
no_memory_for_the_question_is_told(void **state)
{
	struct dial d;

	(void)state;
	mem_fail_at(1, true);
	start(&d, "open.test.");
	assert_outcome(DIAL_NO_MEMORY, 0);
	mem_fail_at(0, false);
	start(&d, "open.test.");
	assert_connected("127.0.1.2");
}

static void
never(struct timer *t, int64_t now_ms)
{
	(void)t;
	(void)now_ms;
	fail();
}

/* No room in the timer heap: no stagger, but failures still lead on. */
static void
no_memory_for_the_timer_tries_all_the_same(void **state)
{
	static struct timer v[1024];
	unsigned n = 0;
	struct dial d;
	struct asker a;

	(void)state;
	assert_int_equal(ask(&a, "kept.test."), 0);
	assert_true(rig_until(&rig, &a.told, 1));
	while (rig.timers.heap.n < rig.timers.heap.cap) {
		timer_init(&v[n], never);
		assert_int_equal(timer_arm(&rig.timers, &v[n], INT64_MAX - 1),
		    0);
		n++;
	}
	mem_fail_at(1, true);
	start(&d, "kept.test.");
	rig.ticks = 0;
	while (out.told == 0 && rig.ticks < 50)
		rig_turn(&rig);
	mem_fail_at(0, false);
	while (n > 0)
		timer_stop(&rig.timers, &v[--n]);
	assert_connected("127.0.1.2");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(open_port_connects),
	    TEST(outcome_table),
	    TEST(ipv6_connects),
	    TEST(next_address_is_tried_at_once_after_a_failure),
	    TEST(all_addresses_are_tried),
	    TEST(connection_to_itself_is_none),
	    TEST(denied_address_sees_nobody),
	    TEST(all_addresses_denied_is_denied),
	    TEST(denied_addresses_are_passed_over),
	    TEST(second_address_starts_after_the_stagger),
	    TEST(failure_does_not_wait_for_the_stagger),
	    TEST(oldest_of_too_many_makes_room),
	    TEST(zeroed_dial_can_be_cancelled),
	    TEST(cancel_while_resolving),
	    TEST(cancel_while_connecting),
	    TEST(cancel_between_staggered_starts),
	    TEST(cancel_before_an_error_is_told),
	    TEST(cancel_before_the_connection_is_told),
	    TEST(told_dial_may_be_freed),
	    TEST(no_descriptors_is_told_apart),
	    TEST(no_memory_for_the_question_is_told),
	    TEST(no_memory_for_the_timer_tries_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
