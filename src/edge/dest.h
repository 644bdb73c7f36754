/* SPDX-License-Identifier: MIT */
/*
 * dest: who may talk to us and where a request may go, asked with what a
 * connection has in hand: socket addresses, hosts, ports. The lists are the
 * configuration's (conf.h); what an address may hide is known here.
 */
#ifndef AB_DEST_H
#define AB_DEST_H

#include "conf.h"

/* allow_clients. Peers of a unix socket are let in by its file mode. */
bool dest_client_allowed(const struct conf *c, const struct sockaddr *sa);

/*
 * May a request go to a host of that name (without brackets, any case)? True
 * with *ret_forced: the name is in allow_destinations, whatever it resolves to.
 * True without: each of its addresses is asked for by dest_addr_allowed.
 * A literal address is a name here, and an address as well.
 */
bool dest_host_allowed(const struct conf *c, struct span host, uint16_t port,
    bool *ret_forced);

/*
 * May a connection be made there? An address that carries an IPv4 address
 * (mapped, NAT64, 6to4, ...) leads to that one: both are asked for.
 */
bool dest_addr_allowed(const struct conf *c, const struct sockaddr *sa);

/*
 * A host that is an address and not a name: 127.0.0.1, ::1 (without brackets).
 * IPv4 comes as a mapped one.
 */
bool dest_literal(struct span host, struct in6_addr *ret);

/*
 * For a host that another proxy will look up: false where what it is can be
 * told without, a literal address or this machine's own name (RFC 6761 6.3),
 * and may not be reached.
 */
bool dest_unresolved_allowed(const struct conf *c, struct span host);

/*
 * Is it one of our own listeners? A wildcard listener is met by any loopback
 * address.
 */
bool dest_is_self(const struct conf *c, const struct sockaddr *sa);
/* The same for a host, as far as that can be told without asking for it: of a
 * literal address (without brackets) and of "localhost". */
bool dest_host_is_self(const struct conf *c, struct span host, uint16_t port);

/*
 * May CONNECT go there? connect_ports, and a port that the service of this host
 * names for it ("hosts = api.example.com:8443").
 */
bool dest_connect_port_allowed(const struct conf *c, struct span host,
    uint16_t port);

#endif
