#!lua name=chat
-- Who may connect, and what may be said. Called by the server with the kind of event and what Centrifugo asks a proxy.

local function refused(code, message)
  return cjson.encode({error = {code = code, message = message}})
end

local function trimmed(text)
  return type(text) == 'string' and text:match('^%s*(.-)%s*$') or ''
end

redis.register_function('chat_live', function(keys, args)
  local kind, asked = args[1], cjson.decode(args[2])
  local data = type(asked.data) == 'table' and asked.data or {}
  if kind == 'connect' then
    -- A real application would look at a cookie or a token instead of believing a name.
    local name = trimmed(data.name)
    if #name < 1 or #name > 40 then return refused(1000, 'a name, please') end
    return cjson.encode({result = {user = name}})
  end
  if kind == 'publish' then
    local text = trimmed(data.text)
    if #text < 1 or #text > 2000 then return refused(1001, 'something between a letter and 2000, please') end
    return cjson.encode({result = {data = {text = text, at = redis.call('TIME')[1]}}})
  end
  return refused(104, 'method not found')
end)
