-- Returns the streams of a session that have no end, and refuses the writes of earlier holders from now on.
-- KEYS: session, log, events, requests, order
-- ARGV: token, time to live in milliseconds
-- Returns 0: a later token is known, or 1 with the fields of the log and the requests.
local token = tonumber(ARGV[1])
local known = math.max(redis.call('HGET', KEYS[1], 'k') or 0, redis.call('HGET', KEYS[2], 'k') or 0)
if token < known then
  return { 0, {}, {} }
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  return { 1, {}, {} }
end
redis.call('HSET', KEYS[2], 'k', ARGV[1])
for place = 2, #KEYS do
  redis.call('PEXPIRE', KEYS[place], ARGV[2])
end
return { 1, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[4]) }
