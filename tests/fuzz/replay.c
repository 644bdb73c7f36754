/* SPDX-License-Identifier: MIT */
/*
 * replay: a main() for the fuzz targets where no fuzzer is linked.
 *
 * It feeds every file of the corpus to the target once, in the order of their
 * names, and reports each as a TAP line: so each input that ever mattered is an
 * ordinary test under every compiler. A target says what it found wrong by
 * ending the process; the line that is missing then names the input.
 *
 * Arguments are files; without any, it is the whole of
 * $top_srcdir/tests/fuzz/corpus/NAME for the target fuzz_NAME.
 */
#include <dirent.h>
#include <err.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input in a block of its exact size, so that a sanitizer sees the edge. */
static void
replay_file(const char *path, int number)
{
	FILE *f = fopen(path, "rb");
	if (!f || fseek(f, 0, SEEK_END) != 0)
		err(1, "%s", path);
	long n = ftell(f);
	if (n < 0)
		err(1, "%s", path);
	rewind(f);
	size_t size = (size_t)n;
	uint8_t *data = malloc(size ? size : 1);
	if (!data || fread(data, 1, size, f) != size)
		err(1, "%s", path);
	(void)fclose(f);

	printf("# %s\n", path);
	(void)fflush(stdout);
	(void)LLVMFuzzerTestOneInput(data, size);
	const char *name = strrchr(path, '/');
	printf("ok %d - %s\n", number, name ? name + 1 : path);
	free(data);
}

static int
replay_is_input(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void
replay_corpus(const char *argv0)
{
	const char *top = getenv("top_srcdir");
	const char *name = strstr(argv0, "fuzz_");
	if (!name)
		errx(1, "%s: no fuzz_NAME", argv0);
	char dir[PATH_MAX], path[2 * PATH_MAX];
	(void)snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s",
	    top ? top : ".", name + strlen("fuzz_"));

	struct dirent **v;
	int n = scandir(dir, &v, replay_is_input, alphasort);
	if (n < 0)
		err(1, "%s", dir);
	if (n == 0)
		errx(1, "%s: no input there", dir);
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, v[i]->d_name);
		replay_file(path, i + 1);
		free(v[i]);
	}
	free(v);
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		replay_corpus(argv[0]);
		return 0;
	}
	printf("1..%d\n", argc - 1);
	for (int i = 1; i < argc; i++)
		replay_file(argv[i], i);
	return 0;
}
