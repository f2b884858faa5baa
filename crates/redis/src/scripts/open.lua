-- Takes in a new session.
-- KEYS: session
-- ARGV: lease of the holder, time to live in milliseconds
-- Returns 1: its first token, or 0: it is known, or was closed lately.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'h', ARGV[1], 'k', 1, 'v', 0)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
