/* SPDX-License-Identifier: MIT */
/*
 * loopback: sockets and the clock of the benchmark programs.
 *
 * They put thousands of connections on whatever they are pointed at, so they
 * can only be pointed at this machine: an address is one of 127.0.0.0/8.
 */
#ifndef AB_BENCH_LOOPBACK_H
#define AB_BENCH_LOOPBACK_H

#include <netinet/in.h>
#include <stdint.h>

#include "base/span.h"

/* CLOCK_MONOTONIC: the same clock in all processes, so logs can be joined. */
uint64_t loopback_now_ns(void);

/* 127.x.y.z:PORT. -1: anything else. */
AB_MUST int loopback_addr(const char *text, struct sockaddr_in *ret_addr);

/* Both return a non-blocking descriptor without Nagle's delay, or -1 and
 * errno. A dialled one may still be connecting. */
AB_MUST int loopback_listen(const struct sockaddr_in *at);
AB_MUST int loopback_dial(const struct sockaddr_in *to);

/* Takes all descriptors that the hard limit allows; returns how many. */
unsigned loopback_take_descriptors(void);

#endif
