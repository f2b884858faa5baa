-- Forgets a session.
-- KEYS: session
-- ARGV: token
-- Returns 1, or 0: the token is not the latest one.
if redis.call('HGET', KEYS[1], 'k') ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
