// Blocking commands with ioredis: served, timed out, unblocked; and a queue with several workers.
'use strict';

const assert = require('node:assert/strict');
const { beforeEach, test } = require('node:test');
const { PATIENCE_S, bothProtocols } = require('./connect.js');

bothProtocols((world) => {
  let redis;
  let waiter;
  beforeEach(() => {
    redis = world.redis;
    waiter = world.connect();
  });

  async function blocked(count) {
    while (!(await redis.info('clients')).includes(`\r\nblocked_clients:${count}\r\n`));
  }

  test('served by another connection', async () => {
    const cases = [
      [() => waiter.blpop('l', 'm', PATIENCE_S), () => redis.rpush('m', 1), ['m', '1']],
      [() => waiter.brpop('l', PATIENCE_S), () => redis.rpush('l', 1, 2), ['l', '2']],
      [() => waiter.blmove('s', 'd', 'LEFT', 'RIGHT', PATIENCE_S), () => redis.rpush('s', 1), '1'],
      [() => waiter.brpoplpush('t', 'd', PATIENCE_S), () => redis.rpush('t', 1), '1'],
      [() => waiter.blmpop(PATIENCE_S, 2, 'p', 'q', 'RIGHT', 'COUNT', 2), () => redis.rpush('q', 1, 2, 3), ['q', ['3', '2']]],
      [() => waiter.bzpopmin('z', PATIENCE_S), () => redis.zadd('z', 1, 'a', 2, 'b'), ['z', 'a', '1']],
      [() => waiter.bzpopmax('y', PATIENCE_S), () => redis.zadd('y', 1, 'a', 2, 'b'), ['y', 'b', '2']],
      [() => waiter.bzmpop(PATIENCE_S, 1, 'x', 'MAX'), () => redis.zadd('x', 1.5, 'a'), ['x', [['a', '1.5']]]],
    ];
    for (const [call, serve, expected] of cases) {
      const reply = call();
      await blocked(1);
      await serve();
      assert.deepEqual(await reply, expected);
      await blocked(0);
    }
  });

  test('readers of a stream', async () => {
    const member = world.connect();
    await redis.xgroup('CREATE', 's', 'g', '$', 'MKSTREAM');
    const read = waiter.xread('BLOCK', PATIENCE_S * 1000, 'STREAMS', 's', '$');
    const taken = member.xreadgroup('GROUP', 'g', 'me', 'BLOCK', PATIENCE_S * 1000, 'STREAMS', 's', '>');
    await blocked(2);
    const id = await redis.xadd('s', '*', 'n', 1);
    const expected = [['s', [[id, ['n', '1']]]]];
    assert.deepEqual(await read, expected);
    assert.deepEqual(await taken, expected);
  });

  test('timeouts', async () => {
    const started = performance.now();
    assert.equal(await waiter.blpop('l', 0.05), null);
    assert.equal(await waiter.bzpopmin('z', 0.05), null);
    assert.equal(await waiter.blmove('l', 'm', 'LEFT', 'LEFT', 0.05), null);
    assert.equal(await waiter.xread('BLOCK', 50, 'STREAMS', 's', '$'), null);
    assert.ok(performance.now() - started >= 190);
    await assert.rejects(waiter.blpop('l', -1), { message: 'ERR timeout is negative' });
  });

  test('CLIENT UNBLOCK', async () => {
    const id = await waiter.client('ID');
    for (const how of ['TIMEOUT', 'ERROR']) {
      // Rejections are looked at only below.
      const reply = waiter.blpop('l', 0).then((value) => ({ value }), (error) => ({ error }));
      await blocked(1);
      assert.equal(await redis.client('UNBLOCK', id, how), 1);
      const { value, error } = await reply;
      if (how === 'TIMEOUT') assert.equal(value, null);
      else assert.equal(error.message, 'UNBLOCKED client unblocked via CLIENT UNBLOCK');
      assert.equal(await redis.client('UNBLOCK', id, how), 0);
    }
  });

  test('workers share a queue', async () => {
    const [count, jobs] = [8, 400];
    const workers = Array.from({ length: count }, () => world.connect());
    const done = [];
    const work = workers.map(async (worker) => {
      for (;;) {
        const job = await worker.blmove('queue', 'doing', 'RIGHT', 'LEFT', 0);
        if (job === 'stop') return;
        assert.equal(await worker.lrem('doing', 1, job), 1);
        done.push(job);
      }
    });
    const names = Array.from({ length: jobs }, (_, i) => `job${i}`);
    await Promise.all(names.map((name) => redis.lpush('queue', name)));
    await redis.lpush('queue', ...workers.map(() => 'stop'));
    await Promise.all(work);
    assert.deepEqual(done.sort(), names.sort());
  });
});
