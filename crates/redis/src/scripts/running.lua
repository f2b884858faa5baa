-- Begins a script of a process whose lease runs.
-- KEYS: leases
-- ARGV: name
-- Returns 0: the lease has run out.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return 0
end
