-- Keeps an event, and drops the oldest ones beyond the limits. Without effect if a stream has it: its answer was lost.
-- KEYS: session, log, events, requests, order
-- ARGV: token, time to live in milliseconds, stream, number, sealed event, most events, most bytes, then the tags that
--       the request which it answers may have
-- Returns 1. It follows token.lua.
local bytes = 0
local last = redis.call('HGET', KEYS[2], 's' .. ARGV[3])
local newest = last or redis.call('HGET', KEYS[2], 'n' .. ARGV[3])
if not newest or tonumber(ARGV[4]) > tonumber(newest) then
  local name = ARGV[3] .. '-' .. ARGV[4]
  redis.call('HSET', KEYS[3], name, ARGV[5])
  redis.call('RPUSH', KEYS[5], name)
  redis.call('HSET', KEYS[2], 'n' .. ARGV[3], ARGV[4])
  bytes = #ARGV[5]
  if last then
    redis.call('HSET', KEYS[2], 's' .. ARGV[3], ARGV[4])
  end
end
for place = 8, #ARGV do
  redis.call('HDEL', KEYS[4], ARGV[3] .. ':' .. ARGV[place])
end
local kept = redis.call('HINCRBY', KEYS[2], 'b', bytes)
local count = redis.call('LLEN', KEYS[5])
local dropped = 0
while count > tonumber(ARGV[6]) or kept - dropped > tonumber(ARGV[7]) do
  local oldest = redis.call('LPOP', KEYS[5])
  if not oldest then
    break
  end
  dropped = dropped + redis.call('HSTRLEN', KEYS[3], oldest)
  redis.call('HDEL', KEYS[3], oldest)
  local stream, number = string.match(oldest, '^(%d+)-(%d+)$')
  if redis.call('HGET', KEYS[2], 'n' .. stream) == number then
    redis.call('HDEL', KEYS[2], 'n' .. stream)
  end
  count = count - 1
end
if dropped > 0 then
  redis.call('HINCRBY', KEYS[2], 'b', -dropped)
end
for place = 2, #KEYS do
  redis.call('PEXPIRE', KEYS[place], ARGV[2])
end
return 1
