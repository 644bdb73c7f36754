# SPDX-License-Identifier: MIT
#
# tests/fuzz/fuzz_NAME.c, and its corpus in tests/fuzz/corpus/NAME/.

FUZZ_TARGETS = \
	tests/fuzz/fuzz_basic \
	tests/fuzz/fuzz_chunked \
	tests/fuzz/fuzz_coding \
	tests/fuzz/fuzz_conf \
	tests/fuzz/fuzz_connect \
	tests/fuzz/fuzz_expiry \
	tests/fuzz/fuzz_head \
	tests/fuzz/fuzz_hello \
	tests/fuzz/fuzz_hint \
	tests/fuzz/fuzz_httpdate \
	tests/fuzz/fuzz_rewrite \
	tests/fuzz/fuzz_script_pattern \
	tests/fuzz/fuzz_target \
	tests/fuzz/fuzz_when
