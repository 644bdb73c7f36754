/* SPDX-License-Identifier: MIT */
/*
 * octet.c: the table of byte classes. It decides nothing else, and refuses to
 * know where the bytes stand.
 */
#include "proto/octet.h"

/* clang-format off */
#define H (OCTET_TOKEN | OCTET_VISIBLE | OCTET_TEXT | OCTET_HOST)
#define T (OCTET_TOKEN | OCTET_VISIBLE | OCTET_TEXT)
#define N (OCTET_VISIBLE | OCTET_TEXT | OCTET_HOST)
#define V (OCTET_VISIBLE | OCTET_TEXT)
#define S OCTET_TEXT
#define S16 S, S, S, S, S, S, S, S, S, S, S, S, S, S, S, S
const uint8_t octet_classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, S, 0, 0, 0, 0, 0, 0, /* HTAB */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	S, H, V, T, H, T, H, H, N, N, H, H, N, H, H, V, /* SP !"#$%&'()*+,-./ */
	H, H, H, H, H, H, H, H, H, H, V, N, V, N, V, V, /* 0-9 :;<=>? */
	V, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, /* @ A-O */
	H, H, H, H, H, H, H, H, H, H, H, V, V, V, T, H, /* P-Z [\]^_ */
	T, H, H, H, H, H, H, H, H, H, H, H, H, H, H, H, /* ` a-o */
	H, H, H, H, H, H, H, H, H, H, H, V, T, V, H, 0, /* p-z {|}~ DEL */
	S16, S16, S16, S16, S16, S16, S16, S16,
};
/* clang-format on */
