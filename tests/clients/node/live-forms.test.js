// Live channels with centrifuge-js in both forms of its protocol: JSON and Protobuf, with deltas and what was missed.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, describe, test } = require('node:test');
const json = require('centrifuge');
const protobuf = require('centrifuge/build/protobuf');
const { EventSource } = require('eventsource');
const WebSocket = require('ws');
const { freePort, start } = require('./server.js');

const OPEN = Object.fromEntries(['subscribe', 'publish', 'presence', 'history']
  .flatMap((what) => [[`allow_${what}_for_client`, true], [`allow_${what}_for_anonymous`, true]]));
const CONFIG = {
  client: { allow_anonymous_connect_without_token: true, allowed_origins: ['*'] },
  channel: {
    namespaces: [{
      ...OPEN,
      name: 'doc',
      presence: true,
      join_leave: true,
      force_push_join_leave: true,
      history_size: 100,
      history_ttl: '300s',
      force_recovery: true,
      allowed_delta_types: ['fossil'],
      delta_publish: true,
    }],
  },
  http_api: { key: 'K' },
  http_stream: { enabled: true },
  sse: { enabled: true },
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

const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));
const encode = { json: (value) => value, protobuf: (value) => new TextEncoder().encode(JSON.stringify(value)) };
const decode = { json: (data) => data, protobuf: (data) => JSON.parse(new TextDecoder().decode(data)) };

async function api(method, body) {
  const headers = { 'X-API-Key': 'K' };
  const answer = await fetch(`http://127.0.0.1:${web}/api/${method}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()).result;
}

const document = (n) => ({ n, text: 'the same words again and again '.repeat(5) + 'é'.repeat(n) + 'ü€😀'.repeat(20) });

for (const [form, transport] of [['json', 'websocket'], ['protobuf', 'websocket'], ['json', 'http_stream'], ['protobuf', 'http_stream'], ['json', 'sse']]) {
  const { Centrifuge } = { json, protobuf }[form];
  const client = () => {
    const scheme = transport === 'websocket' ? 'ws' : 'http';
    return new Centrifuge([{ transport, endpoint: `${scheme}://127.0.0.1:${web}/connection/${transport}` }], {
      websocket: WebSocket,
      fetch,
      readableStream: ReadableStream,
      eventsource: EventSource,
      emulationEndpoint: `http://127.0.0.1:${web}/emulation`,
      minReconnectDelay: 1,
      maxReconnectDelay: 50,
    });
  };

  describe(`${form} over ${transport}`, () => {
    test('deltas, and what was missed as deltas', async () => {
      const channel = `doc:delta-${form}-${transport}`;
      const a = client();
      a.connect();
      const sub = a.newSubscription(channel, { delta: 'fossil' });
      const got = [];
      sub.on('publication', (p) => got.push([p.offset, decode[form](p.data)]));
      sub.subscribe();
      await sub.ready();
      const upTo = async (n) => {
        while (got.length < n) await event(sub, 'publication');
        assert.deepEqual(got, Array.from({ length: n }, (_, i) => [i + 1, document(i)]));
      };
      for (let n = 0; n < 4; n++) await api('publish', { channel, data: document(n) });
      await upTo(4);
      const [own] = Object.keys((await sub.presence()).clients);
      const again = event(sub, 'subscribed');
      const dropped = event(a, 'connecting');
      await api('disconnect', { user: '', client: own, disconnect: { code: 4000, reason: 'again' } });
      await dropped;
      for (let n = 4; n < 8; n++) await api('publish', { channel, data: document(n) });
      assert.equal((await again).recovered, true);
      await upTo(8);
      for (let n = 8; n < 10; n++) await sub.publish(encode[form](document(n)));
      await upTo(10);
      const { publications } = await sub.history({ limit: 2, since: { offset: 8, epoch: (await sub.history({ limit: 0 })).epoch } });
      assert.deepEqual(publications.map((p) => decode[form](p.data).n), [8, 9], 'a history is whole');
      a.disconnect();
    });

    test('joins, presence, errors', async () => {
      const channel = `doc:joins-${form}-${transport}`;
      const [a, b] = [client(), client()];
      a.connect();
      const sub = a.newSubscription(channel, { joinLeave: true });
      const joins = [];
      sub.on('join', (j) => joins.push(j.info.client));
      sub.subscribe();
      await sub.ready();
      b.connect();
      const other = b.newSubscription(channel);
      other.subscribe();
      await other.ready();
      while (joins.length < 2) await event(sub, 'join');
      assert.deepEqual(Object.keys((await sub.presence()).clients).sort(), joins.sort());
      assert.deepEqual(await sub.presenceStats(), { numClients: 2, numUsers: 1 });
      const left = event(sub, 'leave');
      b.disconnect();
      assert.ok(joins.includes((await left).info.client));
      const refused = a.newSubscription('none:1');
      const ended = event(refused, 'unsubscribed');
      refused.subscribe();
      assert.equal((await ended).code, 102);
      await assert.rejects(a.rpc('none', encode[form](1)), { code: 104 });
      const unsubscribed = event(sub, 'unsubscribed');
      await api('unsubscribe', { user: '', client: joins.find((c) => c), channel });
      await api('unsubscribe', { user: '', channel });
      assert.equal((await unsubscribed).code, 2000);
      a.disconnect();
    });
  });
}
