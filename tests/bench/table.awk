# SPDX-License-Identifier: MIT
#
# The table of one row of run.sh. Input: NAME ROUND KEY=VALUE...; a line for
# each measurement. -v names="direct abided ...": what to print, in order.
# -v rate_of=NAME -v cpu_of=NAME: what rates and CPU times are compared with.
# -v shakes=1: each request has a TLS handshake, and NAME's cpu_of has none.
#
# Rates and latencies are the median of the rounds, CPU time the lowest: other
# work on the machine can only add to it. A ratio is taken within a round, and
# then the median of those: what disturbed one disturbed the other.

function median(list, n,    i, j, t) {
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && list[j] < list[j - 1]; j--) {
			t = list[j]
			list[j] = list[j - 1]
			list[j - 1] = t
		}
	return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function middle(name, key,    list, n, r) {
	for (r = 1; r <= rounds; r++)
		if ((name, r, key) in v)
			list[++n] = v[name, r, key]
	return n ? median(list, n) : ""
}

function lowest(name, key,    r, x) {
	x = ""
	for (r = 1; r <= rounds; r++)
		if ((name, r, key) in v && (x == "" || v[name, r, key] < x))
			x = v[name, r, key]
	return x
}

function ratio(name, other, key,    list, n, r) {
	for (r = 1; r <= rounds; r++)
		if ((name, r, key) in v && v[other, r, key] > 0)
			list[++n] = v[name, r, key] / v[other, r, key]
	return n ? median(list, n) : ""
}

function total(name, key,    r, x) {
	for (r = 1; r <= rounds; r++)
		x += v[name, r, key]
	return x
}

function cell(format, width, x) {
	return sprintf("%*s", width, x == "" ? "-" : sprintf(format, x))
}

function shaken(name,    n) {
	if (name == cpu_of)
		return cell("", 10, "") cell("", 9, "")
	n = total(name, "shakes")
	return cell("%.0f", 10, lowest(name, "cpu_us") - \
	    lowest(cpu_of, "cpu_us")) \
	    cell("%.2f", 9, n ? total(name, "resumed") / n : "")
}

{
	for (i = 3; i <= NF; i++) {
		split($i, kv, "=")
		v[$1, $2, kv[1]] = kv[2] + 0
	}
	seen[$1] = 1
	if ($2 > rounds)
		rounds = $2
}

END {
	printf "%-11s%9s%9s%9s%9s%10s%6s%9s%9s%8s", "", "req/s", "MB/s",
	    "/" rate_of, "cpu us", "/" cpu_of, "busy", "p50 us", "p99 us", "bad"
	printf shakes ? "%10s%9s\n" : "\n", "shake us", "resumed"
	n = split(names, order, " ")
	for (i = 1; i <= n; i++) {
		name = order[i]
		if (!(name in seen))
			continue
		print sprintf("%-11s", name) \
		    cell("%.0f", 9, middle(name, "rate")) \
		    cell("%.0f", 9, middle(name, "mb_s")) \
		    cell("%.2f", 9, ratio(name, rate_of, "rate")) \
		    cell("%.1f", 9, lowest(name, "cpu_us")) \
		    cell("%.2f", 10, ratio(name, cpu_of, "cpu_us")) \
		    cell("%.2f", 6, middle(name, "busy")) \
		    cell("%.0f", 9, middle(name, "p50_us")) \
		    cell("%.0f", 9, middle(name, "p99_us")) \
		    cell("%d", 8, total(name, "broken") + total(name, "refused")) \
		    (shakes ? shaken(name) : "")
	}
}
