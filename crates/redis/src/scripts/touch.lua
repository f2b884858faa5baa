-- Lets a session and its log live on, whose holder serves it.
-- KEYS: session, log, events, requests, order
-- ARGV: lease of the holder, token, time to live in milliseconds
-- Returns 1, or 0: it has another holder.
local read = redis.call('HMGET', KEYS[1], 'h', 'k')
if read[1] ~= ARGV[1] or read[2] ~= ARGV[2] then
  return 0
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[3])
end
return 1
