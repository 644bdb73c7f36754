#!/bin/sh
# SPDX-License-Identifier: MIT
# A part of the cells of the comparison of tests/bench/pace, judged. Time is virtual and
# chance is seeded, so what is counted does not depend on the machine.
exec tests/bench/pace/pace --check
