// Live channels with centrifuge-js, unchanged, over every transport that browsers have.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, describe, test } = require('node:test');
const { Centrifuge } = require('centrifuge');
const { EventSource } = require('eventsource');
const WebSocket = require('ws');
const { connect } = require('./connect.js');
const { freePort, start } = require('./server.js');
const { now, token } = require('./token.js');

const CONFIG = {
  client: {
    allow_anonymous_connect_without_token: true,
    allowed_origins: ['*'],
    token: { hmac_secret_key: 'secret' },
  },
  channel: {
    namespaces: [
      {
        name: 'chat',
        presence: true,
        join_leave: true,
        force_push_join_leave: true,
        history_size: 100,
        history_ttl: '300s',
        force_recovery: true,
        allow_subscribe_for_client: true,
        allow_subscribe_for_anonymous: true,
        allow_publish_for_subscriber: true,
        allow_publish_for_anonymous: true,
        allow_presence_for_subscriber: true,
        allow_presence_for_anonymous: true,
        allow_history_for_subscriber: true,
        allow_history_for_anonymous: true,
      },
      { name: 'plain', allow_subscribe_for_client: true, allow_subscribe_for_anonymous: true, publish_from_resp: 'wrap' },
      {
        name: 'asks',
        allow_subscribe_for_client: true,
        allow_subscribe_for_anonymous: true,
        publish_proxy_enabled: true,
        publish_proxy_name: 'in_store',
      },
      { name: 'tok' },
      { name: 'events', topic: 'events.{channel}', allow_subscribe_for_client: true, allow_subscribe_for_anonymous: true },
    ],
  },
  proxies: [{ name: 'in_store', endpoint: 'function:decide' }],
  rpc: { without_namespace: { proxy_enabled: true, proxy_name: 'in_store' } },
  http_api: { key: 'K' },
  sse: { enabled: true },
  http_stream: { enabled: true },
  uni_sse: { enabled: true },
  uni_http_stream: { enabled: true },
  uni_websocket: { enabled: true },
};

let server;
let dir;
let web;

before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-live-'));
  const file = path.join(dir, 'live.json');
  fs.writeFileSync(file, JSON.stringify(CONFIG));
  web = await freePort();
  server = await start('--web-port', String(web), '--live-config', file, '--threads', '2');
});
after(async () => {
  await server?.stop();
  fs.rmSync(dir, { recursive: true, force: true });
});

const at = (name) => ({
  websocket: `ws://127.0.0.1:${web}/connection/websocket`,
  sse: `http://127.0.0.1:${web}/connection/sse`,
  http_stream: `http://127.0.0.1:${web}/connection/http_stream`,
}[name]);

function client(transport, options = {}) {
  const common = { websocket: WebSocket, fetch, readableStream: ReadableStream, eventsource: EventSource, ...options };
  common.emulationEndpoint = `http://127.0.0.1:${web}/emulation`;
  return new Centrifuge([{ transport, endpoint: at(transport) }], common);
}

const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

