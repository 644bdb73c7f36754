/* SPDX-License-Identifier: MIT */
/*
 * ca_cmd: the commands about the user's own CA (edge/ca.h). Each one returns an
 * enum ctl_exit, and has said on standard error what is wrong.
 */
#ifndef AB_CA_CMD_H
#define AB_CA_CMD_H

#include <openssl/x509.h>
#include <stdio.h>

#include "ctl/args.h"

struct ca_find;

AB_MUST int ca_cmd_init(const struct args *args);
AB_MUST int ca_cmd_show(const struct args *args);
AB_MUST int ca_cmd_export(const struct args *args);
AB_MUST int ca_cmd_renew(const struct args *args);

/* Are there hosts that a CA may be for? Warns where they are all there are. */
AB_MUST int ca_cmd_check_hosts(const struct ca_find *f);

/* What a CA's certificate says: name, fingerprint, dates, and for which hosts
 * it may sign. */
void ca_cmd_print(X509 *cert, FILE *to);

#endif
