/* SPDX-License-Identifier: MIT */
/*
 * crc: CRC-32 as of gzip and PNG (ISO 3309; reflected, polynomial 0x04C11DB7),
 * so that any language's zlib can tell whether a replayed body was the same.
 */
#ifndef AB_ORIGIN_CRC_H
#define AB_ORIGIN_CRC_H

#include "base/span.h"

/* Goes on from crc; 0 at the start. */
uint32_t crc32_add(uint32_t crc, struct span s);

#endif
