-- Returns the events of a stream: the number of its last event, or of the last one that is kept if it has ended, or ''
-- if nothing is known of it; and the number and the sealed text of each event in the range, oldest first, up to the
-- first one that is not kept.
-- KEYS: log, events
-- ARGV: stream, number after which the events begin, number before which they end or nothing
local newest = redis.call('HGET', KEYS[1], 'n' .. ARGV[1])
local last = redis.call('HGET', KEYS[1], 's' .. ARGV[1]) or newest
local number, stop, before = tonumber(ARGV[2]) + 1, tonumber(newest or 0), tonumber(ARGV[3])
if before and before <= stop then
  stop = before - 1
end
local found = {}
while number <= stop do
  local text = string.format('%.0f', number)
  local event = redis.call('HGET', KEYS[2], ARGV[1] .. '-' .. text)
  if not event then
    break
  end
  found[#found + 1] = text
  found[#found + 1] = event
  number = number + 1
end
return { last or '', found }
