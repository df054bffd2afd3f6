'use strict';
(() => {
  const byId = (id) => document.getElementById(id);
  const events = byId('events').textContent.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const feed = byId('feed'), seek = byId('seek'), play = byId('play'), speed = byId('speed'), at = byId('at');
  const text = (v) => (typeof v === 'string' ? v : v && typeof v.head === 'string' ? v.head + '…' : '');
  let state, timer = 0, applied = 0;

  const reset = () => { state = { rows: [], keys: new Map() }; applied = 0; };
  const row = (key, kind) => {
    let r = state.keys.get(key);
    if (!r) { r = { kind, title: '', text: '' }; state.keys.set(key, r); state.rows.push(r); }
    return r;
  };
  const contentOf = (content) => (Array.isArray(content) ? content : []).map((c) => {
    if (c.type === 'diff') {
      const side = (mark, t) => text(t).split('\n').filter((l, i, all) => l || i < all.length - 1).map((l) => mark + l).join('\n');
      return c.path + '\n' + side('-', c.oldText) + '\n' + side('+', c.newText);
    }
    return c.content ? text(c.content.text) : '';
  }).filter(Boolean).join('\n');
  const apply = (e) => {
    const d = e.data, key = e.turn + ' ';
    switch (e.type) {
      case 'user_prompt': row(key + e.seq, 'prompt').text = text(d.text); break;
      case 'agent_message': row(key + 'm' + d.message_id, 'message').text += text(d.text); break;
      case 'agent_thought': row(key + 't' + d.message_id, 'thought').text += text(d.text); break;
      case 'tool_call': case 'tool_call_update': {
        const r = row(key + 'c' + d.tool_call_id, 'tool');
        r.name = text(d.title) || r.name || 'Tool call';
        r.status = d.status || r.status || '';
        r.title = r.name + (r.status ? ' — ' + r.status : '');
        if (d.content) r.text = contentOf(d.content);
        break;
      }
      case 'permission_request': row('p' + d.permission_id, 'permission').title = 'Asked: ' + text(d.title); break;
      case 'permission_outcome': { const r = row('p' + d.permission_id, 'permission'); r.text = d.outcome + ' ' + (d.option_id || '') + ' by ' + text(d.by); break; }
      case 'plan': { const r = row(key + 'plan', 'tool'); r.title = 'Plan'; r.text = (d.entries || []).map((p) => (p.status === 'completed' ? '☑ ' : '☐ ') + text(p.content)).join('\n'); break; }
      case 'error': row('e' + e.seq, 'trouble').text = text(d.message); break;
      case 'turn_interrupted': row('i' + e.seq, 'trouble').text = 'Interrupted: ' + text(d.reason); break;
      case 'turn_end': if (d.error) row('x' + e.seq, 'trouble').text = text(d.error.message); break;
    }
  };
  const paint = () => {
    const shown = state.rows.slice(-500).map((r) => {
      const article = document.createElement('article');
      article.className = r.kind;
      if (r.title) article.append(Object.assign(document.createElement('div'), { textContent: r.title }));
      const body = document.createElement(r.kind === 'tool' ? 'pre' : 'div');
      body.textContent = r.text;
      if (r.text) article.append(body);
      return article;
    });
    feed.replaceChildren(...shown);
    seek.value = String(applied);
    const last = applied > 0 ? events[applied - 1] : undefined;
    at.textContent = events.length ? (last ? last.seq : 0) + ' of ' + events[events.length - 1].seq : '';
    document.documentElement.dataset.seq = last ? String(last.seq) : '0';
  };
  const go = (n) => {
    if (n < applied) reset();
    while (applied < n) apply(events[applied++]);
    paint();
  };
  const stop = () => { clearTimeout(timer); timer = 0; play.textContent = 'Play'; };
  const step = () => {
    if (applied >= events.length) return stop();
    const stick = innerHeight + scrollY >= document.body.scrollHeight - 80;
    go(applied + 1);
    if (stick) scrollTo(0, document.body.scrollHeight);
    if (applied >= events.length) return stop();
    const gap = Date.parse(events[applied].time) - Date.parse(events[applied - 1].time);
    timer = setTimeout(step, Math.min(Math.max(gap, 0), 2000) / Number(speed.value));
  };
  const toggle = () => {
    if (timer) return stop();
    if (applied >= events.length) reset();
    play.textContent = 'Pause';
    timer = setTimeout(step, 0);
  };
  play.addEventListener('click', toggle);
  seek.max = String(events.length);
  seek.addEventListener('input', () => { stop(); go(Number(seek.value)); });
  addEventListener('keydown', (e) => {
    if (e.target instanceof HTMLButtonElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === ' ') { e.preventDefault(); toggle(); }
    else if (e.key === ',') { stop(); go(Math.max(0, applied - 1)); }
    else if (e.key === '.') { stop(); go(Math.min(events.length, applied + 1)); }
    else if (/^[0-9]$/.test(e.key)) { stop(); go(Math.round((events.length * Number(e.key)) / 10)); }
  });
  reset();
  go(events.length);
})();
