-- Returns the sealed address of a process, or nothing: it has announced none, or its lease has run out.
-- KEYS: leases, addresses
-- ARGV: name
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return false
end
return redis.call('HGET', KEYS[2], ARGV[1])
