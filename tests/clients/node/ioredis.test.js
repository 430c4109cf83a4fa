// ioredis against the whole apus binary: strings, pipelines, connections, the server.
'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const { after, before, beforeEach, test } = require('node:test');
const { connect: connectTo } = require('./connect.js');
const { start } = require('./server.js');

let server;
let redis;

before(async () => {
  server = await start();
  redis = connect();
});
after(async () => {
  redis?.disconnect();
  await server?.stop();
});
beforeEach(() => redis.flushall());

const connect = (options) => connectTo(server, options);

test('strings', async () => {
  assert.equal(await redis.set('k', 'v'), 'OK');
  assert.equal(await redis.get('k'), 'v');
  assert.equal(await redis.get('nope'), null);
  assert.equal(await redis.set('k', 'w', 'NX'), null);
  assert.equal(await redis.set('k', 'w', 'EX', 100, 'GET'), 'v');
  assert.equal(await redis.append('k', 'xyz'), 4);
  assert.equal(await redis.getrange('k', 1, -1), 'xyz');
  assert.equal(await redis.mset({ a: 1, b: 2 }), 'OK');
  assert.deepEqual(await redis.mget('a', 'none', 'b'), ['1', null, '2']);
  assert.equal(await redis.incrbyfloat('a', 0.5), '1.5');
  await assert.rejects(redis.incr('k'), { message: 'ERR value is not an integer or out of range' });
  assert.equal(await redis.del('a', 'b', 'c'), 2);
});

test('every byte', async () => {
  const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  await redis.set(all, all);
  assert.deepEqual(await redis.getBuffer(all), all);
  assert.deepEqual(await redis.keysBuffer('*'), [all]);
});

test('expiry', async () => {
  await redis.set('k', 'v', 'PX', 100_000);
  const ttl = await redis.pttl('k');
  assert.ok(ttl > 0 && ttl <= 100_000, `PTTL is ${ttl}`);
  assert.equal(await redis.persist('k'), 1);
  assert.equal(await redis.ttl('k'), -1);
  assert.equal(await redis.pexpire('k', 1), 1);
  while ((await redis.exists('k')) === 1);
  assert.equal(await redis.ttl('k'), -2);
});

test('bits', async () => {
  await redis.set('s', 'foobar');
  assert.equal(await redis.bitcount('s'), 26);
  assert.equal(await redis.setbit('s', 0, 1), 0);
  assert.equal(await redis.getbit('s', 0), 1);
  assert.deepEqual(await redis.bitfield('f', 'SET', 'i8', 0, -1, 'GET', 'u8', 0), [0, 255]);
});

test('a pipeline, with an error in it', async () => {
  const pipeline = redis.pipeline();
  pipeline.set('k', 'text').incr('k').get('k');
  const [set, incr, get] = await pipeline.exec();
  assert.deepEqual(set, [null, 'OK']);
  assert.match(incr[0].message, /^ERR value is not an integer/);
  assert.deepEqual(get, [null, 'text']);
});

test('a pipeline of 20,000 commands', async () => {
  const pipeline = redis.pipeline();
  for (let i = 0; i < 20_000; i++) pipeline.incr('n');
  const replies = await pipeline.exec();
  replies.forEach((reply, i) => assert.deepEqual(reply, [null, i + 1]));
});

test('auto-pipelining', async () => {
  const auto = connect({ enableAutoPipelining: true });
  try {
    const names = Array.from({ length: 5_000 }, (_, i) => `k${i}`);
    const sets = await Promise.all(names.map((name) => auto.set(name, name)));
    assert.ok(sets.every((reply) => reply === 'OK'));
    assert.deepEqual(await Promise.all(names.map((name) => auto.get(name))), names);
    assert.equal(await auto.dbsize(), 5_000);
  } finally {
    auto.disconnect();
  }
});

test('a value of 20 MB', async () => {
  const value = crypto.randomBytes(20_000_000);
  await redis.set('big', value);
  assert.equal(await redis.strlen('big'), value.length);
  assert.ok(value.equals(await redis.getBuffer('big')), '20 MB came back changed');
  const replies = await Promise.all([redis.getBuffer('big'), redis.ping(), redis.getBuffer('big')]);
  assert.ok(value.equals(replies[0]) && replies[1] === 'PONG' && value.equals(replies[2]));
});

test('a scan stream finds every key', async () => {
  const pipeline = redis.pipeline();
  for (let i = 0; i < 10_000; i++) pipeline.set(`key:${i}`, i);
  await pipeline.exec();
  const found = new Set();
  for await (const keys of redis.scanStream({ match: 'key:*', count: 100 })) {
    keys.forEach((key) => found.add(key));
  }
  assert.equal(found.size, 10_000);
});

test('several connections at once', async () => {
  const clients = Array.from({ length: 50 }, () => connect());
  try {
    const work = clients.map(async (client) => {
      for (let i = 0; i < 50; i++) await client.incr('n');
    });
    await Promise.all(work);
    assert.equal(await redis.get('n'), '2500');
  } finally {
    clients.forEach((client) => client.disconnect());
  }
});

test('connection and server commands', async () => {
  const named = connect({ connectionName: 'tester', db: 3 });
  try {
    assert.match(await named.client('INFO'), / name=tester .* db=3 /);
    assert.equal(await named.echo('hi'), 'hi');
    assert.match(await redis.client('LIST'), / name=tester /);
    assert.match(await redis.info('server'), /^redis_version:/m);
    assert.deepEqual(await redis.config('GET', 'databases'), ['databases', '16']);
  } finally {
    named.disconnect();
  }
});

test('a MONITOR connection sees commands', async () => {
  const monitor = await redis.duplicate().monitor();
  try {
    const seen = new Promise((resolve) => {
      monitor.on('monitor', (_time, args) => args[0] === 'set' && resolve(args));
    });
    await redis.set('k', 'two words');
    assert.deepEqual(await seen, ['set', 'k', 'two words']);
  } finally {
    monitor.disconnect();
  }
});
