-- SPDX-License-Identifier: MIT
-- A quota per minute of the clock, and no word about it in the answer: it is
-- new when the server's minute is. Requests that wait spread over 2 s of it.
function get_delay(ctx)
	local left = 60000 - ctx.now_ms % 60000
	return left + math.random(0, 2000)
end
