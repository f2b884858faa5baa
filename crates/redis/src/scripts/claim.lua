-- Changes the holder of a session that is as the claimant has read it.
-- KEYS: session
-- ARGV: lease of the new holder; holder, token and version of the state as they were read; time to live in milliseconds
-- Returns the new token, or 0: the session has changed.
local read = redis.call('HMGET', KEYS[1], 'h', 'k', 'v')
if read[1] ~= ARGV[2] or read[2] ~= ARGV[3] or read[3] ~= ARGV[4] then
  return 0
end
redis.call('HSET', KEYS[1], 'h', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return redis.call('HINCRBY', KEYS[1], 'k', 1)
