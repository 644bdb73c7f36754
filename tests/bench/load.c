/* SPDX-License-Identifier: MIT */
/*
 * load: puts a bounded load on a proxy or on the origin itself, and prints on
 * one line what came of it and what it cost the process in the middle.
 *
 *   load [-m loop|fresh|park] [-x PROXY] [-t] [-s|-r] [-c WIDTH]
 *        [-n REQUESTS] [-w WARMUP] [-d SECONDS] [-p PID] ORIGIN PATH
 *
 *   loop   WIDTH connections, each asks again when it is answered
 *   fresh  the same with a connection for each request
 *   park   WIDTH connections, each asks once and stays, answered or not;
 *          measured is the memory that PID takes for them after SECONDS
 *   -x     through a proxy: absolute-form or, with -t, by CONNECT
 *   -s     https: TLS with ORIGIN or, in absolute-form, left to the proxy
 *   -r     the same, and each client takes its last TLS session up
 *   -n     ends when so many are answered, at the latest after SECONDS; park:
 *          SECONDS begin when so many are answered (0)
 *   -w     what is done before is not counted; nor is what a slow proxy needs
 *          until all connections are there
 *
 * PROXY and ORIGIN are 127.x.y.z:PORT. Decides how long and how much, and how
 * it is reported; the clients are in fleet.c.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cost.h"
#include "fleet.h"
#include "loopback.h"
#include "wire.h"

#define SECOND_NS 1e9
#define SECONDS_MAX 60.0
#define WIDTH_MAX 20000
#define REQUESTS_MAX 10000000
/* Descriptors that are not for clients. */
#define DESCRIPTORS_SPARE 16
/* All connections have to be there by then. */
#define ARRIVAL_NS UINT64_C(10000000000)
#define PARK_NS UINT64_C(30000000000)

enum mode { LOOP, FRESH, PARK };

struct load {
	enum mode mode;
	const char *proxy; /* NULL: none */
	const char *origin, *path;
	bool tunnel, secure;
	double warmup_s, measured_s;
	uint64_t nrequests; /* as given */
	pid_t pid;          /* 0: nobody's costs */
	struct fleet_cfg fleet;
	char knock[256], request[512];
};

static void
usage(void)
{
	(void)fputs(
	    "usage: load [-m loop|fresh|park] [-x PROXY] [-t] [-s|-r]\n"
	    "            [-c WIDTH] [-n REQUESTS] [-w WARMUP] [-d SECONDS]\n"
	    "            [-p PID]\n"
	    "            ORIGIN PATH\n",
	    stderr);
	exit(1);
}

static void
die(const char *what)
{
	(void)fprintf(stderr, "load: %s\n", what);
	exit(2);
}

static double
number(const char *text, double max)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= 0 && v <= max))
		usage();
	return v;
}

static enum mode
mode_of(const char *name)
{
	static const char *const names[] = {"loop", "fresh", "park"};

	for (unsigned i = 0; i < 3; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum mode)i;
	usage();
	return LOOP;
}

static void
read_options(struct load *l, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "m:x:tsrc:n:w:d:p:")) != -1) {
		switch (c) {
		case 'm':
			l->mode = mode_of(optarg);
			break;
		case 'x':
			l->proxy = optarg;
			break;
		case 't':
			l->tunnel = true;
			break;
		case 'r':
			l->fleet.resume = true;
			l->secure = true;
			break;
		case 's':
			l->secure = true;
			break;
		case 'c':
			l->fleet.width = (unsigned)number(optarg, WIDTH_MAX);
			break;
		case 'n':
			l->nrequests = (uint64_t)number(optarg, REQUESTS_MAX);
			break;
		case 'w':
			l->warmup_s = number(optarg, SECONDS_MAX);
			break;
		case 'd':
			l->measured_s = number(optarg, SECONDS_MAX);
			break;
		case 'p':
			l->pid = (pid_t)number(optarg, INT32_MAX);
			break;
		default:
			usage();
		}
	}
	if (argc - optind != 2 || l->fleet.width == 0)
		usage();
	l->origin = argv[optind];
	l->path = argv[optind + 1];
}

static struct span
text_of(char *buf, size_t room, int n)
{
	if (n < 0 || (size_t)n >= room)
		die("PATH is too long");
	return (struct span){buf, (size_t)n};
}

static void
write_requests(struct load *l)
{
	bool absolute = l->proxy != NULL && !l->tunnel;
	int n;

	n = snprintf(l->request, sizeof l->request,
	    "GET %s%s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: load\r\n"
	    "Accept: */*\r\n%s\r\n",
	    !absolute       ? ""
		: l->secure ? "https://"
			    : "http://",
	    absolute ? l->origin : "", l->path, l->origin,
	    l->mode == FRESH ? "Connection: close\r\n" : "");
	l->fleet.request = text_of(l->request, sizeof l->request, n);
	if (l->proxy == NULL || !l->tunnel)
		return;
	n = snprintf(l->knock, sizeof l->knock,
	    "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", l->origin, l->origin);
	l->fleet.knock = text_of(l->knock, sizeof l->knock, n);
}

