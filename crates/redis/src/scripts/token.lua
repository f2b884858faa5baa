-- Begins a script that writes to the log of a session, and refuses a token before the latest one.
-- KEYS: session, log
-- ARGV: token
-- Returns 0: a later token is known.
local token = tonumber(ARGV[1])
local known = math.max(redis.call('HGET', KEYS[1], 'k') or 0, redis.call('HGET', KEYS[2], 'k') or 0)
if token < known then
  return 0
end
redis.call('HSET', KEYS[2], 'k', ARGV[1])
