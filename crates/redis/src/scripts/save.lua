-- Keeps the state of a session.
-- KEYS: session
-- ARGV: token, sealed state, time to live in milliseconds
-- Returns 1, or 0: the token is not the latest one.
if redis.call('HGET', KEYS[1], 'k') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'd', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'v', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