static void
prepare(struct load *l)
{
	struct sockaddr_in origin;

	if (loopback_addr(l->origin, &origin) < 0)
		die("ORIGIN has to be 127.x.y.z:PORT");
	l->fleet.to = origin;
	if (l->proxy != NULL && loopback_addr(l->proxy, &l->fleet.to) < 0)
		die("PROXY has to be 127.x.y.z:PORT");
	if (loopback_take_descriptors() < l->fleet.width + DESCRIPTORS_SPARE)
		die("the limit on open files is below WIDTH (ulimit -n)");
	l->fleet.fresh = l->mode == FRESH;
	l->fleet.once = l->mode == PARK;
	l->fleet.max_requests = REQUESTS_MAX;
	if (l->mode == PARK)
		l->fleet.max_requests = l->fleet.width;
	else if (l->nrequests > 0)
		l->fleet.max_requests = l->nrequests;
	write_requests(l);
	if (!l->secure || (l->proxy != NULL && !l->tunnel))
		return;
	l->fleet.tls = wire_client();
	if (l->fleet.tls == NULL)
		die("no memory for TLS");
}

static void
run_until(struct fleet *f, uint64_t end_ns)
{
	while (loopback_now_ns() < end_ns && !fleet_done(f))
		fleet_turn(f, end_ns);
}

static uint64_t
cpu_ns(const struct load *l)
{
	uint64_t ns = 0;

	if (l->pid != 0 && cost_cpu_ns(l->pid, &ns) < 0)
		die("PID is gone");
	return ns;
}

static uint64_t
memory_bytes(const struct load *l)
{
	uint64_t bytes = 0;

	if (l->pid != 0 && cost_memory_bytes(l->pid, &bytes) < 0)
		die("the memory of PID can't be read");
	return bytes;
}

static void
print_tally(const struct fleet_tally *t)
{
	printf("answers=%" PRIu64 " refused=%" PRIu64 " broken=%" PRIu64,
	    t->answers, t->refused, t->broken);
}

static void
warm_up(const struct load *l, struct fleet *f)
{
	uint64_t start_ns = loopback_now_ns();

	if (l->warmup_s <= 0)
		return;
	run_until(f, start_ns + (uint64_t)(l->warmup_s * SECOND_NS));
	while (f->finished < l->fleet.width && !fleet_done(f) &&
	    loopback_now_ns() < start_ns + ARRIVAL_NS)
		fleet_turn(f, start_ns + ARRIVAL_NS);
	fleet_count_anew(f);
}

static void
measure_rate(const struct load *l, struct fleet *f)
{
	struct fleet_tally *t = &f->tally;
	uint64_t start_ns, used_ns;
	double took_s, done;

	warm_up(l, f);
	start_ns = loopback_now_ns();
	used_ns = cpu_ns(l);
	run_until(f, start_ns + (uint64_t)(l->measured_s * SECOND_NS));
	used_ns = cpu_ns(l) - used_ns;
	took_s = (double)(loopback_now_ns() - start_ns) / SECOND_NS;
	done = (double)(t->answers + t->refused);
	print_tally(t);
	printf(" dials=%" PRIu64 " seconds=%.3f rate=%.1f mb_s=%.1f", t->dials,
	    took_s, done / took_s, (double)t->bytes / 1e6 / took_s);
	printf(" p50_us=%" PRIu32 " p99_us=%" PRIu32 " max_us=%" PRIu32,
	    fleet_latency_us(f, 0.5), fleet_latency_us(f, 0.99),
	    fleet_latency_us(f, 1));
	printf(" shakes=%" PRIu64 " resumed=%" PRIu64, t->shakes, t->resumed);
	if (l->pid != 0 && done > 0)
		printf(" cpu_us=%.2f busy=%.3f", (double)used_ns / 1e3 / done,
		    (double)used_ns / SECOND_NS / took_s);
	printf("\n");
}

static void
measure_memory(const struct load *l, struct fleet *f)
{
	uint64_t before = memory_bytes(l), after, end_ns;
	uint64_t limit_ns = loopback_now_ns() + PARK_NS;

	while ((f->asked < l->fleet.width || f->finished < l->nrequests) &&
	    loopback_now_ns() < limit_ns && !fleet_done(f))
		fleet_turn(f, limit_ns);
	end_ns = loopback_now_ns() + (uint64_t)(l->measured_s * SECOND_NS);
	while (loopback_now_ns() < end_ns)
		fleet_turn(f, end_ns);
	after = memory_bytes(l);
	print_tally(&f->tally);
	printf(" asked=%" PRIu64
	       " before_kb=%.0f after_kb=%.0f each_bytes=%.0f\n",
	    f->asked, (double)before / 1024, (double)after / 1024,
	    ((double)after - (double)before) / l->fleet.width);
}

int
main(int argc, char **argv)
{
	struct load *l = mem_must_zalloc(sizeof *l);
	struct fleet f;

	(void)signal(SIGPIPE, SIG_IGN);
	l->measured_s = 1;
	l->fleet.width = 1;
	read_options(l, argc, argv);
	prepare(l);
	if (fleet_init(&f, &l->fleet) < 0)
		die("no memory, or no descriptors, for WIDTH connections");
	if (l->mode == PARK)
		measure_memory(l, &f);
	else
		measure_rate(l, &f);
	fleet_free(&f);
	SSL_CTX_free(l->fleet.tls);
	mem_free(l);
	return 0;
}
