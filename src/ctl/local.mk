# SPDX-License-Identifier: MIT
#
# abidectl but for its main, src/abidectl.c, which the Makefile names.
CTL_FILES = \
	src/ctl/args.c src/ctl/args.h \
	src/ctl/ca_cmd.h \
	src/ctl/ca_find.c src/ctl/ca_find.h \
	src/ctl/ca_init.c \
	src/ctl/ca_renew.c \
	src/ctl/ca_show.c \
	src/ctl/ctl.c src/ctl/ctl.h \
	src/ctl/newfile.c src/ctl/newfile.h \
	src/ctl/pem.c src/ctl/pem.h \
	src/ctl/presets_cmd.c src/ctl/presets_cmd.h \
	src/ctl/say.c src/ctl/say.h \
	src/ctl/trust.c src/ctl/trust.h
