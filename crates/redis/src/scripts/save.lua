-- Keeps the state of a session, unless a later one of its holder has come before: one whose answer was lost may come late.
-- KEYS: session
-- ARGV: token, number of the state, sealed state, time to live in milliseconds
-- Returns 1, or 0: the token is not the latest one.
if redis.call('HGET', KEYS[1], 'k') ~= ARGV[1] then
  return 0
end
local token, number = string.match(redis.call('HGET', KEYS[1], 'q') or '', '^(%d+):(%d+)$')
if token == ARGV[1] and tonumber(ARGV[2]) < tonumber(number) then
  return 1
end
redis.call('HSET', KEYS[1], 'd', ARGV[3], 'q', ARGV[1] .. ':' .. ARGV[2])
redis.call('HINCRBY', KEYS[1], 'v', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
