-- Publishes, unless it was done under this result key before. There is no history, so there is no position.
local result = KEYS[1]
local data, channel, publish, result_ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('HGET', result, 'e') then
  return 1
end
if channel ~= '' then
  redis.call(publish, channel, data)
end
redis.call('HSET', result, 'e', '')
redis.call('EXPIRE', result, result_ttl)
return 0
