// ioredis over TLS.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { connect: connectTo } = require('./connect.js');
const { freePort, start } = require('./server.js');

let dir;
let server;
let port;

const file = (name) => path.join(dir, name);
const read = (name) => fs.readFileSync(file(name));

// NAME.crt and NAME.key, by the commands of docs/tls.md.
function issue(name) {
  const openssl = (...words) => execFileSync('openssl', words, { cwd: dir, stdio: 'pipe' });
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`);
  if (name === 'ca') {
    openssl('req', '-x509', '-new', '-key', 'ca.key', '-out', 'ca.crt', '-days', '10', '-subj', '/CN=Test');
    return;
  }
  openssl('req', '-new', '-key', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  fs.writeFileSync(file('ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '10', '-extfile', 'ext'];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signed);
}

before(async () => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-tls-'));
  ['ca', 'server', 'alice'].forEach(issue);
  port = await freePort();
  const files = ['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')];
  const asks = ['--tls-ca-cert-file', file('ca.crt'), '--tls-auth-clients', 'optional'];
  server = await start('--tls-port', String(port), ...files, ...asks, '--tls-auth-clients-user', 'CN');
});
after(async () => {
  await server?.stop();
  fs.rmSync(dir, { recursive: true, force: true });
});

function connect(t, tls, options = {}) {
  const redis = connectTo({ port }, { tls: { servername: 'localhost', ...tls }, ...options });
  t.after(() => redis.disconnect());
  return redis;
}

for (const protocol of [2, 3]) {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    test(`values, pipelines and messages: RESP${protocol}, ${version}`, async (t) => {
      const tls = { ca: read('ca.crt'), minVersion: version, maxVersion: version };
      const redis = connect(t, tls, { protocol });
      const value = crypto.randomBytes(3_000_000);
      assert.equal(await redis.set('big', value), 'OK');
      assert.ok(value.equals(await redis.getBuffer('big')));
      assert.equal(redis.stream.getProtocol(), version);
      await redis.del('n');
      const pipeline = redis.pipeline();
      for (let i = 0; i < 5_000; i++) pipeline.incr('n');
      assert.deepEqual((await pipeline.exec()).at(-1), [null, 5_000]);

      const subscriber = connect(t, tls, { protocol });
      await subscriber.subscribe('c');
      const message = new Promise((resolve) => subscriber.once('message', (_, text) => resolve(text)));
      await redis.publish('c', 'hello');
      assert.equal(await message, 'hello');
    });
  }
}

test('a certificate names the user', async (t) => {
  const ca = read('ca.crt');
  await connect(t, { ca }).call('ACL', 'SETUSER', 'alice', 'reset', 'on', '~a*', '+@all');
  const alice = connect(t, { ca, cert: read('alice.crt'), key: read('alice.key') });
  assert.equal(await alice.call('ACL', 'WHOAMI'), 'alice');
  await assert.rejects(alice.set('b', 1), /NOPERM/);
});

test('an unknown authority', async (t) => {
  const redis = connect(t, {});
  const said = [];
  redis.on('error', (error) => said.push(error.code));
  await assert.rejects(redis.ping());
  assert.match(said.join(), /UNABLE_TO_VERIFY|SELF_SIGNED/);
});
