// Every code that a server tells on its own, as centrifuge-js tells it to an application.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { Centrifuge } = require('centrifuge');
const WebSocket = require('ws');
const { connect } = require('./connect.js');
const { freePort, start } = require('./server.js');
const { now, token } = require('./token.js');

const OPEN = Object.fromEntries(['subscribe', 'publish', 'presence', 'history']
  .flatMap((what) => [[`allow_${what}_for_client`, true], [`allow_${what}_for_anonymous`, true]]));
const HISTORY = { history_size: 10, history_ttl: '60s', force_recovery: true };
const CONFIG = {
  client: {
    allow_anonymous_connect_without_token: true,
    allowed_origins: ['*'],
    token: { hmac_secret_key: 'secret' },
    channel_limit: 2,
    user_connection_limit: 1,
    ping_interval: '1s',
    pong_timeout: '500ms',
    stale_close_delay: '1s',
    expired_sub_close_delay: '1s',
    channel_position_check_delay: '1s',
    rate_limit: { client_command: { enabled: true, rpc: { enabled: true, buckets: [{ rate: 1, interval: '60s' }] } } },
  },
  channel: {
    proxy: { subscribe: { endpoint: 'function:decide' } },
    namespaces: [
      { ...OPEN, name: 'hist', ...HISTORY },
      { ...OPEN, name: 'plain' },
      { ...OPEN, name: 'over', subscribe_proxy_enabled: true },
      { ...OPEN, name: 'lost', subscribe_proxy_enabled: true, subscribe_proxy_name: 'lost' },
    ],
  },
  proxies: [{ name: 'lost', endpoint: 'function:nothing' }],
  http_api: { key: 'K' },
};

let server;
let dir;
let web;
const clients = [];

before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-live-'));
  const file = path.join(dir, 'live.json');
  fs.writeFileSync(file, JSON.stringify(CONFIG));
  web = await freePort();
  server = await start('--web-port', String(web), '--live-config', file, '--threads', '2');
  const c = connect(server);
  await c.call('FUNCTION', 'LOAD', `#!lua name=codes
redis.register_function('decide', function() return '{"result": {"expire_at": 1}}' end)`);
  c.disconnect();
});
after(async () => {
  clients.forEach((c) => c.disconnect());
  await server?.stop();
  fs.rmSync(dir, { recursive: true, force: true });
});

const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

// A client that is not connected yet; with a user, or with the claims of a token.
function client(claims, options = {}, port = web) {
  const own = typeof claims === 'string' ? { sub: claims } : claims;
  const made = new Centrifuge(`ws://127.0.0.1:${port}/connection/websocket`, {
    websocket: WebSocket, minReconnectDelay: 50, maxReconnectDelay: 100, ...(own ? { token: token(own) } : {}), ...options,
  });
  clients.push(made);
  return made;
}

async function connected(...args) {
  const c = client(...args);
  const there = event(c, 'connected');
  c.connect();
  await there;
  return c;
}

// The code with which a client is connecting again, or has ended, after it was there.
function end(c) {
  return new Promise((resolve) => {
    c.on('disconnected', ({ code }) => resolve(code));
    c.on('connecting', ({ code }) => { if (code !== 0) resolve(code); });
  });
}

