# SPDX-License-Identifier: MIT
#
# The player of scenarios; tests/sim/README.md is their language.

SIM_FILES = \
	tests/sim/action.c \
	tests/sim/expect.c tests/sim/expect.h \
	tests/sim/expect_check.h \
	tests/sim/expect_jobs.c \
	tests/sim/expect_parse.c \
	tests/sim/expect_tries.c \
	tests/sim/invariant.c \
	tests/sim/job.c \
	tests/sim/limit.c \
	tests/sim/origin.c \
	tests/sim/ports.c \
	tests/sim/scene.c tests/sim/scene.h \
	tests/sim/scene_action.c \
	tests/sim/scene_upstream.c \
	tests/sim/settings.c tests/sim/settings.h \
	tests/sim/sim.c \
	tests/sim/words.c tests/sim/words.h \
	tests/sim/world.c tests/sim/world.h
