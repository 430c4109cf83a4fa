-- Takes a client out of a channel's presence.
local expire, data, user_expire, user_clients = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local client, user, counts_users, by_field = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4] == '1'

local was_there = redis.call('HDEL', data, client) == 1
if not by_field then
  redis.call('ZREM', expire, client)
end
if counts_users and was_there and redis.call('HINCRBY', user_clients, user, -1) <= 0 then
  redis.call('HDEL', user_clients, user)
  if not by_field then
    redis.call('ZREM', user_expire, user)
  end
end
return 1
