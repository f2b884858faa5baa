-- Ends a stream: no process answers its requests.
-- KEYS: session, log, events, requests, order
-- ARGV: token, time to live in milliseconds, stream
-- Returns 1. It follows token.lua.
redis.call('HDEL', KEYS[2], 's' .. ARGV[3])
local prefix = ARGV[3] .. ':'
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
  if string.sub(field, 1, #prefix) == prefix then
    redis.call('HDEL', KEYS[4], field)
  end
end
for place = 2, #KEYS do
  redis.call('PEXPIRE', KEYS[place], ARGV[2])
end
return 1
