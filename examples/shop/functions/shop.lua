#!lua name=shop
-- A cart is a hash cart:ID of products and pieces. Its id is random and in a cookie: who knows it has the cart.
local DAYS = 30

local function cart_of(asked)
  local id = asked.cookies.cart
  if type(id) == 'string' and #id == 32 and not id:find('[^0-9a-f]') then return id end
end

-- POST /cart: form fields id and n; n pieces more, or with 0 none any more.
local function cart_set(_, args)
  local asked = cjson.decode(args[1])
  local product, n = asked.form.id or '', tonumber(asked.form.n)
  if redis.call('EXISTS', 'product:' .. product) == 0 or not n or n % 1 ~= 0 or n < 0 or n > 99 then
    return cjson.encode({status = 400})
  end
  local id = cart_of(asked) or asked.random
  local key = 'cart:' .. id
  if n == 0 then
    redis.call('HDEL', key, product)
  elseif redis.call('HLEN', key) < 50 or redis.call('HEXISTS', key, product) == 1 then
    if redis.call('HINCRBY', key, product, n) > 99 then redis.call('HSET', key, product, 99) end
  end
  redis.call('EXPIRE', key, DAYS * 86400)
  local cookie = 'cart=' .. id .. '; Path=/; HttpOnly; SameSite=Lax; Max-Age=' .. DAYS * 86400
  return cjson.encode({redirect = '/cart', headers = {['Set-Cookie'] = cookie}})
end

-- POST /checkout: takes all of the cart out of the stock, or nothing.
local function checkout(_, args)
  local asked = cjson.decode(args[1])
  local id = cart_of(asked)
  if not id then return cjson.encode({redirect = '/cart'}) end
  local cart = redis.call('HGETALL', 'cart:' .. id)
  for i = 1, #cart, 2 do
    local stock = tonumber(redis.call('HGET', 'product:' .. cart[i], 'stock') or 0)
    if stock < tonumber(cart[i + 1]) then return cjson.encode({redirect = '/cart?problem=stock'}) end
  end
  if #cart == 0 then return cjson.encode({redirect = '/cart'}) end
  for i = 1, #cart, 2 do redis.call('HINCRBY', 'product:' .. cart[i], 'stock', -cart[i + 1]) end
  redis.call('RPUSH', 'orders', cjson.encode(cart))
  redis.call('DEL', 'cart:' .. id)
  return cjson.encode({redirect = '/thanks'})
end

redis.register_function('cart_set', cart_set)
redis.register_function('checkout', checkout)
