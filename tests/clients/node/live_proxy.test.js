// Live channels that ask an application over HTTP, with centrifuge-js: each kind of question, and each way in which an
// application fails.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, beforeEach, describe, test } = require('node:test');
const { Centrifuge } = require('centrifuge');
const WebSocket = require('ws');
const { Application, FAILURES } = require('./application.js');
const { connect } = require('./connect.js');
const { freePort, start } = require('./server.js');
const { now } = require('./token.js');

let dir;
let app;
let server;
let web;
const open = [];

const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));
const file = (name) => path.join(dir, name);

class Socket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers: { Cookie: 'session=abc', 'X-Secret': 'not listed', 'X-Trace': 'from the request' } });
  }
}

function client(options = {}, port = web) {
  const made = new Centrifuge(`ws://127.0.0.1:${port}/connection/websocket`, { websocket: Socket, ...options });
  open.push(made);
  return made;
}

async function connected(options, port) {
  const made = client(options, port);
  const seen = event(made, 'connected');
  made.connect();
  return [made, await seen];
}

// NAME.crt and NAME.key, signed by ca.
function issue(name, names) {
  const openssl = (...words) => execFileSync('openssl', words, { cwd: dir, stdio: 'pipe' });
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`);
  if (!names) {
    openssl('req', '-x509', '-new', '-key', `${name}.key`, '-out', `${name}.crt`, '-days', '10', '-subj', `/CN=${name}`);
    return;
  }
  openssl('req', '-new', '-key', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  fs.writeFileSync(file('ext'), `subjectAltName=${names}\n`);
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '10', '-extfile', 'ext'];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signed);
}

const asks = (name) => ({ proxy_enabled: true, proxy_name: name });

function configuration(port, secure, gone) {
  const at = (name) => `http://127.0.0.1:${port}/${name}`;
  const failing = Object.keys(FAILURES).map((name) => ({ name, endpoint: at(name), timeout: name === 'slow' ? '200ms' : '60s' }));
  const transforms = [
    { status_code: 404, to_error: { code: 1404, message: 'not found', temporary: true } },
    { status_code: 403, to_disconnect: { code: 4503, reason: 'go away' } },
  ];
  const tls = { enabled: true, server_ca_pem: file('ca.crt'), server_name: 'app.internal' };
  const proxies = [
    ...failing,
    { name: 'rpc', endpoint: at('rpc'), timeout: '60s' },
    { name: 'down', endpoint: `http://127.0.0.1:${gone}/` },
    { name: 'binary', endpoint: at('binary'), binary_encoding: true },
    { name: 'transforms', endpoint: at('transforms'), http: { status_to_code_transforms: transforms } },
    { name: 'tls', endpoint: `https://127.0.0.1:${secure}/rpc`, http: { tls: { ...tls, cert_pem: file('client.crt'), key_pem: fs.readFileSync(file('client.key'), 'utf8') } } },
    { name: 'tls_skip', endpoint: `https://127.0.0.1:${secure}/rpc`, http: { tls: { enabled: true, insecure_skip_verify: true } } },
    { name: 'tls_name', endpoint: `https://127.0.0.1:${secure}/rpc`, http: { tls: { ...tls, server_name: 'other.internal' } } },
    { name: 'tls_system', endpoint: `https://127.0.0.1:${secure}/rpc` },
    { name: 'pub', endpoint: at('publish'), timeout: '60s' },
    { name: 'fun', endpoint: 'function:decide' },
  ];
  const called = [...Object.keys(FAILURES), 'rpc', 'down', 'binary', 'transforms', 'tls', 'tls_skip', 'tls_name', 'tls_system', 'fun'];
  return {
    client: {
      allowed_origins: ['*'],
      proxy: {
        connect: {
          enabled: true,
          endpoint: at('connect'),
          http_headers: ['Cookie', 'X-Trace'],
          emulated_headers: ['X-Own', 'X-Trace'],
          http: { static_headers: { 'X-Static': 'always', 'X-Trace': 'static' } },
        },
        refresh: { enabled: true, endpoint: at('refresh'), include_connection_meta: true },
      },
    },
    channel: {
      proxy: {
        subscribe: { endpoint: at('subscribe'), include_connection_meta: true, timeout: '60s' },
        sub_refresh: { endpoint: at('sub_refresh') },
      },
      namespaces: [
        { name: 'open', allow_subscribe_for_client: true, publish_proxy_enabled: true, publish_proxy_name: 'pub', history_size: 10, history_ttl: '60s' },
        { name: 'ask', subscribe_proxy_enabled: true, sub_refresh_proxy_enabled: true, presence: true },
        { name: 'down', subscribe_proxy_enabled: true, subscribe_proxy_name: 'down' },
      ],
    },
    rpc: { namespaces: called.map((name) => ({ name, ...asks(name) })) },
    proxies,
    http_api: { key: 'K' },
    uni_sse: { enabled: true },
  };
}

