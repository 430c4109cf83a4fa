-- Adds a publication to a channel's stream and publishes it: add_to_stream.lua for those without an idempotency key, a
-- version and a difference, which are most.
local stream, meta = KEYS[1], KEYS[2]
local data, size, ttl, channel, meta_ttl, new_epoch, publish = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]

local epoch = redis.call('HGET', meta, 'e')
if not epoch then
  epoch = new_epoch
  redis.call('HSET', meta, 'e', epoch)
end
local offset = redis.call('HINCRBY', meta, 's', 1)
if meta_ttl ~= '0' then
  redis.call('EXPIRE', meta, meta_ttl)
end
if offset == 1 then
  -- A new epoch: what an evicted meta key has left is of the old one.
  redis.call('DEL', stream)
end
redis.call('XADD', stream, 'MAXLEN', size, offset, 'd', data)
redis.call('EXPIRE', stream, ttl)
redis.call(publish, channel, '__p1:' .. offset .. ':' .. epoch .. '__' .. data)
return {offset, epoch}
