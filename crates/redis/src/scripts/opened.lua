-- Begins a stream. Without effect if it has begun: its answer was lost.
-- KEYS: session, log, events, requests, order
-- ARGV: token, time to live in milliseconds, stream, number of its last event, then for each request its tag and its
--       sealed id
-- Returns 1. It follows token.lua.
if redis.call('HSETNX', KEYS[2], 's' .. ARGV[3], ARGV[4]) == 1 then
  for place = 5, #ARGV, 2 do
    redis.call('HSET', KEYS[4], ARGV[3] .. ':' .. ARGV[place], ARGV[place + 1])
  end
end
for place = 2, #KEYS do
  redis.call('PEXPIRE', KEYS[place], ARGV[2])
end
return 1
