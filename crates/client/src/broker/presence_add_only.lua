-- Adds a client to a channel's presence, or keeps it there for longer: presence_add.lua with times in a sorted set, and
-- without counts of users.
local expire, data = KEYS[1], KEYS[2]
local ttl, until_time, client, info = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

redis.call('HSET', data, client, info)
redis.call('EXPIRE', data, ttl)
redis.call('ZADD', expire, until_time, client)
redis.call('EXPIRE', expire, ttl)
return 1
