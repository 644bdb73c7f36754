/* SPDX-License-Identifier: MIT */
/*
 * loopback.c: sockets for the benchmark programs.
 *
 * Decides that nothing here leaves the machine. Knows no HTTP.
 */
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 4096

uint64_t
loopback_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int
loopback_addr(const char *text, struct sockaddr_in *ret_addr)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN], *end;
	unsigned long port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		return -1;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	port = strtoul(colon + 1, &end, 10);
	if (end == colon + 1 || *end != '\0' || port > 65535)
		return -1;
	a.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1 ||
	    ntohl(a.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
		return -1;
	*ret_addr = a;
	return 0;
}

static int
open_socket(void)
{
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
		    sizeof one);
	return fd;
}

int
loopback_listen(const struct sockaddr_in *at)
{
	int one = 1;
	int fd = open_socket();

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)at, sizeof *at) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

int
loopback_dial(const struct sockaddr_in *to)
{
	int fd = open_socket();

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	(void)close(fd);
	return -1;
}

unsigned
loopback_take_descriptors(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return 0;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur > UINT32_MAX ? UINT32_MAX : (unsigned)r.rlim_cur;
}
