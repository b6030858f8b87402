// A launch step by step, in one or two orders. A frame is one line by one group of threads.
const start = (root, T) => {
  const { make, rich, number, array, spot, over, draw, source } = HALO(root);
  const n = T.threads.length;
  const lanes = (mask) => [...Array(n).keys()].filter((t) => (BigInt('0x' + mask) >> BigInt(t)) & 1n);
  const list = (x, count) =>
    Array.isArray(x) ? x : [...Array(count).keys()].map((k) => x.from + k * x.by);
  const span = (on) => {
    if (on.length === n && n > 1) return 'all threads';
    const runs = [];
    for (const t of on)
      runs.length && runs.at(-1)[1] === t - 1 ? (runs.at(-1)[1] = t) : runs.push([t, t]);
    const text = runs.map(([a, b]) => (a === b ? T.threads[a] : `${T.threads[a]} to ${T.threads[b]}`));
    return (on.length > 1 ? 'threads ' : 'thread ') + text.join(', ');
  };
  // The state after each frame: where each thread is, its variables, and every cell.
  const play = (order) => {
    let s = { line: 0, on: [], at: Array(n).fill(0), v: {}, mem: {}, by: {}, acc: [], race: [], say: T.before };
    for (const k of T.vars) s.v[k] = Array(n).fill('');
    for (const a of T.mem) {
      s.mem[a.name] = [...a.values];
      s.by[a.name] = {};
    }
    const all = [s];
    for (const f of order.frames) {
      s = { ...s, at: [...s.at], v: { ...s.v }, mem: { ...s.mem }, by: { ...s.by }, acc: [] };
      s.line = f.l;
      s.say = f.say;
      s.race = f.race || [];
      s.on = lanes(f.m);
      for (const t of s.on) s.at[t] = f.l;
      for (const k in f.set || {}) {
        s.v[k] = [...s.v[k]];
        list(f.set[k], s.on.length).forEach((v, j) => (s.v[k][s.on[j]] = v));
      }
      for (const [name, kind, cells, values] of f.do || []) {
        const at = list(cells, s.on.length);
        const vs = values && list(values, s.on.length);
        if (kind === 'w') {
          s.mem[name] = [...s.mem[name]];
          s.by[name] = { ...s.by[name] };
        }
        s.on.forEach((t, j) => {
          if (at[j] === null || at[j] === undefined) return;
          if (kind === 'w') {
            s.mem[name][at[j]] = vs[j];
            s.by[name][at[j]] = [t, f.l];
          }
          s.acc.push({ a: name, k: kind, t, c: at[j], v: s.mem[name]?.[at[j]] });
        });
      }
      all.push(s);
    }
    all.push({ ...s, line: 0, on: [], acc: [], race: [], end: true, say: order.end });
    return all;
  };
  const orders = T.orders.map(play);
  const raceAt = (o) => orders[o].findIndex((s) => s.race.length);
  let o = 0, i = Math.max(0, raceAt(0)), me = 0, timer = 0;
  const seen = new Set();
  if (orders[0][i].race.length) me = orders[0][i].race[0].t;

  const live = make('div', 'live');
  live.append(rich('p', 'head', T.title), rich('p', 'soft', T.about));
  const which = make('div', 'bar', '', { role: 'group', 'aria-label': 'order in which the threads run' });
  if (T.orders.length > 1)
    T.orders.forEach((one, k) => which.append(make('button', '', `Order ${one.name}: ${one.note}`, { 'data-o': k })));
  const say = make('div', 'say', '', { role: 'status', 'aria-live': 'polite' });
  const groups = make('div', 'groups');
  const scene = make('div', 'scene');
  const bar = make('div', 'bar');
  const slider = make('input', '', '', { type: 'range', min: 0, step: 1, 'aria-label': 'step' });
  bar.append(make('button', '', '◂ Back', { 'data-d': -1 }), make('button', 'main', '▶ Play', { 'data-p': 1 }),
    make('button', '', 'Step ▸', { 'data-d': 1 }), slider);
  const code = make('div', 'code'), results = make('div', 'results');
  const foot = make('p', 'foot');
  foot.innerHTML =
    '<span><svg width="28" height="10"><path d="M1 5H26M20 1l6 4-6 4" fill="none" style="stroke:var(--orange);stroke-width:1.8"/></svg>reads</span>' +
    '<span><svg width="28" height="10"><path d="M1 5H20" style="stroke:var(--blue);stroke-width:3"/><path d="M28 5L18 0V10Z" style="fill:var(--blue)"/></svg>writes</span>' +
    '<span>● runs now</span><span>○ waits</span><span>dashed: not written yet</span><span><b>?</b> unknown value</span>' +
    '<span class="keys"><kbd>←</kbd> <kbd>→</kbd> step, <kbd>Space</kbd> play, <kbd>↑</kbd> <kbd>↓</kbd> another thread</span>';
  // A few threads leave room for the source beside them.
  const body = make('div', T.layout[1] > 10 ? '' : 'two');
  body.append(...(T.layout[1] > 10 ? [scene, code] : [code, scene]));
  live.append(which, say, bar, groups, body, results, foot);
  root.prepend(live);

  // The two sides of the race that the chosen thread takes part in, or of the first one.
  const pairOf = (s) => s.race.find((r) => r.t === me || r.u === me) || s.race[0];
  const own = (s) => {
    if (!s.on.includes(me)) return '';
    const parts = T.vars.filter((k) => orders[o][i - 1]?.v[k][me] !== s.v[k][me]).map((k) => `${k} = ${number(s.v[k][me])}`);
    for (const a of s.acc.filter((a) => a.t === me))
      parts.push(`${a.k === 'r' ? 'reads' : 'writes'} ${a.a}[${a.c}]: ${number(a.v)}`);
    return parts.length ? ` Thread ${T.threads[me]}: ${parts.join('; ')}.` : '';
  };
  const draws = () => {
    const s = orders[o][i], last = orders[o].length - 1, pair = s.race.length ? pairOf(s) : null;
    if (s.end) seen.add(o);
    const head = s.race.length ? '⚡ race' : s.end ? 'the end' : i ? span(s.on) : 'before the launch';
    say.className = 'say' + (pair ? ' race' : '');
    say.replaceChildren(make('small', '', `Step ${i} of ${last} · ${head}`), rich('span', '', (pair ? pair.say : s.say) + (pair ? '' : own(s))));
    if (T.orders.length > 1 && (pair || s.end)) {
      const other = make('button', '', `See order ${T.orders[1 - o].name}`, { 'data-o': 1 - o });
      say.append(' ', other);
    }
    which.querySelectorAll('button').forEach((b, k) => b.setAttribute('aria-pressed', String(k === o)));
    slider.max = last;
    slider.value = i;
    slider.setAttribute('aria-valuetext', `step ${i} of ${last}`);
    bar.querySelector('[data-p]').textContent = timer ? '❚❚ Pause' : '▶ Play';
    bar.querySelector('[data-d="-1"]').ariaDisabled = String(!i);
    bar.querySelector('[data-d="1"]').ariaDisabled = String(i === last);
    // Threads at one line are a group: a warp that parts has several.
    groups.replaceChildren();
    const by = new Map();
    s.at.forEach((l, t) => by.set(l, [...(by.get(l) || []), t]));
    if (by.size > 1 && !s.end)
      for (const [l, ts] of [...by].sort((a, b) => a[0] - b[0]))
        groups.append(make('b', l === s.line ? '' : 'wait', `${span(ts)} ${l ? 'at line ' + l : 'not begun'}`));
    picture(s, pair);
    code.replaceChildren(source(T.src, T.line0, (line) => {
      const here = s.at.map((l, t) => [l, t]).filter(([l]) => l === line).map(([, t]) => t);
      const hit = pair && (line === pair.lines[0] || line === pair.lines[1]);
      return [hit ? 'hit' : line === s.line ? 'now' : '', here.length && !s.end && i ? span(here) : '', ''];
    }));
    results.replaceChildren();
    if (T.want)
      T.orders.forEach((one, k) => {
        const got = orders[k].at(-1).mem[T.want.name], ok = T.want.values.every((v, c) => v === null || v === got[c]);
        const box = make('div', seen.has(k) ? (ok ? 'good' : 'bad') : '');
        if (seen.has(k)) box.append(make('b', '', `${ok ? '✓' : '✗'} Order ${one.name}: ${ok ? T.luck : 'wrong'}`), make('br'), make('code', '', `${T.want.name} = ${got.map(number).join(' ')}`));
        else box.append(make('b', '', `Order ${one.name}`), make('br'), 'play it to the end to see its result');
        results.append(box);
      });
  };
  const picture = (s, pair) => {
    const left = scene.scrollLeft, box = make('div', 'inner');
    const cells = (a) => {
      const by = s.by[a.name];
      return array(a.name, a.in, a, (k) => {
        const mine = s.acc.filter((q) => q.a === a.name && q.c === k);
        const hot = pair && pair.a === a.name && pair.c === k;
        const wrong = s.end && T.want?.name === a.name && T.want.values[k] !== null && s.mem[a.name][k] !== T.want.values[k];
        const how = hot ? 'hot' : wrong ? 'bad' : mine.some((q) => q.k === 'w') ? 'fresh' : mine.length ? 'read' : '';
        const v = s.mem[a.name][k];
        const e = make('div', `cell ${v === null && !by[k] ? 'none' : ''} ${how}`, number(v));
        e.title = `${a.name}[${k}] = ${number(v)}` + (by[k] ? `, written by thread ${T.threads[by[k][0]]} in line ${by[k][1]}` : '');
        e.dataset.at = a.name + ':' + k;
        return e;
      });
    };
    const [first, ...others] = T.mem;
    if (first && first.in !== 'shared') box.append(cells(first));
    const chips = { shape: T.layout };
    const threads = array('threads', T.vars.length ? ['line', ...T.vars.slice(0, 3)].join(', ') : 'line', chips, (t) => {
      if (t >= n) return make('span');
      const hot = pair && (pair.t === t || pair.u === t), on = s.on.includes(t);
      const e = make('button', `chip ${hot ? 'hot' : ''} ${on ? 'on' : s.end || !i ? '' : 'off'}`, '', {
        'data-t': t, 'aria-pressed': String(t === me), tabindex: t === me ? 0 : -1,
        'aria-label': `thread ${T.threads[t]}, ${s.at[t] ? 'at line ' + s.at[t] : 'not begun'}` +
          T.vars.map((k) => `, ${k} ${s.v[k][t] === '' ? 'not set' : s.v[k][t]}`).join(''),
      });
      e.append(make('span', 'o', T.short[t]), make('span', '', s.at[t] ? String(s.at[t]) : '–'));
      for (const k of T.vars.slice(0, 3)) e.append(make('span', '', s.v[k][t] === '' ? '·' : number(s.v[k][t])));
      return e;
    });
    box.append(threads);
    for (const a of first && first.in !== 'shared' ? others : T.mem) box.append(cells(a));
    scene.replaceChildren(box);
    scene.scrollLeft = left;
    arrows(over(box), box, s, pair);
  };
  const arrows = (svg, box, s, pair) => {
    const many = s.acc.length > 40;
    const one = (a, hot, later) => {
      const c = box.querySelector(`[data-at="${a.a}:${a.c}"]`), t = box.querySelector(`[data-t="${a.t}"]`);
      if (!c || !t) return;
      const up = c.getBoundingClientRect().top < t.getBoundingClientRect().top;
      const p = spot(c, box, up ? 1 : -1), q = spot(t, box, up ? -1 : 1);
      const [from, to] = a.k === 'r' ? [p, q] : [q, p];
      const w = Math.atan2(to[1] - from[1], to[0] - from[0]), h = 7;
      const turn = (x, y) => [to[0] - x * Math.cos(w) - y * Math.sin(w), to[1] - x * Math.sin(w) + y * Math.cos(w)];
      const color = hot ? 'red' : a.k === 'r' ? 'orange' : 'blue';
      const faint = !hot && (pair || (many && a.t !== me)) ? 0.25 : 1;
      const g = draw(svg, 'g', { opacity: faint });
      draw(g, 'path', { d: `M${from}L${a.k === 'r' ? to : turn(h, 0)}`, style: `stroke:var(--${color});fill:none;stroke-width:${hot ? 3.2 : a.k === 'r' ? 1.5 : 2.6}` + (later ? ';stroke-dasharray:5 4' : '') });
      if (a.k === 'r') draw(g, 'polyline', { points: [turn(h, 4), to, turn(h, -4)].join(' '), style: `fill:none;stroke:var(--${color});stroke-width:2` });
      else draw(g, 'polygon', { points: [to, turn(h + 3, 5), turn(h + 3, -5)].join(' '), style: `fill:var(--${color})` });
      if (hot) draw(g, 'text', { x: (from[0] * 2 + to[0]) / 3 + 28, y: (from[1] * 2 + to[1]) / 3 + 4, style: 'fill:var(--red)' }, `line ${a.l}` + (later ? ', later' : ''));
    };
    for (const a of s.acc) if (!many || a.t === me) one(a, false);
    if (pair) {
      one({ a: pair.a, c: pair.c, t: pair.t, k: pair.kinds[0], l: pair.lines[0] }, true, false);
      one({ a: pair.a, c: pair.c, t: pair.u, k: pair.kinds[1], l: pair.lines[1] }, true, pair.later);
    }
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
  };
  const go = (k) => {
    i = Math.max(0, Math.min(orders[o].length - 1, k));
    draws();
  };
  const run = () => {
    if (timer) {
      stop();
      return draws();
    }
    if (orders[o][i].end) i = 0;
    timer = setInterval(() => {
      go(i + 1);
      if (orders[o][i].race.length || orders[o][i].end) {
        stop();
        draws();
      }
    }, 1500);
    draws();
  };
  root.addEventListener('click', (e) => {
    const b = e.target.closest('[data-d],[data-o],[data-t],[data-p]');
    if (!b || b.ariaDisabled === 'true') return;
    const d = b.dataset;
    if (d.p) return run();
    stop();
    if (d.o !== undefined) {
      const was = orders[o][i].race.length, inSay = say.contains(b);
      o = +d.o;
      go(was ? Math.max(0, raceAt(o)) : 0);
      if (inSay) which.querySelector(`[data-o="${o}"]`)?.focus({ preventScroll: true });
    } else if (d.t !== undefined) {
      me = +d.t;
      draws();
      scene.querySelector(`[data-t="${me}"]`).focus({ preventScroll: true });
    } else go(i + +d.d);
  });
  slider.oninput = () => {
    stop();
    go(+slider.value);
  };
  root.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    e.stopPropagation();
    const inThreads = e.target.closest?.('[data-t]');
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], other = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (e.target === slider && (step || other)) return;
    if (e.key === 'Home' || e.key === 'End') {
      stop();
      go(e.key === 'End' ? 1e9 : 0);
    } else if (step) {
      stop();
      go(i + step);
    } else if (other) {
      me = (me + other + n) % n;
      draws();
    } else if (e.key === ' ' && !e.target.closest('button:not(.chip)')) run();
    else return;
    if (inThreads || other) scene.querySelector(`[data-t="${me}"]`).focus({ preventScroll: true });
    e.preventDefault();
  });
  draws();
  const hot = scene.querySelector('.hot');
  if (hot) scene.scrollLeft = Math.max(0, hot.offsetLeft - 80);
  new ResizeObserver(() => {
    const s = orders[o][i];
    arrows(over(scene.firstChild), scene.firstChild, s, s.race.length ? pairOf(s) : null);
  }).observe(scene);
};
