// A room with history, presence and who is typing. Channels do the work: what was missed while the connection was away
// arrives by itself, in order; only when that is impossible (`recovered` is false) the history is read again.
'use strict';

const byId = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
const room = asked.get('room') || 'lobby';
const transport = asked.get('transport') || 'websocket';

function endpoint() {
  const secure = location.protocol === 'https:' ? 's' : '';
  if (transport === 'websocket') return `ws${secure}://${location.host}/connection/websocket`;
  return `${location.origin}/connection/${transport}`;
}

function show(publication) {
  const line = document.createElement('li');
  const who = document.createElement('b');
  // What the server publishes (the API, LIVE.PUBLISH) is of nobody.
  who.textContent = publication.info?.user ?? 'server';
  const when = document.createElement('time');
  // The function adds the time to what clients say.
  const at = publication.data.at ? new Date(publication.data.at * 1000) : new Date();
  when.textContent = at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  line.append(who, ` ${publication.data.text} `, when);
  line.dataset.offset = publication.offset;
  byId('messages').append(line);
  line.scrollIntoView({ block: 'nearest' });
}

async function readHistory(sub) {
  const { publications } = await sub.history({ limit: 50, reverse: true });
  byId('messages').replaceChildren();
  publications.reverse().forEach(show);
}

// Whoever is here, by connection: the same person may have several windows open.
const here = new Map();
function showHere() {
  byId('here').textContent = [...new Set(here.values())].sort().join(', ');
}

const typing = new Map();
function noteTyping(user) {
  clearTimeout(typing.get(user));
  const end = () => { typing.delete(user); showTyping(); };
  typing.set(user, setTimeout(end, 3000));
  showTyping();
}
function showTyping() {
  const names = [...typing.keys()];
  byId('typing').textContent = names.length ? `${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} typing` : '';
}

function enter(name) {
  const client = new Centrifuge([{ transport, endpoint: endpoint() }], {
    data: { name }, emulationEndpoint: `${location.origin}/emulation`, minReconnectDelay: 100, maxReconnectDelay: 3000,
  });
  client.on('connecting', () => { byId('state').textContent = 'connecting'; });
  client.on('connected', () => { byId('state').textContent = 'connected'; });
  client.on('disconnected', (end) => { byId('state').textContent = end.reason; });

  const sub = client.newSubscription(`chat:${room}`);
  // Publications that arrive while the history is on its way are in it, or come behind it.
  let arrived = [];
  sub.on('publication', (p) => {
    clearTimeout(typing.get(p.info?.user));
    typing.delete(p.info?.user);
    showTyping();
    if (arrived) arrived.push(p); else show(p);
  });
  sub.on('subscribed', async ({ recovered }) => {
    if (!recovered) {
      arrived = [];
      await readHistory(sub);
    }
    const last = Number(byId('messages').lastElementChild?.dataset.offset || 0);
    (arrived || []).filter((p) => p.offset > last).forEach(show);
    arrived = null;
    here.clear();
    for (const [id, info] of Object.entries((await sub.presence()).clients)) here.set(id, info.user);
    showHere();
  });
  sub.on('join', ({ info }) => { here.set(info.client, info.user); showHere(); });
  sub.on('leave', ({ info }) => { here.delete(info.client); showHere(); });

  const signs = client.newSubscription(`typing:${room}`);
  signs.on('publication', (p) => { if (p.info && p.info.user !== name) noteTyping(p.info.user); });
  let told = 0;
  byId('text').addEventListener('input', () => {
    if (Date.now() - told > 1000) {
      told = Date.now();
      signs.publish({}).catch(() => {});
    }
  });

  byId('say').addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      await sub.publish({ text: byId('text').value });
      byId('text').value = '';
      told = 0;
      byId('wrong').textContent = '';
    } catch (error) {
      byId('wrong').textContent = error.message;
    }
  });

  byId('enter').hidden = true;
  byId('room').hidden = false;
  sub.subscribe();
  signs.subscribe();
  client.connect();
  byId('text').focus();
}

byId('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  enter(byId('name').value.trim());
});
