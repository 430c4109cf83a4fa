-- Adds a client to a channel's presence, or keeps it there for longer.
local expire, data, user_expire, user_clients = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ttl, until_time, client, info, user = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local counts_users, by_field = ARGV[6] == '1', ARGV[7] == '1'

local is_new = counts_users and redis.call('HEXISTS', data, client) == 0
redis.call('HSET', data, client, info)
redis.call('EXPIRE', data, ttl)
if by_field then
  redis.call('HEXPIRE', data, ttl, 'FIELDS', 1, client)
else
  redis.call('ZADD', expire, until_time, client)
  redis.call('EXPIRE', expire, ttl)
end
if counts_users then
  if is_new then
    redis.call('HINCRBY', user_clients, user, 1)
  end
  redis.call('EXPIRE', user_clients, ttl)
  if by_field then
    redis.call('HEXPIRE', user_clients, ttl, 'FIELDS', 1, user)
  else
    redis.call('ZADD', user_expire, until_time, user)
    redis.call('EXPIRE', user_expire, ttl)
  end
end
return 1
