// ioredis asks Sentinels for the primary, and follows a failover.
'use strict';

const assert = require('node:assert');
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { Redis } = require('ioredis');
const { freePort, start } = require('./server.js');

const PATIENCE_MS = 180_000;
const missing = spawnSync('redis-server', ['--version']).status !== 0 && 'there is no redis-server';
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const result = await condition().catch(() => false);
    if (result) return result;
    assert.ok(Date.now() < end, `still not so: ${what}`);
    await sleep(50);
  }
}

async function sentinel(t, primary) {
  const port = await freePort();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-sentinel-'));
  const file = path.join(dir, 'sentinel.conf');
  fs.writeFileSync(file, `port ${port}\ndir ${dir}\nsentinel monitor mymaster 127.0.0.1 ${primary} 2\n`
    + 'sentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n');
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const client = new Redis({ port, lazyConnect: false });
  client.on('error', () => {});
  t.after(async () => {
    client.disconnect();
    child.kill('SIGKILL');
    await ended;
    fs.rmSync(dir, { recursive: true, force: true });
  });
  return { port, client };
}

test('a client follows the primary', { skip: missing }, async (t) => {
  const options = ['--repl-diskless-sync-delay', '0'];
  const old = await start(...options);
  const next = await start(...options, '--replicaof', `127.0.0.1 ${old.port}`);
  t.after(() => Promise.all([old.stop(), next.stop()]));
  const sentinels = [];
  for (let i = 0; i < 3; i += 1) sentinels.push(await sentinel(t, old.port));
  for (const { client } of sentinels) {
    await until(async () => (await client.call('SENTINEL', 'REPLICAS', 'mymaster')).length === 1
      && (await client.call('SENTINEL', 'SENTINELS', 'mymaster')).length === 2, 'the Sentinels know all');
  }
  const redis = new Redis({
    sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    name: 'mymaster',
    connectTimeout: PATIENCE_MS,
    maxRetriesPerRequest: null,
    reconnectOnError: (error) => (error.message.includes('READONLY') ? 2 : false),
  });
  redis.on('error', () => {});
  t.after(() => redis.disconnect());
  for (let i = 0; i < 100; i += 1) await redis.rpush('list', i);
  assert.ok((await redis.wait(1, PATIENCE_MS)) >= 1);
  await old.stop();
  // It waits in the client until there is a primary.
  assert.strictEqual(await until(() => redis.set('k', 'after'), 'the write is acknowledged'), 'OK');
  assert.strictEqual((await redis.lrange('list', 0, -1)).length, 100);
  assert.match(await redis.info('server'), new RegExp(`tcp_port:${next.port}\r\n`));
});
