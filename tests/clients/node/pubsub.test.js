// Channels, patterns, sharded channels and keyspace events with ioredis.
'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { beforeEach, test } = require('node:test');
const { bothProtocols } = require('./connect.js');

bothProtocols((world) => {
  let redis;
  beforeEach(() => {
    redis = world.redis;
  });

  test('channels and patterns', async () => {
    const subscriber = world.connect();
    assert.equal(await subscriber.subscribe('news', 'other'), 2);
    assert.equal(await subscriber.psubscribe('n*'), 3);
    const message = once(subscriber, 'message');
    const matched = once(subscriber, 'pmessage');
    assert.equal(await redis.publish('news', 'hello'), 2);
    assert.deepEqual(await message, ['news', 'hello']);
    assert.deepEqual(await matched, ['n*', 'news', 'hello']);
    assert.deepEqual(await redis.pubsub('NUMSUB', 'news', 'x'), ['news', 1, 'x', 0]);
    assert.deepEqual((await redis.pubsub('CHANNELS')).sort(), ['news', 'other']);
    assert.equal(await redis.pubsub('NUMPAT'), 1);
    if (world.protocol === 2) await assert.rejects(subscriber.get('k'), /subscriber mode/);
    else assert.equal(await subscriber.get('k'), null);
    assert.equal(await subscriber.unsubscribe('news', 'other'), 1);
    assert.equal(await subscriber.punsubscribe('n*'), 0);
    assert.equal(await subscriber.get('k'), null, 'an ordinary connection again');
  });

  test('bytes', async () => {
    const subscriber = world.connect();
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await subscriber.subscribe(all);
    const message = once(subscriber, 'messageBuffer');
    await redis.publish(all, all);
    assert.deepEqual(await message, [all, all]);
  });

  test('sharded channels', async () => {
    const subscriber = world.connect();
    assert.equal(await subscriber.ssubscribe('orders'), 1);
    const message = once(subscriber, 'smessage');
    assert.equal(await redis.publish('orders', 'not for shards'), 0);
    assert.equal(await redis.spublish('orders', 'one'), 1);
    assert.deepEqual(await message, ['orders', 'one']);
  });

  test('messages arrive complete and in order', async () => {
    const [publishers, count] = [4, 200];
    const received = Array.from({ length: 10 }, async () => {
      const subscriber = world.connect();
      const all = new Promise((resolve, reject) => {
        const next = Array(publishers).fill(0);
        let left = publishers * count;
        subscriber.on('message', (_channel, text) => {
          const [name, i] = text.split(' ').map(Number);
          if (i !== next[name]) reject(new Error(`${text} came instead of ${next[name]}`));
          next[name]++;
          if (--left === 0) resolve();
        });
      });
      await subscriber.subscribe('c');
      return all;
    });
    while ((await redis.pubsub('NUMSUB', 'c'))[1] < received.length);
    for (let name = 0; name < publishers; name++) {
      const publisher = world.connect();
      for (let i = 0; i < count; i++) publisher.publish('c', `${name} ${i}`);
    }
    await Promise.all(received);
  });

  test('keyspace events', async () => {
    const subscriber = world.connect();
    await redis.config('SET', 'notify-keyspace-events', 'KEA');
    await subscriber.psubscribe('__keyevent@0__:*');
    const expected = ['rpush l', 'lpop l', 'del l', 'hset h', 'set k', 'expire k', 'expired k'];
    const seen = [];
    const all = new Promise((resolve) => {
      subscriber.on('pmessage', (_pattern, channel, key) => {
        seen.push(`${channel.slice('__keyevent@0__:'.length)} ${key}`);
        if (seen.length === expected.length) resolve();
      });
    });
    await redis.pipeline().rpush('l', 1).lpop('l').hset('h', 'f', 'v').set('k', 'v', 'PX', 1).exec();
    await all;
    assert.deepEqual(seen, expected);
    await redis.config('SET', 'notify-keyspace-events', '');
  });
});
