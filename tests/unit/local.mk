# SPDX-License-Identifier: MIT

UNIT_TESTS =
