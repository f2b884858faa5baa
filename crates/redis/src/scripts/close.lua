-- Forgets a session. Its name stays in use for a while, so that a late duplicate of its opening has no effect.
-- KEYS: session
-- ARGV: token, time for which the name stays in use in milliseconds
-- Returns 1, or 0: the token is not the latest one.
if redis.call('HGET', KEYS[1], 'k') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'x', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
