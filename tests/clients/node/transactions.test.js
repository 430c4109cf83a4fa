// MULTI, EXEC and WATCH as ioredis offers them.
'use strict';

const assert = require('node:assert/strict');
const { beforeEach, test } = require('node:test');
const { bothProtocols } = require('./connect.js');

bothProtocols((world) => {
  let redis;
  beforeEach(() => {
    redis = world.redis;
  });

  test('a transaction', async () => {
    const replies = await redis.multi().set('a', 1).incr('a').rpush('l', 'x', 'y').hset('h', { f: 'v' }).exec();
    assert.deepEqual(replies, [[null, 'OK'], [null, 2], [null, 2], [null, 1]]);
  });

  test('a transaction that is sent command by command', async () => {
    assert.equal(await redis.multi({ pipeline: false }), 'OK');
    assert.equal(await redis.set('a', 1), 'QUEUED');
    assert.equal(await redis.get('a'), 'QUEUED');
    assert.deepEqual(await redis.exec(), [[null, 'OK'], [null, '1']]);
  });

  test('an error in the middle stops nothing', async () => {
    const [, failed, after] = await redis.multi().set('a', 'text').incr('a').set('b', 1).exec();
    assert.match(failed[0].message, /^ERR value is not an integer/);
    assert.deepEqual(after, [null, 'OK']);
    assert.equal(await redis.get('b'), '1');
  });

  test('an error while queueing stops all', async () => {
    await assert.rejects(redis.multi().set('a', 1).call('NOSUCH').exec(), {
      message: 'EXECABORT Transaction discarded because of previous errors.',
    });
    assert.equal(await redis.get('a'), null);
  });

  test('a watched key that changes', async () => {
    const other = world.connect();
    await redis.watch('a');
    await other.set('a', 'theirs');
    assert.equal(await redis.multi().set('a', 'mine').exec(), null);
    assert.equal(await redis.get('a'), 'theirs');
    await redis.watch('a');
    await redis.unwatch();
    await other.set('a', 'again');
    assert.deepEqual(await redis.multi().set('a', 'mine').exec(), [[null, 'OK']]);
  });

  test('watching and trying again loses nothing', async () => {
    // Keys of different shards, moved between in transactions: their sum never changes.
    await redis.mset({ 'account:a': 1_000, 'account:b': 0 });
    const clients = Array.from({ length: 8 }, () => world.connect());
    const transfers = clients.map(async (client) => {
      for (let done = 0; done < 25; ) {
        await client.watch('account:a', 'account:b');
        const [a, b] = await client.mget('account:a', 'account:b');
        const moved = client.multi().set('account:a', a - 1).set('account:b', Number(b) + 1);
        if (await moved.exec()) done++;
        const [x, y] = await client.mget('account:a', 'account:b');
        assert.equal(Number(x) + Number(y), 1_000);
      }
    });
    await Promise.all(transfers);
    assert.deepEqual(await redis.mget('account:a', 'account:b'), ['800', '200']);
  });
});
