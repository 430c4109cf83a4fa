-- Where a channel is, and a part of its history. A channel without an epoch gets one, so that its position means
-- something from now on.
local history, meta = KEYS[1], KEYS[2]
local kind, from, limit, meta_ttl, new_epoch = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

local known = redis.call('HMGET', meta, 's', 'e')
local offset, epoch = known[1] or '0', known[2]
if not epoch then
  offset, epoch = '0', new_epoch
  redis.call('HSET', meta, 'e', epoch)
end
if meta_ttl ~= '0' then
  redis.call('EXPIRE', meta, meta_ttl)
end

local entries = {}
if kind == 'list' then
  entries = redis.call('LRANGE', history, 0, -1)
elseif kind ~= 'none' then
  local command = {'XRANGE', history, from, '+'}
  if kind == 'reverse' then
    command = {'XREVRANGE', history, from == '0' and offset or from, '-'}
  end
  if limit ~= '0' then
    command[5], command[6] = 'COUNT', limit
  end
  entries = redis.call(unpack(command))
end
return {offset, epoch, entries}
