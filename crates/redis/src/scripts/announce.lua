-- Keeps the sealed address of a process whose lease runs.
-- KEYS: leases, addresses
-- ARGV: name, sealed address
-- Returns 1. It follows running.lua.
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
return 1
