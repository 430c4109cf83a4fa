// Every data type, as ioredis offers it.
'use strict';

const assert = require('node:assert/strict');
const { beforeEach, test } = require('node:test');
const { bothProtocols } = require('./connect.js');

bothProtocols((world) => {
  let redis;
  beforeEach(() => {
    redis = world.redis;
  });

  const numbers = (count) => Array.from({ length: count }, (_, i) => i);

  // A scan stream's elements, in pairs or one by one.
  async function collect(stream, step) {
    const found = new Map();
    for await (const elements of stream) {
      for (let i = 0; i < elements.length; i += step) {
        found.set(elements[i], step === 2 ? elements[i + 1] : undefined);
      }
    }
    return found;
  }

  test('hashes', async () => {
    assert.equal(await redis.hset('h', { a: 1, b: 'two', c: 3.5 }), 3);
    assert.equal(await redis.hset('h', new Map([['a', 2]])), 0);
    assert.deepEqual(await redis.hgetall('h'), { a: '2', b: 'two', c: '3.5' });
    assert.deepEqual(await redis.hgetall('none'), {});
    assert.deepEqual(await redis.hmget('h', 'a', 'none'), ['2', null]);
    assert.equal(await redis.hsetnx('h', 'a', 9), 0);
    assert.equal(await redis.hincrby('h', 'a', 40), 42);
    assert.equal(await redis.hincrbyfloat('h', 'c', 0.25), '3.75');
    assert.deepEqual((await redis.hkeys('h')).sort(), ['a', 'b', 'c']);
    assert.deepEqual((await redis.hvals('h')).sort(), ['3.75', '42', 'two']);
    assert.equal(await redis.hlen('h'), 3);
    assert.equal(await redis.hstrlen('h', 'b'), 3);
    assert.deepEqual((await redis.hrandfield('h', 9)).sort(), ['a', 'b', 'c']);
    assert.equal(await redis.hdel('h', 'a', 'b', 'c', 'd'), 3);
    assert.equal(await redis.exists('h'), 0);
  });

  const sevenTwo = { skip: process.env.APUS_REFERENCE ? 'newer than Redis 7.0' : false };

  test('fields that expire', sevenTwo, async () => {
    await redis.hset('h', { a: 1, b: 2 });
    assert.deepEqual(await redis.call('HEXPIRE', 'h', 100, 'FIELDS', 2, 'a', 'none'), [1, -2]);
    const [left] = await redis.call('HPTTL', 'h', 'FIELDS', 1, 'a');
    assert.ok(left > 0 && left <= 100_000, `HPTTL is ${left}`);
    assert.deepEqual(await redis.call('HPERSIST', 'h', 'FIELDS', 1, 'a'), [1]);
    assert.deepEqual(await redis.call('HPEXPIRE', 'h', 1, 'FIELDS', 2, 'a', 'b'), [1, 1]);
    while ((await redis.exists('h')) === 1);
  });

  test('lists', async () => {
    assert.equal(await redis.rpush('l', 'a', 'b', 'c'), 3);
    assert.equal(await redis.lpush('l', 'z'), 4);
    assert.deepEqual(await redis.lrange('l', 0, -1), ['z', 'a', 'b', 'c']);
    assert.equal(await redis.linsert('l', 'BEFORE', 'b', 'ab'), 5);
    assert.equal(await redis.lindex('l', 2), 'ab');
    assert.equal(await redis.lpos('l', 'c'), 4);
    assert.equal(await redis.lset('l', 0, 'y'), 'OK');
    assert.equal(await redis.lrem('l', 0, 'ab'), 1);
    assert.equal(await redis.lmove('l', 'm', 'LEFT', 'RIGHT'), 'y');
    assert.equal(await redis.rpoplpush('l', 'm'), 'c');
    assert.deepEqual(await redis.lmpop(2, 'none', 'm', 'LEFT', 'COUNT', 5), ['m', ['c', 'y']]);
    assert.deepEqual(await redis.lpop('l', 2), ['a', 'b']);
    assert.equal(await redis.rpop('l'), null);
    await redis.rpush('n', ...numbers(5_000));
    assert.equal(await redis.ltrim('n', 10, -11), 'OK');
    assert.deepEqual(await redis.lrange('n', -2, -1), ['4988', '4989']);
    assert.deepEqual(await redis.sort('n', 'LIMIT', 0, 2, 'DESC'), ['4989', '4988']);
  });

  test('sets', async () => {
    assert.equal(await redis.sadd('a', 1, 2, 3, 2), 3);
    assert.equal(await redis.sadd('b', 3, 4), 2);
    assert.deepEqual((await redis.smembers('a')).sort(), ['1', '2', '3']);
    assert.deepEqual(await redis.sinter('a', 'b'), ['3']);
    assert.deepEqual((await redis.sunion('a', 'b')).sort(), ['1', '2', '3', '4']);
    assert.deepEqual((await redis.sdiff('a', 'b')).sort(), ['1', '2']);
    assert.equal(await redis.sinterstore('i', 'a', 'b'), 1);
    assert.equal(await redis.sintercard(2, 'a', 'b', 'LIMIT', 1), 1);
    assert.deepEqual(await redis.smismember('a', 1, 9), [1, 0]);
    assert.equal(await redis.smove('a', 'b', 1), 1);
    assert.equal(await redis.srem('b', 1, 9), 1);
    assert.deepEqual((await redis.srandmember('b', 10)).sort(), ['3', '4']);
    assert.deepEqual((await redis.spop('b', 10)).sort(), ['3', '4']);
    assert.equal(await redis.exists('b'), 0);
  });

  test('sorted sets', async () => {
    assert.equal(await redis.zadd('z', 1, 'a', 2, 'b', 3, 'c'), 3);
    assert.equal(await redis.zadd('z', 'XX', 'CH', 5, 'a', 4, 'd'), 1);
    assert.equal(await redis.zincrby('z', 0.5, 'b'), '2.5');
    assert.deepEqual(await redis.zrange('z', 0, -1, 'WITHSCORES'), ['b', '2.5', 'c', '3', 'a', '5']);
    assert.deepEqual(await redis.zrange('z', '+inf', '(2.5', 'BYSCORE', 'REV'), ['a', 'c']);
    assert.deepEqual(await redis.zrangebyscore('z', '(2.5', '+inf', 'LIMIT', 0, 1), ['c']);
    assert.equal(await redis.zrank('z', 'a'), 2);
    assert.equal(await redis.zrank('z', 'none'), null);
    assert.deepEqual(await redis.zmscore('z', 'a', 'none'), ['5', null]);
    assert.equal(await redis.zcount('z', 3, 5), 2);
    await redis.zadd('y', '-inf', 'a', 2, 'e');
    assert.deepEqual(await redis.zunion(2, 'z', 'y', 'AGGREGATE', 'MIN'), ['a', 'e', 'b', 'c']);
    assert.equal(await redis.zinterstore('i', 2, 'z', 'y', 'WEIGHTS', 1, 2), 1);
    assert.deepEqual(await redis.zdiff(2, 'z', 'y'), ['b', 'c']);
    assert.deepEqual(await redis.zpopmin('z'), ['b', '2.5']);
    assert.deepEqual(await redis.zpopmax('z', 5), ['a', '5', 'c', '3']);
    assert.deepEqual(await redis.zmpop(2, 'z', 'y', 'MIN'), ['y', [['a', '-inf']]]);
    await redis.zadd('lex', ...[...'abcdef'].flatMap((c) => [0, c]));
    assert.deepEqual(await redis.zrangebylex('lex', '[b', '(e'), ['b', 'c', 'd']);
    assert.equal(await redis.zremrangebylex('lex', '-', '(c'), 2);
  });

  test('streams', async () => {
    const ids = [];
    for (const n of numbers(10)) ids.push(await redis.xadd('s', '*', 'n', n));
    assert.equal(await redis.xlen('s'), 10);
    assert.deepEqual(await redis.xrange('s', '-', '+', 'COUNT', 1), [[ids[0], ['n', '0']]]);
    assert.deepEqual(await redis.xrevrange('s', '+', '-', 'COUNT', 1), [[ids[9], ['n', '9']]]);
    const read = await redis.xread('COUNT', 1, 'STREAMS', 's', 't', ids[4], '0');
    assert.deepEqual(read, [['s', [[ids[5], ['n', '5']]]]]);

    assert.equal(await redis.xgroup('CREATE', 's', 'g', '0'), 'OK');
    await assert.rejects(redis.xgroup('CREATE', 's', 'g', '0'), {
      message: 'BUSYGROUP Consumer Group name already exists',
    });
    const take = async (who, from, count) => {
      const reply = await redis.xreadgroup('GROUP', 'g', who, 'COUNT', count, 'STREAMS', 's', from);
      return reply[0][1].map(([id]) => id);
    };
    assert.deepEqual(await take('alice', '>', 6), ids.slice(0, 6));
    assert.deepEqual(await take('bob', '>', 100), ids.slice(6));
    assert.equal(await redis.xack('s', 'g', ids[0], ids[1]), 2);
    assert.deepEqual(await redis.xpending('s', 'g'), [8, ids[2], ids[9], [['alice', '4'], ['bob', '4']]]);
    assert.deepEqual(await redis.xclaim('s', 'g', 'bob', 0, ids[2]), [[ids[2], ['n', '2']]]);
    const [next, claimed] = await redis.xautoclaim('s', 'g', 'carol', 0, '0', 'COUNT', 2);
    assert.equal(next, ids[4]);
    assert.deepEqual(claimed.map(([id]) => id), ids.slice(2, 4));
    assert.deepEqual(await take('carol', '0', 10), ids.slice(2, 4));
    const [group] = await redis.xinfo('GROUPS', 's');
    assert.equal(group[group.indexOf('pending') + 1], 8);
    assert.equal(await redis.xdel('s', ids[9]), 1);
    assert.equal(await redis.xtrim('s', 'MAXLEN', 5), 4);
    assert.equal(await redis.xgroup('DESTROY', 's', 'g'), 1);
  });

  test('HyperLogLogs', async () => {
    await redis.pfadd('a', ...numbers(1_000));
    await redis.pfadd('b', ...numbers(1_500).slice(500));
    // The result of Redis's estimator for these members.
    assert.equal(await redis.pfcount('a'), 1001);
    assert.equal(await redis.pfmerge('c', 'a', 'b'), 'OK');
    assert.equal(await redis.pfcount('c'), await redis.pfcount('a', 'b'));
  });

  test('geo', async () => {
    await redis.geoadd('g', 13.361389, 38.115556, 'Palermo', 15.087269, 37.502669, 'Catania');
    assert.equal(await redis.geodist('g', 'Palermo', 'Catania', 'km'), '166.2742');
    assert.deepEqual(await redis.geohash('g', 'Palermo'), ['sqc8b49rny0']);
    const [[longitude], missing] = await redis.geopos('g', 'Catania', 'none');
    assert.ok(Math.abs(longitude - 15.087269) < 1e-4 && missing === null);
    const near = await redis.geosearch('g', 'FROMLONLAT', 15, 37, 'BYRADIUS', 200, 'km', 'ASC', 'WITHDIST');
    assert.deepEqual(near, [['Catania', '56.4413'], ['Palermo', '190.4424']]);
  });

  test('scan streams over every collection, while they grow', async () => {
    const count = 2_000;
    const pipeline = redis.pipeline();
    numbers(count).forEach((i) => pipeline.hset('h', `m${i}`, i).sadd('s', `m${i}`).zadd('z', i, `m${i}`));
    await pipeline.exec();
    const options = { match: 'm*', count: 50 };
    const growing = setInterval(() => {
      const extra = `x${Math.random()}`;
      redis.pipeline().hset('h', extra, 1).sadd('s', extra).zadd('z', 1, extra).exec();
    }, 1);
    try {
      const hash = await collect(redis.hscanStream('h', options), 2);
      assert.equal(hash.size, count);
      assert.equal(hash.get('m1234'), '1234');
      assert.equal((await collect(redis.sscanStream('s', options), 1)).size, count);
      const zset = await collect(redis.zscanStream('z', options), 2);
      assert.equal(zset.size, count);
      assert.equal(zset.get('m1234'), '1234');
    } finally {
      clearInterval(growing);
    }
    assert.deepEqual([...(await collect(redis.scanStream({ type: 'zset' }), 1)).keys()], ['z']);
  });
});
