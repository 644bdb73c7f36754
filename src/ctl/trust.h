/* SPDX-License-Identifier: MIT */
/* trust: how programs come to trust a CA. */
#ifndef AB_TRUST_H
#define AB_TRUST_H

#include <stdio.h>

/* Commands to copy, with the path of its certificate in them. */
void trust_print(const char *cert, FILE *to);

#endif