before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-live-'));
  issue('ca');
  issue('server', 'DNS:app.internal');
  issue('client', 'DNS:client');
  app = await new Application().listen();
  const read = (name) => fs.readFileSync(file(name));
  const tls = { key: read('server.key'), cert: read('server.crt'), ca: read('ca.crt'), requestCert: true, rejectUnauthorized: false };
  app.secure = await new Application(tls).listen();
  fs.writeFileSync(file('live.json'), JSON.stringify(configuration(app.port, app.secure.port, await freePort())));
  fs.writeFileSync(file('users.acl'), 'user default on nopass ~* &* +@all\nuser decider on >x ~allowed &* +fcall +get +set\n');
  web = await freePort();
  const options = ['--web-port', String(web), '--live-config', file('live.json'), '--threads', '1'];
  server = await start(...options, '--aclfile', file('users.acl'), '--live-user', 'decider');
});
beforeEach(() => {
  app.asked = [];
  app.answers = {
    ...FAILURES,
    connect: () => ({ result: { user: '7', data: { hello: 1 }, info: { name: 'Seven' }, meta: { tenant: 'a' }, channels: ['open:own'] } }),
    rpc: (asked) => ({ result: { data: { got: asked.data, method: asked.method, user: asked.user } } }),
    subscribe: () => ({ result: {} }),
    publish: () => ({ result: {} }),
  };
});
after(async () => {
  open.forEach((one) => one.disconnect());
  await server?.stop();
  await app?.close();
  await app?.secure?.close();
  fs.rmSync(dir, { recursive: true, force: true });
});

describe('connect', () => {
  test('the application says who a client is, by headers that are listed', async () => {
    const [a, seen] = await connected({ data: { invite: 'x' }, name: 'web', version: '2', headers: { 'X-Own': 'emulated', 'X-Trace': 'emulated', Cookie: 'forged' } });
    assert.deepEqual(seen.data, { hello: 1 });
    const [{ headers, body }] = app.of('connect');
    const { client: id, ...rest } = body;
    assert.equal(id, seen.client);
    assert.deepEqual(rest, { transport: 'websocket', protocol: 'json', encoding: 'json', data: { invite: 'x' }, name: 'web', version: '2' });
    const names = ['cookie', 'x-own', 'x-trace', 'x-static', 'x-secret', 'content-type'];
    assert.deepEqual(names.map((name) => headers[name]), ['session=abc', 'emulated', 'from the request', 'always', undefined, 'application/json']);
    assert.deepEqual((await a.rpc('rpc:who', 1)).data, { got: 1, method: 'rpc:who', user: '7' });
    assert.equal((await connected())[1].data.hello, 1);
    assert.equal(app.of('connect')[1].port, app.of('connect')[0].port, 'the connection is used again');
  });

  test('the application refuses', async () => {
    app.answers.connect = () => ({ disconnect: { code: 4501, reason: 'not you' } });
    const a = client();
    const ended = event(a, 'disconnected');
    a.connect();
    assert.deepEqual(await ended, { code: 4501, reason: 'not you' });
    app.answers.connect = () => ({ error: { code: 1234, message: 'no', temporary: false } });
    const b = client();
    const refused = event(b, 'disconnected');
    b.connect();
    assert.equal((await refused).code, 1234);
  });

  test('a client connects as soon as the application is back', async () => {
    app.answers.connect = FAILURES.status;
    const a = client({ minReconnectDelay: 10, maxReconnectDelay: 20 });
    const seen = event(a, 'connected');
    const failed = event(a, 'error');
    a.connect();
    assert.equal((await failed).error.code, 100);
    app.answers.connect = () => ({ result: { user: '7' } });
    await seen;
  });

  test('a client without a result may not connect', async () => {
    app.answers.connect = () => ({});
    const a = client();
    const ended = event(a, 'disconnected');
    a.connect();
    assert.equal((await ended).code, 3501);
  });
});

