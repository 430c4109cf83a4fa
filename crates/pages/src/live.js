// Live blocks: keeps the elements with data-live as the server has them, by server-sent events.
(() => {
  const script = document.currentScript;
  let since = script.dataset.since, source, timer, pause = 1000;

  const show = event => {
    since = event.lastEventId;
    pause = 1000;
    const blocks = JSON.parse(event.data);
    for (const element of document.querySelectorAll('[data-live]')) {
      const html = blocks[element.dataset.live];
      if (html === undefined) continue;
      const active = document.activeElement;
      const id = element.contains(active) && active.id;
      element.innerHTML = html;
      if (id) document.getElementById(id)?.focus();
      element.dispatchEvent(new CustomEvent('live', { bubbles: true }));
    }
  };

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };

  const open = () => {
    close();
    const path = encodeURIComponent(location.pathname + location.search);
    source = new EventSource(`/_apus/live?since=${since}&path=${path}`);
    source.onmessage = show;
    source.onerror = () => {
      // The browser tries again by itself, unless the server has refused.
      if (source.readyState !== EventSource.CLOSED) return;
      close();
      timer = setTimeout(open, pause *= 1 + Math.random());
      pause = Math.min(pause, 60000);
    };
  };

  // A page that nobody sees takes no connection for long; it catches up when it is shown.
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, 20000);
    else if (!source) open();
  });
  addEventListener('pagehide', close);
  addEventListener('pageshow', event => event.persisted && open());
  open();
})();
