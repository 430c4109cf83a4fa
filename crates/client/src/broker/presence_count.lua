-- How many clients and users are in a channel. Those whose time is over go away first.
local expire, data, user_expire, user_clients = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now, by_field = ARGV[1], ARGV[2] == '1'

local function expire_members(times, fields)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', times, '0', now)) do
    redis.call('HDEL', fields, member)
  end
  redis.call('ZREMRANGEBYSCORE', times, '0', now)
end

if not by_field then
  expire_members(expire, data)
  expire_members(user_expire, user_clients)
end
return {redis.call('HLEN', data), redis.call('HLEN', user_clients)}
