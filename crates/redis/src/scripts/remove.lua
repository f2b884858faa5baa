-- Forgets a task, unless a later write of it has come before. The number of the removal is remembered for a while, so that an
-- earlier write that comes late has no effect.
-- KEYS: task
-- ARGV: number of the write, time for which it is remembered in milliseconds
-- Returns 1, or 0: a later one has come.
local known = redis.call('HGET', KEYS[1], 'n')
if known and tonumber(ARGV[1]) < tonumber(known) then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'n', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
