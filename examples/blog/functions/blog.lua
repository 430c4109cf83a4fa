#!lua name=blog
-- POST /post/{slug}/comments: form fields name and text; keys: the post, its comments.
redis.register_function('add_comment', function(keys, args)
  local asked = cjson.decode(args[1])
  local name, text = asked.form.name or '', asked.form.text or ''
  if redis.call('EXISTS', keys[1]) == 0 then
    return cjson.encode({status = 404})
  end
  if not name:find('%S') or #name > 160 or not text:find('%S') or #text > 8000 then
    return cjson.encode({status = 400})
  end
  redis.call('RPUSH', keys[2], cjson.encode({name = name, text = text}))
  redis.call('LTRIM', keys[2], -100, -1)
  return cjson.encode({redirect = asked.path:gsub('/comments$', '') .. '#comments'})
end)
