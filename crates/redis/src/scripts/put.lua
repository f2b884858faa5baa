-- Keeps a task, unless a later write of it has come before: a write whose answer was lost may come late.
-- KEYS: task
-- ARGV: number of the write, sealed record, time to live in milliseconds
-- Returns 1, or 0: a later one has come.
local known = redis.call('HGET', KEYS[1], 'n')
if known and tonumber(ARGV[1]) < tonumber(known) then
  return 0
end
redis.call('HSET', KEYS[1], 'n', ARGV[1], 'd', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
