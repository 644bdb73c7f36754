-- SPDX-License-Identifier: MIT
-- The body says it in words: "Please try again in 1 minute and 20 seconds."
wants_body = true

local unit_ms = {second = 1000, minute = 60000, hour = 3600000}

function get_delay(ctx)
	local text = ctx.body_prefix:lower():match("try again in ([^.]*)")
	local wait = 0
	for number, unit in (text or ""):gmatch("(%d+) (%a+)") do
		wait = wait + number * (unit_ms[unit:gsub("s$", "")] or 0)
	end
	if wait > 0 then
		return wait
	end
	return nil -- no such words: own back-off
end
