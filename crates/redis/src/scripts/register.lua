-- Grants a lease under a new name.
-- KEYS: leases, addresses
-- ARGV: name, time of the lease, time for which a name is remembered after its end, most names; times in milliseconds
-- Returns 1, or 0: the name has been used, or there are too many.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ttl, remembered = tonumber(ARGV[2]), tonumber(ARGV[3])
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - remembered)) do
  redis.call('ZREM', KEYS[1], name)
  redis.call('HDEL', KEYS[2], name)
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then
  return 0
end
redis.call('ZADD', KEYS[1], now + ttl, ARGV[1])
if redis.call('PTTL', KEYS[1]) < ttl + remembered then
  redis.call('PEXPIRE', KEYS[1], ttl + remembered)
  redis.call('PEXPIRE', KEYS[2], ttl + remembered)
end
return 1
