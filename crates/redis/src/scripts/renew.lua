-- Renews a lease that runs.
-- KEYS: leases, addresses
-- ARGV: name, time of the lease, time for which a name is remembered after its end; times in milliseconds
-- Returns 1. It follows running.lua.
local ttl, remembered = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
if redis.call('PTTL', KEYS[1]) < ttl + remembered then
  redis.call('PEXPIRE', KEYS[1], ttl + remembered)
  redis.call('PEXPIRE', KEYS[2], ttl + remembered)
end
return 1
