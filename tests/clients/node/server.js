// Starts the apus binary, named by APUS_BIN, for a test.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');

// A port that the system gives to no other process for a minute: a connection to it, closed by its own
// side, waits in TIME_WAIT. A server that sets SO_REUSEADDR may listen there.
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = net.createServer((accepted) => accepted.end());
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      const client = net.connect(port, '127.0.0.1');
      client.once('error', reject);
      client.once('close', () => probe.close(() => resolve(port)));
      client.resume();
    });
  });
}

// Resolves to { port, stop } once the server accepts connections.
async function start(...options) {
  const binary = process.env.APUS_BIN;
  if (!binary) throw new Error('APUS_BIN must name the apus binary');
  const port = await freePort();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'apus-test-'));
  const args = ['serve', '--port', String(port), '--dir', dir, '--save', '', ...options];
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await new Promise((resolve, reject) => {
    const log = [];
    child.once('error', reject);
    // Reads on after the server is ready, so that it never blocks on its log.
    const lines = readline.createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      log.push(line);
      if (line.includes('Ready to accept connections')) resolve();
    });
    lines.on('close', () => reject(new Error(`the server ended early:\n${log.join('\n')}`)));
  });
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await ended;
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
}

module.exports = { freePort, start };
