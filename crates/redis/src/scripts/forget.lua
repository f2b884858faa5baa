-- Forgets the log of a session.
-- KEYS: log, events, requests, order
-- ARGV: token
-- Returns 1, or 0: a later token is known.
if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'k') or 0) then
  return 0
end
redis.call('DEL', unpack(KEYS))
return 1
