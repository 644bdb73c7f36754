# SPDX-License-Identifier: MIT

UNIT_TESTS = \
	tests/unit/test_backoff \
	tests/unit/test_body \
	tests/unit/test_bucket \
	tests/unit/test_chunked \
	tests/unit/test_conf \
	tests/unit/test_conf_bad \
	tests/unit/test_conf_file \
	tests/unit/test_conf_override \
	tests/unit/test_conf_policy \
	tests/unit/test_dest \
	tests/unit/test_dial \
	tests/unit/test_expiry \
	tests/unit/test_forward \
	tests/unit/test_framing \
	tests/unit/test_hash \
	tests/unit/test_head \
	tests/unit/test_heap \
	tests/unit/test_hint \
	tests/unit/test_hints_doc \
	tests/unit/test_histogram \
	tests/unit/test_httpdate \
	tests/unit/test_instant \
	tests/unit/test_key \
	tests/unit/test_line \
	tests/unit/test_log \
	tests/unit/test_map \
	tests/unit/test_mem \
	tests/unit/test_operations_doc \
	tests/unit/test_origin_judge \
	tests/unit/test_origin_limit \
	tests/unit/test_origin_words \
	tests/unit/test_reply \
	tests/unit/test_resolve \
	tests/unit/test_resolve_cache \
	tests/unit/test_rng \
	tests/unit/test_rules \
	tests/unit/test_service \
	tests/unit/test_service_any \
	tests/unit/test_service_slow \
	tests/unit/test_span \
	tests/unit/test_strbuf \
	tests/unit/test_target \
	tests/unit/test_timer \
	tests/unit/test_verdict \
	tests/unit/test_verdict_failure
