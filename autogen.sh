#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes ./configure from configure.ac. Wanted once in a clone; a release
# tarball has it already.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all "$@"
