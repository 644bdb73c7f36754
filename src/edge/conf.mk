# SPDX-License-Identifier: MIT
CONF_FILES = \
	src/edge/conf.c \
	src/edge/conf.h \
	src/edge/conf_build.c \
	src/edge/conf_build.h \
	src/edge/conf_check.c \
	src/edge/conf_draft.c \
	src/edge/conf_draft.h \
	src/edge/conf_file.c \
	src/edge/conf_file.h \
	src/edge/conf_line.c \
	src/edge/conf_line.h \
	src/edge/conf_lookup.c \
	src/edge/conf_net.c \
	src/edge/conf_override.c \
	src/edge/conf_pool.c \
	src/edge/conf_pool.h \
	src/edge/conf_preset.c \
	src/edge/conf_preset.h \
	src/edge/conf_print.c \
	src/edge/conf_problem.c \
	src/edge/conf_problem.h \
	src/edge/conf_set.c \
	src/edge/conf_set.h \
	src/edge/conf_set_learn.c \
	src/edge/conf_set_policy.c \
	src/edge/conf_set_proxy.c \
	src/edge/conf_set_tls.c \
	src/edge/conf_set_when.c \
	src/edge/conf_table.c \
	src/edge/conf_table.h \
	src/edge/conf_value.c \
	src/edge/conf_value.h \
	src/edge/preset.c \
	src/edge/preset.h