test('connections of one direction are asked about, too', async () => {
  const read = async () => {
    const answer = await fetch(`http://127.0.0.1:${web}/connection/uni_sse`, { headers: { Cookie: 'session=uni' } });
    const reader = answer.body.getReader();
    let text = '';
    while (!text.includes('data: ')) text += Buffer.from((await reader.read()).value).toString();
    await reader.cancel();
    return JSON.parse(text.slice(text.indexOf('{')).split('\n')[0]);
  };
  const { connect: seen } = await read();
  assert.deepEqual([seen.data, Object.keys(seen.subs)], [{ hello: 1 }, ['open:own']]);
  const [{ headers, body }] = app.of('connect');
  assert.deepEqual([headers.cookie, body.transport, body.client], ['session=uni', 'uni_sse', seen.client]);
  app.answers.connect = () => ({ error: { code: 103, message: 'no' } });
  assert.equal((await read()).disconnect.code, 3507);
});

test('client.concurrency lets so many commands wait at the same time', async () => {
  const config = configuration(app.port, 1, 1);
  config.client.concurrency = 2;
  fs.writeFileSync(file('two.json'), JSON.stringify(config));
  const port = await freePort();
  const other = await start('--web-port', String(port), '--live-config', file('two.json'));
  const [a] = await connected({}, port);
  const waiting = {};
  app.answers.rpc = { raw: (response, { data }) => { waiting[data] = () => response.end(`{"result": {"data": ${data}}}`); } };
  const done = [];
  const calls = [1, 2, 3].map(async (n) => done.push((await a.rpc('rpc:x', n)).data));
  while (!waiting[2]) await new Promise(setImmediate);
  waiting[2]();
  while (!waiting[3]) await new Promise(setImmediate);
  assert.deepEqual(app.of('rpc').map((one) => one.body.data), [1, 2, 3]);
  waiting[3]();
  while (done.length < 2) await new Promise(setImmediate);
  waiting[1]();
  await Promise.all(calls);
  assert.deepEqual(done, [2, 3, 1]);
  a.disconnect();
  await other.stop();
});

describe('refresh', () => {
  test('a connection lives on as long as the application says', async () => {
    let turn = 0;
    app.answers.connect = () => ({ result: { user: '7', expire_at: now() + 1, meta: { tenant: 'a' } } });
    app.answers.refresh = () => {
      turn += 1;
      return { result: turn < 2 ? { expire_at: now() + 1 } : { expired: true } };
    };
    const [a] = await connected();
    const again = event(a, 'connecting');
    assert.equal((await again).code, 3005);
    a.disconnect();
    const bodies = app.of('refresh').map((one) => one.body);
    assert.deepEqual(bodies.map(({ user, meta }) => [user, meta]), [['7', { tenant: 'a' }], ['7', { tenant: 'a' }]]);
  });

  test('an application that is away does not end connections', async () => {
    app.answers.connect = () => ({ result: { user: '7', expire_at: now() + 1 } });
    app.answers.refresh = FAILURES.status;
    const [a] = await connected();
    while (app.of('refresh').length < 1) await a.rpc('rpc:wait', 1);
    for (let n = 0; n < 20; n += 1) await a.rpc('rpc:wait', 1);
    assert.equal(a.state, 'connected');
    assert.equal(app.of('refresh').length, 1);
    a.disconnect();
  });
});

