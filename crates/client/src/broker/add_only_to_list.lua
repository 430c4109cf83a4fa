-- Adds a publication to a channel's list, the newest first, and publishes it: add_to_list.lua for those without an
-- idempotency key and a difference, which are most.
local list, meta = KEYS[1], KEYS[2]
local data, last_index, ttl, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local meta_ttl, new_epoch, publish = ARGV[5], ARGV[6], ARGV[7]

local epoch = redis.call('HGET', meta, 'e')
if not epoch then
  epoch = new_epoch
  redis.call('HSET', meta, 'e', epoch)
end
local offset = redis.call('HINCRBY', meta, 's', 1)
if meta_ttl ~= '0' then
  redis.call('EXPIRE', meta, meta_ttl)
end
local message = '__p1:' .. offset .. ':' .. epoch .. '__' .. data
redis.call('LPUSH', list, message)
redis.call('LTRIM', list, 0, last_index)
redis.call('EXPIRE', list, ttl)
redis.call(publish, channel, message)
return {offset, epoch}
