# SPDX-License-Identifier: MIT

# AB_CFLAG(FLAGS, VARIABLE)
# Appends FLAGS to VARIABLE where the compiler takes them without a warning.
AC_DEFUN([AB_CFLAG], [
	AS_VAR_PUSHDEF([ab_cv], [ab_cv_cflag_$1])
	AC_CACHE_CHECK([whether $CC takes $1], [ab_cv], [
		ab_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS -Werror $1"
		AC_LINK_IFELSE([AC_LANG_PROGRAM],
			[AS_VAR_SET([ab_cv], [yes])],
			[AS_VAR_SET([ab_cv], [no])])
		CFLAGS=$ab_save_CFLAGS
	])
	AS_VAR_IF([ab_cv], [yes], [$2="$$2 $1"])
	AS_VAR_POPDEF([ab_cv])
])

# AB_LDFLAG(FLAGS, VARIABLE): the same for the linker.
AC_DEFUN([AB_LDFLAG], [
	AS_VAR_PUSHDEF([ab_cv], [ab_cv_ldflag_$1])
	AC_CACHE_CHECK([whether the linker takes $1], [ab_cv], [
		ab_save_LDFLAGS=$LDFLAGS
		LDFLAGS="$LDFLAGS $1"
		AC_LINK_IFELSE([AC_LANG_PROGRAM],
			[AS_VAR_SET([ab_cv], [yes])],
			[AS_VAR_SET([ab_cv], [no])])
		LDFLAGS=$ab_save_LDFLAGS
	])
	AS_VAR_IF([ab_cv], [yes], [$2="$$2 $1"])
	AS_VAR_POPDEF([ab_cv])
])
