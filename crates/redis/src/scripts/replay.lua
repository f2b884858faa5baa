-- Returns the events of a stream: 1 if anything is known of it or 0, the number of its last event or '' if it has
-- ended, and the number and the sealed text of each event in the range, oldest first.
-- KEYS: log, events
-- ARGV: stream, number after which the events begin, number before which they end or nothing
local last = redis.call('HGET', KEYS[1], 's' .. ARGV[1])
local after, before = tonumber(ARGV[2]), tonumber(ARGV[3])
local known, found = last and 1 or 0, {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+')) do
  local fields = entry[2]
  if fields[2] == ARGV[1] then
    local number = tonumber(fields[4])
    known = 1
    if number > after and (not before or number < before) then
      found[#found + 1] = fields[4]
      found[#found + 1] = fields[6]
    end
  end
end
return { known, last or '', found }
