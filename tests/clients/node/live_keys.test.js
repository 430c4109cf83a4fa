// Tokens of live channels whose keys are fetched (JWKS), with centrifuge-js: over HTTP and HTTPS, with rotation, and
// while the documents cannot be had.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, afterEach, before, describe, test } = require('node:test');
const { Centrifuge } = require('centrifuge');
const WebSocket = require('ws');
const { Application } = require('./application.js');
const { freePort, start } = require('./server.js');
const { part } = require('./token.js');

const KINDS = {
  ES256: () => crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: () => crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => crypto.generateKeyPairSync('ed25519'),
};
const event = (emitter, name) => new Promise((resolve) => emitter.once(name, resolve));

// A key with a name, as applications have it.
function newKey(kid, alg = 'ES256') {
  const { privateKey, publicKey } = KINDS[alg]();
  const public_ = { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
  const token = (claims) => {
    const text = `${part({ alg, kid, typ: 'JWT' })}.${part({ sub: '7', ...claims })}`;
    const hash = alg === 'EdDSA' ? null : 'sha256';
    return `${text}.${crypto.sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  return { public_, token };
}

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-live-'));
let app;
let server;
let web;
const open = [];

async function serve(endpoint, more = {}) {
  const file = path.join(dir, 'live.json');
  const token = { jwks_public_endpoint: endpoint, ...more };
  const namespaces = [{ name: 'tok' }];
  fs.writeFileSync(file, JSON.stringify({ client: { allowed_origins: ['*'], token }, channel: { namespaces } }));
  web = await freePort();
  server = await start('--web-port', String(web), '--live-config', file, '--threads', '2');
}

// Resolves to how a connection with a token goes on: its name, and its code.
async function outcome(token) {
  const made = new Centrifuge(`ws://127.0.0.1:${web}/connection/websocket`, { websocket: WebSocket, token });
  open.push(made);
  const seen = Promise.race([
    event(made, 'connected').then(() => 'connected'),
    event(made, 'disconnected').then(({ code }) => code),
    event(made, 'error').then(({ error }) => error.code),
  ]);
  made.connect();
  const result = await seen;
  if (result !== 'connected') made.disconnect();
  return [result, made];
}
const document = (...keys) => () => ({ keys: keys.map((key) => key.public_) });

before(async () => {
  app = await new Application().listen();
});
afterEach(async () => {
  open.splice(0).forEach((one) => one.disconnect());
  await server?.stop();
  app.asked = [];
});
after(async () => {
  await app.close();
  fs.rmSync(dir, { recursive: true, force: true });
});

describe('keys', () => {
  test('of every kind, fetched once for all that wait', async () => {
    const keys = Object.keys(KINDS).map((alg) => newKey(alg, alg));
    app.answers.keys = document(...keys);
    await serve(`http://127.0.0.1:${app.port}/keys`);
    const all = await Promise.all([...keys, ...keys, ...keys].map((key) => outcome(key.token({}))));
    assert.deepEqual(all.map(([result]) => result), Array(9).fill('connected'));
    assert.equal(app.of('keys').length, 1);
    const forged = newKey('ES256');
    assert.equal((await outcome(forged.token({})))[0], 3500);
    assert.equal(app.of('keys').length, 1);
    const sub = all[0][1].newSubscription('tok:1', { token: keys[0].token({ channel: 'tok:1' }) });
    sub.subscribe();
    await sub.ready();
  });

  test('are those of the document that the token names', async () => {
    const [one, two] = [newKey('k'), newKey('k')];
    app.answers['one/keys'] = document(one);
    app.answers['two/keys'] = document(two);
    await serve(`http://127.0.0.1:${app.port}/{{tenant}}/keys`, { issuer_regex: '^https://(?P<tenant>one|two)\\.example$' });
    const results = [];
    for (const [key, tenant] of [[one, 'one'], [two, 'two'], [one, 'two'], [one, 'three']]) {
      results.push((await outcome(key.token({ iss: `https://${tenant}.example` })))[0]);
    }
    assert.deepEqual(results, ['connected', 'connected', 3500, 3500]);
    assert.deepEqual(app.asked.map((request) => request.path), ['one/keys', 'two/keys']);
  });

  test('are rotated: an unknown name has them fetched again, but not as often as clients like', async () => {
    const [old, young, unknown] = [newKey('old'), newKey('young'), newKey('unknown')];
    app.answers.keys = document(old);
    await serve(`http://127.0.0.1:${app.port}/keys`);
    assert.equal((await outcome(old.token({})))[0], 'connected');
    app.answers.keys = document(young);
    // Right after a fetch there is no other one.
    while ((await outcome(young.token({})))[0] !== 'connected') {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.equal(app.of('keys').length, 2);
    assert.equal((await outcome(old.token({})))[0], 3500);
    assert.deepEqual(await Promise.all([1, 2, 3].map(async () => (await outcome(unknown.token({})))[0])), [3500, 3500, 3500]);
    assert.equal(app.of('keys').length, 2);
  });

  test('that cannot be had are an error that passes', async () => {
    const key = newKey('k');
    await serve(`http://127.0.0.1:${app.port}/keys`);
    const answers = [
      { raw: (response) => response.writeHead(500).end() },
      { raw: (response) => response.end('garbage') },
      { raw: (response) => response.end(`{"keys": [${'1,'.repeat(1 << 20)}1]}`) },
    ];
    for (const answer of answers) {
      app.answers.keys = answer;
      const before_ = app.of('keys').length;
      while (app.of('keys').length === before_) assert.equal((await outcome(key.token({})))[0], 100);
    }
    app.answers.keys = document(key);
    const made = new Centrifuge(`ws://127.0.0.1:${web}/connection/websocket`, { websocket: WebSocket, token: key.token({}) });
    open.push(made);
    const seen = event(made, 'connected');
    made.connect();
    await seen;
  });

  test('over HTTPS, from a server that the system trusts', async () => {
    const openssl = (...words) => execFileSync('openssl', words, { cwd: dir, stdio: 'pipe' });
    const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '10'];
    openssl(...made, '-keyout', 'own.key', '-out', 'own.crt', '-subj', '/CN=app', '-addext', 'subjectAltName=IP:127.0.0.1', '-addext', 'basicConstraints=critical,CA:FALSE');
    const read = (name) => fs.readFileSync(path.join(dir, name));
    const secure = await new Application({ key: read('own.key'), cert: read('own.crt') }).listen();
    const key = newKey('k');
    secure.answers.keys = document(key);
    const results = [];
    for (const trusted of [path.join(dir, 'own.crt'), undefined]) {
      // What the server's process is given.
      if (trusted) process.env.SSL_CERT_FILE = trusted;
      await serve(`https://127.0.0.1:${secure.port}/keys`);
      delete process.env.SSL_CERT_FILE;
      results.push((await outcome(key.token({})))[0]);
      await server.stop();
    }
    await secure.close();
    assert.deepEqual(results, ['connected', 100]);
  });
});