describe('subscribe', () => {
  test('the application decides, and is asked again when the subscription expires', async () => {
    let turn = 0;
    app.answers.subscribe = () => ({ result: { info: { role: 'admin' }, data: { topic: 'x' }, expire_at: now() + 1 } });
    app.answers.sub_refresh = () => {
      turn += 1;
      return { result: turn < 2 ? { expire_at: now() + 1 } : { expired: true } };
    };
    const [a, { client: id }] = await connected();
    const sub = a.newSubscription('ask:1', { data: { want: 1 } });
    const seen = event(sub, 'subscribed');
    const over = event(sub, 'unsubscribed');
    const later = event(sub, 'subscribing');
    sub.subscribe();
    await later;
    assert.deepEqual((await seen).data, { topic: 'x' });
    const [{ body }] = app.of('subscribe');
    assert.deepEqual([body.client, body.user, body.channel, body.data, body.meta], [id, '7', 'ask:1', { want: 1 }, { tenant: 'a' }]);
    const ended = await Promise.race([over, event(sub, 'subscribing')]);
    assert.equal(ended.code, 2501);
    assert.deepEqual(app.of('sub_refresh').map((one) => one.body.channel), ['ask:1', 'ask:1']);
    a.disconnect();
  });

  test('the application refuses, or is not there', async () => {
    const [a] = await connected();
    app.answers.subscribe = () => ({ error: { code: 1001, message: 'members only' } });
    const refused = a.newSubscription('ask:2');
    const ended = event(refused, 'unsubscribed');
    refused.subscribe();
    assert.deepEqual(await ended, { channel: 'ask:2', code: 1001, reason: 'members only' });
    const down = a.newSubscription('down:1', { minResubscribeDelay: 10 });
    const failed = event(down, 'error');
    down.subscribe();
    assert.equal((await failed).error.code, 100);
    app.answers.subscribe = () => ({ disconnect: { code: 4502, reason: 'out' } });
    const last = a.newSubscription('ask:3');
    const out = event(a, 'disconnected');
    last.subscribe();
    assert.deepEqual(await out, { code: 4502, reason: 'out' });
  });

  test('an end that comes while the application is asked ends the subscription', async () => {
    let answer;
    app.answers.subscribe = { raw: (response) => { answer = () => response.end('{"result": {}}'); } };
    const [a] = await connected();
    const sub = a.newSubscription('ask:4');
    sub.subscribe();
    while (!answer) await new Promise(setImmediate);
    sub.unsubscribe();
    const done = a.rpc('rpc:after', 1);
    answer();
    await done;
    const stats = await fetch(`http://127.0.0.1:${web}/api/presence_stats`, { method: 'POST', headers: { 'X-API-Key': 'K' }, body: '{"channel": "ask:4"}' });
    assert.deepEqual((await stats.json()).result, { num_clients: 0, num_users: 0 });
    a.disconnect();
  });
});

describe('publish', () => {
  test('the application changes and refuses publications', async () => {
    const [a] = await connected();
    const sub = a.newSubscription('open:1');
    sub.subscribe();
    await sub.ready();
    app.answers.publish = ({ data }) => (data.bad ? { error: { code: 1002, message: 'bad' } } : { result: { data: { ...data, checked: true }, tags: { by: 'app' } } });
    const seen = event(sub, 'publication');
    await sub.publish({ text: 'hi' });
    const { data, tags, info } = await seen;
    assert.deepEqual([data, tags, info.user, info.connInfo], [{ text: 'hi', checked: true }, { by: 'app' }, '7', { name: 'Seven' }]);
    await assert.rejects(sub.publish({ bad: true }), { code: 1002, message: 'bad' });
    const [{ body }] = app.of('publish');
    assert.deepEqual([body.channel, body.user, body.data], ['open:1', '7', { text: 'hi' }]);
    a.disconnect();
  });

  test('publications of a client stay in order, and other clients go on', async () => {
    const [a] = await connected();
    const [b] = await connected();
    const sub = b.newSubscription('open:2');
    const got = [];
    sub.on('publication', ({ data }) => got.push(data));
    sub.subscribe();
    await sub.ready();
    let answer;
    app.answers.publish = { raw: (response, { data }) => (data === 1 ? (answer = () => response.end('{"result":{}}')) : response.end('{"result":{}}')) };
    const all = [1, 2, 3].map((n) => a.publish('open:2', n));
    while (!answer) await new Promise(setImmediate);
    const redis = connect(server);
    assert.equal(await redis.ping(), 'PONG');
    redis.disconnect();
    assert.deepEqual((await b.rpc('rpc:meanwhile', 1)).data.got, 1);
    assert.deepEqual([got, app.of('publish').length], [[], 1]);
    answer();
    await Promise.all(all);
    while (got.length < 3) await event(sub, 'publication');
    assert.deepEqual(got, [1, 2, 3]);
    a.disconnect();
    b.disconnect();
  });
});

