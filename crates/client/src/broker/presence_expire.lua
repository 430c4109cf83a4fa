-- Takes those out of a channel's presence whose time is over.
local expire, data, now = KEYS[1], KEYS[2], ARGV[1]

for _, client in ipairs(redis.call('ZRANGEBYSCORE', expire, '0', now)) do
  redis.call('HDEL', data, client)
end
redis.call('ZREMRANGEBYSCORE', expire, '0', now)
return 1
