-- Adds a publication to a channel's stream and publishes it; an answer that is known is given again.
local stream, meta, result = KEYS[1], KEYS[2], KEYS[3]
local data, size, ttl, channel, meta_ttl, new_epoch = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local publish, result_ttl, with_delta, version, version_epoch = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]

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
if version ~= '0' then
  local last = redis.call('HMGET', meta, 'v', 've', 's')
  local is_same_kind = version_epoch == '' or version_epoch == last[2]
  if last[1] and is_same_kind and tonumber(last[1]) >= tonumber(version) then
    -- It takes no offset: nobody would get it, and take that for a loss.
    return {last[3] or '0', epoch, 0, 1}
  end
  redis.call('HSET', meta, 'v', version, 've', version_epoch)
end
local offset = redis.call('HINCRBY', meta, 's', 1)
if meta_ttl ~= '0' then
  redis.call('EXPIRE', meta, meta_ttl)
end

local previous = ''
if offset == 1 then
  -- A new epoch: what an evicted meta key has left is of the old one.
  redis.call('DEL', stream)
elseif with_delta == '1' then
  for _, entry in ipairs(redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'd' then
        previous = entry[2][i + 1]
      end
    end
  end
end

redis.call('XADD', stream, 'MAXLEN', size, offset, 'd', data)
redis.call('EXPIRE', stream, ttl)
if channel ~= '' then
  local message
  if with_delta == '1' then
    message = '__d1:' .. offset .. ':' .. epoch .. ':' .. #previous .. ':' .. previous .. ':' .. #data .. ':' .. data
  else
    message = '__p1:' .. offset .. ':' .. epoch .. '__' .. data
  end
  redis.call(publish, channel, message)
end
if result_ttl ~= '' then
  redis.call('HSET', result, 'e', epoch, 's', offset)
  redis.call('EXPIRE', result, result_ttl)
end
return {offset, epoch, 0, 0}