describe('rpc', () => {
  test('bytes are sent as base64 if that is asked for', async () => {
    const [a] = await connected();
    app.answers.binary = () => ({ result: { b64data: Buffer.from('{"n":2}').toString('base64') } });
    assert.deepEqual((await a.rpc('binary:x', { n: 1 })).data, { n: 2 });
    const [{ body }] = app.of('binary');
    assert.deepEqual([body.encoding, body.data, Buffer.from(body.b64data, 'base64').toString()], ['binary', undefined, '{"n":1}']);
    a.disconnect();
  });

  test('statuses are what the options make of them', async () => {
    const [a] = await connected();
    const status = (code) => ({ raw: (response) => response.writeHead(code).end() });
    app.answers.transforms = status(404);
    await assert.rejects(a.rpc('transforms:x', 1), { code: 1404, message: 'not found', temporary: true });
    app.answers.transforms = status(410);
    await assert.rejects(a.rpc('transforms:x', 1), { code: 100 });
    app.answers.transforms = status(403);
    const ended = event(a, 'disconnected');
    a.rpc('transforms:x', 1).catch(() => {});
    assert.deepEqual(await ended, { code: 4503, reason: 'go away' });
  });

  for (const name of [...Object.keys(FAILURES), 'down']) {
    test(`an application that fails is an error: ${name}`, async () => {
      const [a] = await connected();
      await assert.rejects(a.rpc(`${name}:x`, 1), { code: 100 });
      assert.deepEqual((await a.rpc('rpc:after', 2)).data.got, 2);
      a.disconnect();
    });
  }

  test('TLS: authorities, names and certificates', async () => {
    const [a] = await connected();
    app.secure.answers = { rpc: () => ({ result: { data: 'secret' } }) };
    assert.equal((await a.rpc('tls:x', 1)).data, 'secret');
    assert.equal((await a.rpc('tls_skip:x', 1)).data, 'secret');
    assert.deepEqual(app.secure.asked.map((one) => one.certificate), ['client', undefined]);
    await assert.rejects(a.rpc('tls_name:x', 1), { code: 100 });
    await assert.rejects(a.rpc('tls_system:x', 1), { code: 100 });
    a.disconnect();
  });

  test('a client that asks without end is ended', async () => {
    const [a] = await connected();
    app.answers.rpc = FAILURES.slow;
    const again = event(a, 'connecting');
    const data = 'x'.repeat(30000);
    for (let n = 0; n < 50; n += 1) a.rpc('rpc:x', data).catch(() => {});
    assert.equal((await again).code, 3008);
    a.disconnect();
  });
});

test('functions have the rights of live-user', async () => {
  const redis = connect(server);
  await redis.function('LOAD', `#!lua name=live
redis.register_function('decide', function(keys, args)
  local asked = cjson.decode(args[2])
  redis.call('SET', asked.data, 'x')
  return '{"result":{"data":1}}'
end)`);
  const [a] = await connected();
  assert.equal((await a.rpc('fun:x', 'allowed')).data, 1);
  await assert.rejects(a.rpc('fun:x', 'forbidden'), { code: 100 });
  assert.deepEqual(await redis.mget('allowed', 'forbidden'), ['x', null]);
  a.disconnect();
  redis.disconnect();
});
