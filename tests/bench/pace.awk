# SPDX-License-Identifier: MIT
#
# Judges the origin's ledger (arrivals in microseconds) against a pace.
# -v rate=PER_SECOND, 0: none; -v burst=N; -v of=release|bucket.
#
# release: the i-th arrival after the hold (from 0) is due i / rate after its
# end; without a rate all are due at its end. bucket: in no second may there be
# more than rate + burst of them; utilisation is what came, beside the burst, of
# what the rate gives.

function quantile(list, n, q) {
	return list[int((n - 1) * q + 1.5)]
}

function sorted(list, n,    i, j, t, gap) {
	for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
		for (i = gap + 1; i <= n; i++) {
			t = list[i]
			for (j = i; j > gap && list[j - gap] > t; j -= gap)
				list[j] = list[j - gap]
			list[j] = t
		}
}

function print_release(    i, late, early) {
	early = count["early"]
	for (i = 1; i <= n; i++) {
		late[i] = at[i] - (rate > 0 ? (i - 1) * 1e6 / rate : 0)
		if (at[i] < 0)
			early++
	}
	sorted(late, n)
	printf "%d let go, %d early; late by p50 %.1f ms, p99 %.1f ms," \
	    " most %.1f ms; all gone after %.2f s\n", n, early,
	    quantile(late, n, 0.5) / 1e3, quantile(late, n, 0.99) / 1e3,
	    late[n] / 1e3, at[n] / 1e6
}

function print_bucket(    i, first, worst) {
	first = 1
	for (i = 1; i <= n; i++) {
		while (at[i] - at[first] >= 1e6)
			first++
		if (i - first + 1 > worst)
			worst = i - first + 1
	}
	printf "%d in %.2f s; worst second %d, %+d against rate + burst;" \
	    " utilisation %.3f\n", n, (at[n] - at[1]) / 1e6, worst,
	    worst - rate - burst, (n - burst) / ((at[n] - at[1]) / 1e6) / rate
}

NF == 2 {
	count[$1] = $2
	next
}
{
	at[++n] = $1 + 0
}

END {
	if (n < 2 || count["lost"] > 0)
		print "no figures: " n + 0 " arrivals, " count["lost"] + 0 " lost"
	else if (of == "release")
		print_release()
	else
		print_bucket()
}
