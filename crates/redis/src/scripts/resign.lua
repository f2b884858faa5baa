-- Ends a lease. Its name is remembered.
-- KEYS: leases, addresses
-- ARGV: name
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('HDEL', KEYS[2], ARGV[1])
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if ends and tonumber(ends) > now then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
end
return 1
