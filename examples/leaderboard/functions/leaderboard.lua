#!lua name=leaderboard
-- POST /points: form fields player and points; keys: the board, the count of moves.
redis.register_function('add_points', function(keys, args)
  local form = cjson.decode(args[1]).form
  local player = (form.player or ''):match('^%s*(.-)%s*$')
  local points = tonumber(form.points)
  if #player < 1 or #player > 40 or not points or points % 1 ~= 0 or points < 1 or points > 100 then
    return cjson.encode({status = 400})
  end
  redis.call('ZINCRBY', keys[1], points, player)
  redis.call('INCR', keys[2])
  return cjson.encode({redirect = '/'})
end)
