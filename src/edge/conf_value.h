/* SPDX-License-Identifier: MIT */
/*
 * conf_value: what one word of the configuration means: numbers with units,
 * rates, addresses, blocks. Text in, number out; it knows no option and no
 * file. Internal to the configuration and to dest.c, which applies it.
 *
 * All return 0, or -1 with *ret_why (static): what is wrong with the text.
 */
#ifndef AB_CONF_VALUE_H
#define AB_CONF_VALUE_H

#include "edge/conf.h"

/* Digits only. More than UINT64_MAX saturates. */
AB_MUST int value_count(struct span s, uint64_t *ret, const char **ret_why);
/* ms, s, min, h, d; a decimal fraction that comes out as whole ms; 0 needs no
 * unit. At most 10^9 of the unit. */
AB_MUST int value_duration(struct span s, int64_t *ret_ms,
    const char **ret_why);
/* B, KiB, MiB, GiB; a decimal fraction that comes out as whole bytes; 0 needs
 * no unit. At most 10^9 of the unit. */
AB_MUST int value_size(struct span s, uint64_t *ret_bytes,
    const char **ret_why);
/* yes, no; on, off; true, false. */
AB_MUST int value_flag(struct span s, bool *ret, const char **ret_why);
/* "90/min", "1.5/s", "90/min burst 10". *ret is in lowest terms; its burst is
 * 0 where none is given. */
AB_MUST int value_rate(struct span s, struct bucket_rate *ret,
    const char **ret_why);
AB_MUST int value_port(struct span s, uint16_t *ret, const char **ret_why);

/* "10.0.0.1", "::1": one address, IPv4 mapped. */
AB_MUST int value_address(struct span s, struct in6_addr *ret,
    const char **ret_why);
/* An address or a block "10.0.0.0/8". Bits beyond the prefix are an error. */
AB_MUST int value_net(struct span s, struct conf_net *ret,
    const char **ret_why);
/* HOST:PORT or [v6]:PORT with a literal address. default_port < 0: a port must
 * be given. min_port: 0 or 1. Without a port v6 needs no brackets. */
AB_MUST int value_endpoint(struct span s, int default_port, int min_port,
    struct in6_addr *ret_addr, uint16_t *ret_port, const char **ret_why);

/* A host pattern that is no wildcard, without brackets; *ret_port 0: it names
 * no port. */
AB_MUST int value_plain_host(struct span s, struct span *ret_host,
    uint16_t *ret_port, const char **ret_why);

/* Takes the next item off a comma separated list, trimmed; empty ones are
 * skipped. False at the end. Quotes mean nothing here. */
bool value_next_item(struct span *rest, struct span *ret_item);

/* An RFC 9110 token, as field names are. */
bool value_is_token(struct span s);

/* The same units the other way round, for people: "1500ms", "1min", "64KiB". */
void value_put_duration(struct strbuf *b, int64_t ms);
void value_put_size(struct strbuf *b, uint64_t bytes);

#endif
