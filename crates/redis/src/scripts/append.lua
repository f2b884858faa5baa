-- Keeps an event, and drops the oldest ones beyond the limits. Without effect if a stream has it: its answer was lost.
-- KEYS: session, log, events, requests
-- ARGV: token, time to live in milliseconds, stream, number, sealed event, most events, most bytes, then the tags that
--       the request which it answers may have
-- Returns 1, or 0: a later token is known.
local token = tonumber(ARGV[1])
local known = math.max(redis.call('HGET', KEYS[1], 'k') or 0, redis.call('HGET', KEYS[2], 'k') or 0)
if token < known then
  return 0
end
redis.call('HSET', KEYS[2], 'k', ARGV[1])
local stream, bytes = 's' .. ARGV[3], 0
local last = redis.call('HGET', KEYS[2], stream)
if not last or tonumber(ARGV[4]) > tonumber(last) then
  redis.call('XADD', KEYS[3], '*', 's', ARGV[3], 'n', ARGV[4], 'd', ARGV[5])
  bytes = #ARGV[5]
  if last then
    redis.call('HSET', KEYS[2], stream, ARGV[4])
  end
end
for place = 8, #ARGV do
  redis.call('HDEL', KEYS[4], ARGV[3] .. ':' .. ARGV[place])
end
local kept = redis.call('HINCRBY', KEYS[2], 'b', bytes)
local count = redis.call('XLEN', KEYS[3])
local dropped = 0
while count > tonumber(ARGV[6]) or kept - dropped > tonumber(ARGV[7]) do
  local oldest = redis.call('XRANGE', KEYS[3], '-', '+', 'COUNT', 1)[1]
  if not oldest then
    break
  end
  redis.call('XDEL', KEYS[3], oldest[1])
  dropped = dropped + #oldest[2][6]
  count = count - 1
end
if dropped > 0 then
  redis.call('HINCRBY', KEYS[2], 'b', -dropped)
end
for place = 2, 4 do
  redis.call('PEXPIRE', KEYS[place], ARGV[2])
end
return 1