async function api(method, body) {
  const headers = { 'X-API-Key': 'K' };
  const answer = await fetch(`http://127.0.0.1:${web}/api/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const { result, error } = await answer.json();
  assert.equal(error, undefined);
  return result;
}

// How a subscription ends before it has begun.
function refused(c, channel) {
  const sub = c.newSubscription(channel);
  const ended = event(sub, 'unsubscribed');
  sub.subscribe();
  return ended.then(({ code }) => code);
}

test('100: the application cannot be asked', async () => {
  const c = await connected();
  const sub = c.newSubscription('lost:a');
  const error = event(sub, 'error');
  sub.subscribe();
  const { error: { code, temporary } } = await error;
  assert.deepEqual([code, temporary], [100, true]);
  assert.equal(sub.state, 'subscribing');
  c.disconnect();
});

test('105: the server has subscribed the client already', async () => {
  const c = await connected('u105');
  const there = event(c, 'subscribed');
  await api('subscribe', { user: 'u105', channel: 'plain:a' });
  await there;
  assert.equal(await refused(c, 'plain:a'), 105);
});

test('106 and 3505: more channels than a client may have', async () => {
  const c = await connected('u106');
  for (const channel of ['plain:a', 'plain:b']) {
    const sub = c.newSubscription(channel);
    sub.subscribe();
    await sub.ready();
  }
  assert.equal(await refused(c, 'plain:c'), 106);
  const greedy = client({ sub: 'u3505', channels: ['plain:a', 'plain:b', 'plain:c'] });
  const ended = end(greedy);
  greedy.connect();
  assert.equal(await ended, 3505);
});

test('108: what the namespace does not offer', async () => {
  const c = await connected();
  const sub = c.newSubscription('plain:a');
  sub.subscribe();
  await sub.ready();
  await assert.rejects(sub.history({ limit: 1 }), { code: 108 });
  await assert.rejects(sub.presence(), { code: 108 });
});

test('109: the SDK fetches another token', async () => {
  let fetched = 0;
  const c = client({ sub: 'u109', exp: now() - 10 }, {
    getToken: async () => { fetched += 1; return token({ sub: 'u109', exp: now() + 100 }); },
  });
  const errors = [];
  c.on('error', ({ error }) => errors.push(error.code));
  const there = event(c, 'connected');
  c.connect();
  await there;
  assert.equal(fetched, 1);
  assert.ok(errors.includes(109), String(errors));
});

test('110: what the application permits is over already', async () => {
  assert.equal(await refused(await connected(), 'over:a'), 110);
});

test('111: more commands than permitted', async () => {
  const c = await connected();
  await assert.rejects(c.rpc('x', {}), { code: 104 });
  await assert.rejects(c.rpc('x', {}), { code: 111, temporary: true });
});

// A history that is gone has another epoch when it begins anew.
async function forget(channel) {
  const c = connect(server);
  for (const key of await c.call('KEYS', `*${channel}*`)) await c.call('DEL', key);
  c.disconnect();
}

test('2500: the subscription recovers, or is told that it cannot', async () => {
  const c = await connected();
  const sub = c.newSubscription('hist:a');
  sub.subscribe();
  await sub.ready();
  await api('publish', { channel: 'hist:a', data: 1 });
  const again = event(sub, 'subscribing');
  const back = new Promise((resolve) => sub.on('subscribed', resolve));
  await forget('hist:a');
  await api('publish', { channel: 'hist:a', data: 2 });
  assert.equal((await again).code, 2500);
  const { wasRecovering, recovered } = await back;
  assert.deepEqual([wasRecovering, recovered], [true, false]);
});

test('3010: the same of a subscription by the server', async () => {
  const c = await connected('u3010');
  const there = event(c, 'subscribed');
  await api('subscribe', { user: 'u3010', channel: 'hist:b' });
  await there;
  const ended = end(c);
  await api('publish', { channel: 'hist:b', data: 1 });
  await forget('hist:b');
  await api('publish', { channel: 'hist:b', data: 2 });
  assert.equal(await ended, 3010);
});

test('3006: a subscription by the server expires', async () => {
  const c = await connected('u3006');
  const ended = end(c);
  await api('subscribe', { user: 'u3006', channel: 'plain:a', expire_at: now() + 1 });
  assert.equal(await ended, 3006);
});

test('3012: a client does not answer pings', async () => {
  const c = await connected();
  c._sendPong = false;
  assert.equal(await end(c), 3012);
});

test('3502: a client does not connect', async () => {
  const socket = new WebSocket(`ws://127.0.0.1:${web}/connection/websocket`);
  const code = await new Promise((resolve) => socket.on('close', resolve));
  assert.equal(code, 3502);
});

test('3503: the API ends a connection', async () => {
  const c = await connected('u3503');
  const ended = end(c);
  await api('disconnect', { user: 'u3503' });
  assert.equal(await ended, 3503);
  assert.equal(c.state, 'disconnected');
});

test('3504: a user has as many connections as permitted', async () => {
  await connected('u3504');
  const second = client('u3504');
  const ended = end(second);
  second.connect();
  assert.equal(await ended, 3504);
});

test('3506: bytes for a client of JSON', async () => {
  const c = await connected();
  const sub = c.newSubscription('plain:bytes');
  sub.subscribe();
  await sub.ready();
  const ended = end(c);
  await api('publish', { channel: 'plain:bytes', b64data: Buffer.from('{x').toString('base64') });
  assert.equal(await ended, 3506);
});

test('3508: there is nobody for messages without a reply', async () => {
  const c = await connected();
  const ended = end(c);
  c.send({}).catch(() => {});
  assert.equal(await ended, 3508);
});

// A server of its own.
async function own(...options) {
  const file = path.join(dir, `live-${Math.random()}.json`);
  fs.writeFileSync(file, JSON.stringify(CONFIG));
  const port = await freePort();
  return { ...await start('--web-port', String(port), '--live-config', file, ...options), web: port };
}

test('3001: the server ends', async () => {
  const other = await own();
  const c = await connected(undefined, {}, other.web);
  const ended = end(c);
  const admin = connect(other);
  admin.call('SHUTDOWN', 'NOSAVE').catch(() => {});
  assert.equal(await ended, 3001);
  c.disconnect();
  await other.stop();
});

test('3004: the broker is not there', async () => {
  const other = await own('--live-broker', `redis://127.0.0.1:${await freePort()}`);
  const c = await connected(undefined, {}, other.web);
  const ended = end(c);
  c.newSubscription('hist:a').subscribe();
  assert.equal(await ended, 3004);
  c.disconnect();
  await other.stop();
});
