// BullMQ, whose every step is a Lua script: jobs, delays, retries, priorities, flows, events.
'use strict';

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');
const { start } = require('./server.js');

const patience = 15_000;
let server;
let connection;
before(async () => {
  server = await start();
  connection = { host: '127.0.0.1', port: server.port };
});
after(() => server?.stop());

// A queue, its events and a worker, closed when the test has ended.
async function queueOf(t, name, process, options = {}) {
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  const worker = new Worker(name, process, { connection, ...options });
  t.after(() => Promise.all([worker.close(true), events.close(), queue.close()]));
  await Promise.all([events.waitUntilReady(), worker.waitUntilReady()]);
  return { queue, events, worker };
}

test('jobs, delayed jobs and retries', async (t) => {
  const attempts = new Map();
  const { queue, events } = await queueOf(t, 'work', async (job) => {
    attempts.set(job.name, (attempts.get(job.name) ?? 0) + 1);
    if (job.name === 'fails') throw new Error('as it should');
    if (job.name === 'retried' && job.attemptsMade < 2) throw new Error('not yet');
    await job.updateProgress(50);
    return job.data.n * 2;
  }, { concurrency: 4 });
  const completed = [];
  events.on('completed', ({ jobId }) => completed.push(jobId));

  events.setMaxListeners(0);
  queue.setMaxListeners(0);

  const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, n) => ({ name: 'double', data: { n } })));
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, patience)));
  assert.deepEqual(results, jobs.map((_, n) => n * 2));
  assert.deepEqual(completed.toSorted(), jobs.map((job) => job.id).toSorted());

  const delayed = await queue.add('later', { n: 21 }, { delay: 300 });
  assert.equal(await delayed.getState(), 'delayed');
  assert.equal(await delayed.waitUntilFinished(events, patience), 42);

  const backoff = { type: 'fixed', delay: 20 };
  const retried = await queue.add('retried', { n: 4 }, { attempts: 3, backoff });
  assert.equal(await retried.waitUntilFinished(events, patience), 8);
  assert.equal(attempts.get('retried'), 3);

  const fails = await queue.add('fails', {}, { attempts: 2 });
  await assert.rejects(fails.waitUntilFinished(events, patience), { message: 'as it should' });
  assert.equal(attempts.get('fails'), 2);
  assert.equal(await fails.getState(), 'failed');

  // The same id twice is one job.
  const [once, again] = await Promise.all([1, 2].map((n) => queue.add('once', { n }, { jobId: 'only' })));
  await Promise.all([once, again].map((job) => job.waitUntilFinished(events, patience)));
  assert.equal(attempts.get('once'), 1);

  assert.deepEqual(await queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed'), {
    waiting: 0, active: 0, delayed: 0, completed: 53, failed: 1,
  });
});

test('priorities, pausing, a flow of jobs, cleaning up', async (t) => {
  const order = [];
  const { queue, events, worker } = await queueOf(t, 'ordered', async (job) => {
    order.push(job.name);
    return Object.values(await job.getChildrenValues()).reduce((sum, n) => sum + n, job.data.n ?? 0);
  }, { autorun: false });
  const jobs = [];
  for (const [name, priority] of [['c', 3], ['a', 1], ['b', 2]]) {
    jobs.push(await queue.add(name, { n: priority }, { priority }));
  }
  worker.run();
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events, patience)));
  assert.deepEqual(order, ['a', 'b', 'c']);

  const flows = new FlowProducer({ connection });
  t.after(() => flows.close());
  const children = [1, 2, 3].map((n) => ({ name: `child${n}`, data: { n }, queueName: 'ordered' }));
  const flow = await flows.add({ name: 'parent', data: { n: 100 }, queueName: 'ordered', children });
  assert.equal(await flow.job.waitUntilFinished(events, patience), 106);
  assert.equal(order.at(-1), 'parent');

  await queue.pause();
  const paused = await queue.add('paused', { n: 5 });
  assert.equal(await queue.isPaused(), true);
  assert.equal(await queue.count(), 1);
  await queue.resume();
  assert.equal(await paused.waitUntilFinished(events, patience), 5);

  await queue.upsertJobScheduler('tick', { every: 100 }, { name: 'tick', data: { n: 1 } });
  while (order.filter((name) => name === 'tick').length < 2) {
    await new Promise((resolve) => events.once('completed', resolve));
  }
  assert.equal(await queue.removeJobScheduler('tick'), true);

  await queue.obliterate({ force: true });
  assert.equal(await queue.count(), 0);
});
