# SPDX-License-Identifier: MIT

LINT_HELPERS = tests/lint/print_table
