# SPDX-License-Identifier: MIT
POLICY_FILES = \
	src/policy/adapt.c src/policy/adapt.h \
	src/policy/backoff.c src/policy/backoff.h \
	src/policy/bucket.c src/policy/bucket.h \
	src/policy/budget.c src/policy/budget.h \
	src/policy/decimal.c src/policy/decimal.h \
	src/policy/expiry.c src/policy/expiry.h \
	src/policy/hint.c src/policy/hint.h \
	src/policy/hint_form.c src/policy/hint_form.h \
	src/policy/hint_limit.c src/policy/hint_limit.h \
	src/policy/hint_name.c src/policy/hint_name.h \
	src/policy/hint_text.c \
	src/policy/instant.c src/policy/instant.h \
	src/policy/json_path.c src/policy/json_path.h \
	src/policy/lesson.c src/policy/lesson.h \
	src/policy/line.c src/policy/line.h \
	src/policy/pattern.c src/policy/pattern.h \
	src/policy/policy.h \
	src/policy/quota.c src/policy/quota.h \
	src/policy/reading.c src/policy/reading.h \
	src/policy/rules.c src/policy/rules.h \
	src/policy/service.c src/policy/service.h \
	src/policy/template.c src/policy/template.h \
	src/policy/verdict.c src/policy/verdict.h \
	src/policy/when.c src/policy/when.h \
	src/policy/when_match.c src/policy/when_match.h \
	src/policy/when_parse.c \
	src/policy/when_view.c src/policy/when_view.h
