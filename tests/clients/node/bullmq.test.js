// BullMQ, whose every step is a Lua script: jobs, delays, retries, priorities, flows, events.
'use strict';

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');
const { start } = require('./server.js');

// Ends tests that would otherwise hang; nothing is measured by it.
const patience = 180_000;
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

test('a rate limit, and one that a worker sets itself', async (t) => {
  const times = [];
  let refusals = 0;
  const { queue, events, worker } = await queueOf(t, 'limited', async (job) => {
    if (job.name === 'busy' && refusals++ === 0) {
      await queue.rateLimit(150);
      throw Worker.RateLimitError();
    }
    times.push(Date.now());
  }, { limiter: { max: 2, duration: 200 }, concurrency: 8 });
  events.setMaxListeners(0);
  const jobs = await queue.addBulk(Array.from({ length: 6 }, (_, n) => ({ name: 'quick', data: { n } })));
  await Promise.all(jobs.map((job) => job.waitUntilFinished(events, patience)));
  // Two each in three windows, whose first one begins with the first job.
  assert.ok(times.at(-1) - times[0] >= 350, `${times}`);

  const busy = await queue.add('busy', {});
  await busy.waitUntilFinished(events, patience);
  assert.equal(refusals, 2);
  assert.equal((await queue.getJob(busy.id)).attemptsMade, 1);
  assert.equal(worker.isRunning(), true);
});

test('a job whose worker died is run by another one, but not for ever', async (t) => {
  const name = 'stalled';
  const queue = new Queue(name, { connection });
  const events = new QueueEvents(name, { connection });
  t.after(() => Promise.all([events.close(), queue.close()]));
  await events.waitUntilReady();
  const stalled = [];
  events.on('stalled', ({ jobId }) => stalled.push(jobId));
  const options = { connection, lockDuration: 300, stalledInterval: 200, maxStalledCount: 1 };
  // Takes a job and never ends it; nothing renews its lock.
  const die = async () => {
    let taken;
    const has = new Promise((resolve) => { taken = resolve; });
    const dying = new Worker(name, (job) => { taken(job); return new Promise(() => {}); },
      { ...options, skipLockRenewal: true, skipStalledCheck: true });
    dying.on('error', () => {});
    const job = await has;
    await dying.close(true);
    return job;
  };
  const added = await queue.add('work', { n: 7 });
  assert.equal((await die()).id, added.id);
  const living = new Worker(name, async (job) => job.data.n, options);
  t.after(() => living.close(true));
  assert.equal(await added.waitUntilFinished(events, patience), 7);
  assert.deepEqual(stalled, [added.id]);
  await living.close();

  // The second time is one too many: the worker that comes to it next fails it.
  const doomed = await queue.add('work', { n: 8 });
  await die();
  const checker = new Worker(name, null, { ...options, autorun: false });
  t.after(() => checker.close(true));
  await checker.startStalledCheckTimer();
  await die();
  const last = new Worker(name, async () => assert.fail('it is not run again'), options);
  t.after(() => last.close(true));
  await assert.rejects(doomed.waitUntilFinished(events, patience), /stalled more than allowable limit/);
});

test('deduplication, logs, promotion, retries by hand, schedules with an end', async (t) => {
  const runs = [];
  let broken = true;
  const { queue, events } = await queueOf(t, 'second', async (job) => {
    runs.push(job.name);
    await job.log(`run ${runs.length}`);
    if (job.name === 'flaky' && broken) throw new Error('broken');
    return job.data.n;
  });
  events.setMaxListeners(0);

  const first = await queue.add('same', { n: 1 }, { delay: 60_000, deduplication: { id: 'one' } });
  const second = await queue.add('same', { n: 2 }, { delay: 60_000, deduplication: { id: 'one' } });
  assert.equal(second.id, first.id);
  assert.equal(await queue.getDeduplicationJobId('one'), first.id);
  await first.changeDelay(120_000);
  await first.promote();
  assert.equal(await first.waitUntilFinished(events, patience), 1);
  assert.equal((await queue.getJobLogs(first.id)).count, 1);

  const flaky = await queue.add('flaky', { n: 3 });
  await assert.rejects(flaky.waitUntilFinished(events, patience), { message: 'broken' });
  assert.deepEqual((await queue.getFailed()).map((job) => job.id), [flaky.id]);
  broken = false;
  const again = flaky.waitUntilFinished(events, patience);
  await flaky.retry('failed');
  assert.equal(await again, 3);

  await queue.upsertJobScheduler('thrice', { every: 40, limit: 3 }, { name: 'tick', data: { n: 4 } });
  while (runs.filter((name) => name === 'tick').length < 3) {
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
  await queue.upsertJobScheduler('daily', { pattern: '0 0 3 * * *' }, { name: 'night' });
  const [daily] = (await queue.getJobSchedulers()).filter((s) => s.key === 'daily');
  assert.equal(new Date(daily.next).getMinutes(), 0);
  assert.equal((await queue.getDelayed()).filter((job) => job.name === 'night').length, 1);
  assert.equal(await queue.removeJobScheduler('daily'), true);

  await queue.drain(true);
  assert.ok((await queue.clean(0, 100, 'completed')).length >= 4);
  assert.equal(await queue.getCompletedCount(), 0);
});

test('a flow of three levels, one of whose jobs fails', async (t) => {
  const name = 'tree';
  const { events } = await queueOf(t, name, async (job) => {
    if (job.name === 'bad') throw new Error('as it should');
    const failures = Object.values(await job.getIgnoredChildrenFailures());
    const values = Object.values(await job.getChildrenValues());
    return values.reduce((sum, n) => sum + n, job.data.n + failures.length * 1000);
  });
  events.setMaxListeners(0);
  const flows = new FlowProducer({ connection });
  t.after(() => flows.close());
  const node = (name_, n, children, opts) => ({ name: name_, queueName: name, data: { n }, children, opts });
  const leaf = (n) => node('leaf', n);
  const ignored = node('bad', 0, undefined, { ignoreDependencyOnFailure: true });
  const tolerant = await flows.add(node('root', 100, [node('middle', 10, [leaf(1), leaf(2)]), ignored]));
  assert.equal(await tolerant.job.waitUntilFinished(events, patience), 1113);

  const fatal = node('bad', 0, undefined, { failParentOnFailure: true });
  const strict = await flows.add(node('root', 100, [node('middle', 10, [fatal, leaf(2)], { failParentOnFailure: true })]));
  await assert.rejects(strict.job.waitUntilFinished(events, patience), /child .* failed/);
});
