-- Frees a session.
-- KEYS: session
-- ARGV: token, time for which a free session is kept in milliseconds
-- Returns 1, or 0: the token is not the latest one.
if redis.call('HGET', KEYS[1], 'k') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'h', '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