async function api(method, body) {
  const answer = await fetch(`http://127.0.0.1:${web}/api/${method}`, {
    method: 'POST',
    headers: { 'X-API-Key': 'K', 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: answer.ok ? await answer.json() : null };
}

for (const transport of ['websocket', 'sse', 'http_stream']) {
  describe(transport, () => {
    test('publications, joins, presence, history', async () => {
      const channel = `chat:${transport}`;
      const [a, b] = [client(transport), client(transport)];
      const connected = event(a, 'connected');
      a.connect();
      assert.match((await connected).client, /^[0-9a-f-]{36}$/);
      const subA = a.newSubscription(channel, { joinLeave: true, positioned: true, recoverable: true });
      const joined = event(subA, 'join');
      const subscribed = event(subA, 'subscribed');
      subA.subscribe();
      const { recoverable, positioned, streamPosition } = await subscribed;
      assert.deepEqual([recoverable, positioned, streamPosition.offset], [true, true, 0]);
      assert.equal((await joined).info.client, (await connected).client, 'its own join');
      const other = event(subA, 'join');
      b.connect();
      const subB = b.newSubscription(channel);
      subB.subscribe();
      await subB.ready();
      assert.notEqual((await other).info.client, (await connected).client);
      const seen = [event(subA, 'publication'), event(subB, 'publication')];
      await subB.publish({ text: 'hi\n"there"' });
      for (const publication of await Promise.all(seen)) {
        assert.deepEqual([publication.data, publication.offset], [{ text: 'hi\n"there"' }, 1]);
      }
      assert.equal(Object.keys((await subA.presence()).clients).length, 2);
      assert.deepEqual(await subA.presenceStats(), { numClients: 2, numUsers: 1 });
      const history = await subA.history({ limit: 10 });
      assert.deepEqual([history.offset, history.publications.length], [1, 1]);
      await assert.rejects(subA.history({ limit: 1, since: { offset: 0, epoch: 'zzzz' } }), { code: 112 });
      const left = event(subA, 'leave');
      subB.unsubscribe();
      assert.equal((await left).info.client !== undefined, true);
      a.disconnect();
      b.disconnect();
    });

    test('what was missed is recovered', async () => {
      const channel = `chat:recover-${transport}`;
      const a = client(transport, { minReconnectDelay: 1, maxReconnectDelay: 50 });
      a.connect();
      const sub = a.newSubscription(channel);
      const got = [];
      sub.on('publication', (p) => got.push(p.offset));
      sub.subscribe();
      await sub.ready();
      for (let n = 1; n <= 3; n++) assert.equal((await api('publish', { channel, data: { n } })).body.result.offset, n);
      while (got.length < 3) await event(sub, 'publication');
      const again = event(sub, 'subscribed');
      const dropped = event(a, 'connecting');
      const { clients } = await sub.presence();
      const disconnect = { code: 4000, reason: 'again' };
      assert.deepEqual((await api('disconnect', { user: '', client: Object.keys(clients)[0], disconnect })).body, { result: {} });
      assert.equal((await dropped).code, 4000);
      for (let n = 4; n <= 8; n++) await api('publish', { channel, data: { n } });
      const { wasRecovering, recovered } = await again;
      assert.deepEqual([wasRecovering, recovered], [true, true]);
      while (got.length < 8) await event(sub, 'publication');
      assert.deepEqual(got, [1, 2, 3, 4, 5, 6, 7, 8]);
      a.disconnect();
    });

    test('records of a topic, from the first one on', async () => {
      const redis = connect(server);
      const append = (n) => redis.call('TOPIC.APPEND', `events.${transport}`, 'RECORDS', JSON.stringify({ n }));
      const a = client(transport, { minReconnectDelay: 1, maxReconnectDelay: 50 });
      a.connect();
      const options = { since: { offset: 0, epoch: '' }, minResubscribeDelay: 1, maxResubscribeDelay: 50 };
      const sub = a.newSubscription(`events:${transport}`, options);
      const got = [];
      sub.on('publication', (p) => got.push([p.offset, p.data.n]));
      // There is no topic yet: the client tries again.
      const failed = event(sub, 'error');
      sub.subscribe();
      assert.equal((await failed).error.code, 102);
      for (let n = 0; n < 5; n++) await append(n);
      while (got.length < 5) await event(sub, 'publication');
      const again = event(sub, 'subscribed');
      a.disconnect();
      for (let n = 5; n < 9; n++) await append(n);
      a.connect();
      const { wasRecovering, recovered } = await again;
      assert.deepEqual([wasRecovering, recovered], [true, true]);
      while (got.length < 9) await event(sub, 'publication');
      await append(9);
      while (got.length < 10) await event(sub, 'publication');
      assert.deepEqual(got, Array.from({ length: 10 }, (_, n) => [n + 1, n]));
      a.disconnect();
      redis.disconnect();
    });
  });
}

describe('rules', () => {
  test('a subscription without permission, of no namespace, with a token', async () => {
    const a = client('websocket', { token: token({ sub: '42', info: { name: 'Ann' } }) });
    a.connect();
    await a.ready();
    for (const [channel, code] of [['tok:1', 103], ['nothing:1', 102]]) {
      const sub = a.newSubscription(channel);
      const ended = event(sub, 'unsubscribed');
      sub.subscribe();
      assert.equal((await ended).code, code);
    }
    const channel = 'tok:2';
    const sub = a.newSubscription(channel, { token: token({ sub: '42', channel, exp: now() + 100 }) });
    const subscribed = event(sub, 'subscribed');
    sub.subscribe();
    await subscribed;
    a.disconnect();
    const bad = client('websocket', { token: 'bad' });
    const ended = event(bad, 'disconnected');
    bad.connect();
    assert.equal((await ended).code, 3500);
  });

  test('the API subscribes, unsubscribes, disconnects a user', async () => {
    const a = client('websocket', { token: token({ sub: 'api' }) });
    a.connect();
    await a.ready();
    const subscribed = event(a, 'subscribed');
    assert.deepEqual((await api('subscribe', { user: 'api', channel: 'chat:ss' })).body, { result: {} });
    assert.equal((await subscribed).channel, 'chat:ss');
    const published = event(a, 'publication');
    await api('publish', { channel: 'chat:ss', data: { z: 1 } });
    assert.deepEqual((await published).data, { z: 1 });
    const presence = (await api('presence', { channel: 'chat:ss' })).body.result.presence;
    assert.equal(Object.values(presence)[0].user, 'api');
    assert.deepEqual((await api('channels', { pattern: 'chat:ss' })).body.result.channels, { 'chat:ss': { num_clients: 1 } });
    const unsubscribed = event(a, 'unsubscribed');
    await api('unsubscribe', { user: 'api', channel: 'chat:ss' });
    await unsubscribed;
    const ended = event(a, 'disconnected');
    await api('disconnect', { user: 'api', disconnect: { code: 4501, reason: 'bye' } });
    const { code, reason } = await ended;
    assert.deepEqual([code, reason], [4501, 'bye']);
  });

  test('the API needs its key and says what is wrong', async () => {
    const answer = await fetch(`http://127.0.0.1:${web}/api/publish`, { method: 'POST', body: '{}' });
    assert.equal(answer.status, 401);
    assert.equal((await api('publish', { channel: 'nothing:1', data: {} })).body.error.code, 102);
    assert.equal((await api('publish', { channel: 'chat:1' })).body.error.code, 107);
    const keyed = { channel: 'chat:key', data: { n: 1 }, idempotency_key: 'one' };
    const [first, second] = [await api('publish', keyed), await api('publish', keyed)];
    assert.equal(first.body.result.offset, 1);
    assert.deepEqual(first.body, second.body);
    const batch = await api('batch', { commands: [{ publish: { channel: 'chat:key', data: 1 } }, { history: { channel: 'chat:key', limit: 5 } }] });
    assert.equal(batch.body.replies[1].history.publications.length, 2);
  });

  test('history and position are keys in the layout of Centrifugo', async () => {
    const redis = connect(server);
    await api('publish', { channel: 'chat:keys', data: { n: 1 } });
    const meta = await redis.hgetall('centrifugo.stream.meta.chat:keys');
    assert.equal(meta.s, '1');
    assert.match(meta.e, /^[a-zA-Z]{8}$/);
    const [[id, fields]] = await redis.xrange('centrifugo.stream.chat:keys', '-', '+');
    assert.deepEqual([id, fields[0], fields[1].includes('{"n":1}')], ['1-0', 'd', true]);
    redis.disconnect();
  });
});

describe('the store', () => {
  const LIBRARY = `#!lua name=live
redis.register_function('decide', function(keys, args)
  local asked = cjson.decode(args[2])
  if args[1] == 'publish' then
    if asked.data.bad then return '{"error":{"code":1000,"message":"bad words"}}' end
    return cjson.encode({result = {data = {said = asked.data.text, n = redis.call('INCR', 'said')}}})
  end
  return cjson.encode({result = {data = {event = args[1], method = asked.method, data = asked.data}}})
end)`;

  test('a function decides on publications and answers calls', async () => {
    const redis = connect(server);
    await redis.function('LOAD', LIBRARY);
    const a = client('websocket');
    a.connect();
    const sub = a.newSubscription('asks:1');
    sub.subscribe();
    await sub.ready();
    assert.deepEqual((await a.rpc('sum', [1])).data, { event: 'rpc', method: 'sum', data: [1] });
    const published = event(sub, 'publication');
    await sub.publish({ text: 'hi' });
    assert.deepEqual((await published).data, { said: 'hi', n: 1 });
    await assert.rejects(sub.publish({ bad: true }), { code: 1000, message: 'bad words' });
    assert.equal(await redis.get('said'), '1');
    a.disconnect();
    redis.disconnect();
  });

  test('a plain PUBLISH reaches browsers where the namespace lets it', async () => {
    const redis = connect(server);
    const a = client('websocket');
    a.connect();
    const sub = a.newSubscription('plain:1');
    const got = [];
    sub.on('publication', (p) => got.push(p.data));
    sub.subscribe();
    await sub.ready();
    assert.equal(await redis.publish('plain:1', '{"a":1}'), 1);
    assert.equal(await redis.publish('plain:1', 'no "JSON"'), 1);
    while (got.length < 2) await event(sub, 'publication');
    assert.deepEqual(got, [{ a: 1 }, 'no "JSON"']);
    sub.unsubscribe();
    a.disconnect();
    redis.disconnect();
  });
});

describe('one direction', () => {
  test('Server-Sent Events and an HTTP stream', async () => {
    for (const [name, begin] of [['uni_sse', 'data: '], ['uni_http_stream', '']]) {
      const asked = JSON.stringify({ subs: { 'chat:uni': {} } });
      const url = `http://127.0.0.1:${web}/connection/${name}`;
      const answer = name === 'uni_sse'
        ? await fetch(`${url}?cf_connect=${encodeURIComponent(asked)}`)
        : await fetch(url, { method: 'POST', body: asked });
      assert.equal(answer.status, 200);
      const reader = answer.body.getReader();
      let text = '';
      const until = async (what) => {
        while (!text.includes(what)) {
          const { value, done } = await reader.read();
          assert.ok(!done, text);
          text += Buffer.from(value).toString();
        }
      };
      await until('"chat:uni":{');
      assert.ok(text.includes(`${begin}{"connect":{"client":`), text);
      await api('publish', { channel: 'chat:uni', data: { name } });
      await until(`"pub":{"data":{"name":"${name}"}`);
      await reader.cancel();
    }
  });
});

describe('commands', () => {
  test('the API over the Redis protocol, in transactions and scripts', async () => {
    const redis = connect(server);
    const a = client('websocket');
    a.connect();
    const sub = a.newSubscription('chat:resp');
    const got = [];
    sub.on('publication', (p) => got.push([p.offset, p.data, p.tags]));
    sub.subscribe();
    await sub.ready();
    const [offset, epoch] = await redis.call('LIVE.PUBLISH', 'chat:resp', '{"n":1}', 'TAG', 'k', 'v');
    assert.equal(offset, 1);
    const both = await redis.multi().set('x', 1).call('LIVE.PUBLISH', 'chat:resp', '{"n":2}').exec();
    assert.deepEqual(both[1], [null, [2, epoch]]);
    assert.deepEqual(await redis.eval("return redis.call('LIVE.PUBLISH', 'chat:resp', '3')", 0), [3, epoch]);
    while (got.length < 3) await event(sub, 'publication');
    assert.deepEqual(got, [[1, { n: 1 }, { k: 'v' }], [2, { n: 2 }, undefined], [3, 3, undefined]]);
    assert.equal(JSON.parse(await redis.call('LIVE.HISTORY', 'chat:resp', 'LIMIT', 10)).publications.length, 3);
    assert.equal(JSON.parse(await redis.call('LIVE.PRESENCE_STATS', 'chat:resp')).num_clients, 1);
    await assert.rejects(redis.call('LIVE.PUBLISH', 'nothing:1', '1'), /102/);
    assert.match(await redis.info('live'), /live_clients:[1-9]/);
    a.disconnect();
    redis.disconnect();
  });
});
