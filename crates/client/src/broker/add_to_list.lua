-- Adds a publication to a channel's list, the newest first, and publishes it; an answer that is known is given again.
local list, meta, result = KEYS[1], KEYS[2], KEYS[3]
local data, last_index, ttl, channel, meta_ttl, new_epoch = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local publish, result_ttl, with_delta = ARGV[7], ARGV[8], ARGV[9]

if result_ttl ~= '' then
  local known = redis.call('HMGET', result, 's', 'e')
  if known[2] then
    return {known[1], known[2], 1, 0}
  end
end

local epoch = redis.call('HGET', meta, 'e')
if not epoch then
  epoch = new_epoch
  redis.call('HSET', meta, 'e', epoch)
end
local offset = redis.call('HINCRBY', meta, 's', 1)
if meta_ttl ~= '0' then
  redis.call('EXPIRE', meta, meta_ttl)
end

local previous = ''
if with_delta == '1' then
  -- Without its envelope.
  previous = string.match(redis.call('LINDEX', list, 0) or '', '^__.-__(.*)$') or ''
end
local message = '__p1:' .. offset .. ':' .. epoch .. '__' .. data
redis.call('LPUSH', list, message)
redis.call('LTRIM', list, 0, last_index)
redis.call('EXPIRE', list, ttl)
if channel ~= '' then
  if with_delta == '1' then
    message = '__d1:' .. offset .. ':' .. epoch .. ':' .. #previous .. ':' .. previous .. ':' .. #data .. ':' .. data
  end
  redis.call(publish, channel, message)
end
if result_ttl ~= '' then
  redis.call('HSET', result, 'e', epoch, 's', offset)
  redis.call('EXPIRE', result, result_ttl)
end
return {offset, epoch, 0, 0}
