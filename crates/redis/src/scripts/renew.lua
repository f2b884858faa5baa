-- Renews a lease that runs.
-- KEYS: leases, addresses
-- ARGV: name, time of the lease, time for which a name is remembered after its end; times in milliseconds
-- Returns 1, or 0: the lease has run out.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
  return 0
end
local ttl, remembered = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
if redis.call('PTTL', KEYS[1]) < ttl + remembered then
  redis.call('PEXPIRE', KEYS[1], ttl + remembered)
  redis.call('PEXPIRE', KEYS[2], ttl + remembered)
end
return 1
