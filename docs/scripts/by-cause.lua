-- SPDX-License-Identifier: MIT
-- One status, three causes: a field of the answer tells them apart.
function get_delay(ctx)
	local cause = ctx.headers["x-limit-cause"]

	if cause == "day" then
		return false -- no wait will do: the client is told now
	end
	if cause == "burst" then
		return 250 * ctx.attempt -- over in a moment
	end
	if cause == "minute" and ctx.deadline_ms < 60000 then
		return false -- the wait would not end in time
	end
	return nil -- the hint, or own back-off where that is longer
end
