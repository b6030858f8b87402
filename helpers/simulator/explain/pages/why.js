// Why an output is wrong: its terms, present, missing and too many, and what its thread did.
const start = (root, T) => {
  const { make, rich, number, array, spot, over, draw, source } = HALO(root);
  const live = make('div', 'live');
  live.append(rich('p', 'head', T.say));
  for (const one of T.evidence) live.append(rich('p', '', one));
  live.append(rich('p', 'soft', T.about));
  const scene = make('div', 'scene');
  const part = make('div');
  live.append(scene, part);
  const foot = make('p', 'foot');
  foot.innerHTML =
    '<span><svg width="26" height="10"><path d="M0 5H26" style="stroke:var(--orange);stroke-width:2"/></svg>in the sum</span>' +
    '<span><svg width="26" height="10"><path d="M0 5H26" style="stroke:var(--red);stroke-width:3;stroke-dasharray:6 4"/></svg>missing</span>' +
    '<span><svg width="26" height="10"><path d="M0 5H26" style="stroke:var(--red);stroke-width:5"/></svg>too much</span>' +
    (T.causes.length > 1 ? '<span class="keys"><kbd>Tab</kbd> to a wrong cell, <kbd>←</kbd> <kbd>→</kbd> the others</span>' : '');
  live.append(foot);
  root.prepend(live);
  const out = T.arrays.find((a) => a.role === 'output');
  const byCell = new Map(T.causes.map((c, k) => [c.cell, k]));
  let at = 0;
  const inner = () => scene.firstChild;
  const pick = (k, focus) => {
    at = (k + T.causes.length) % T.causes.length;
    show();
    if (focus) root.querySelector(`[data-k="${at}"]`)?.focus({ preventScroll: true });
  };
  const show = () => {
    const cause = T.causes[at];
    const state = new Map();
    for (const [, how, , cells] of cause.terms)
      for (const [name, k] of cells) {
        const key = name + ':' + k;
        if (how !== 'added' || !state.has(key)) state.set(key, how);
      }
    const left = scene.scrollLeft;
    const box = make('div', 'inner');
    for (const a of T.arrays)
      box.append(
        array(a.name, a.what, a, (k, flat) => {
          const v = a.values[k];
          const own = a === out && flat === cause.cell;
          const bad = a === out && a.wrong.includes(flat);
          const how = a === out ? '' : state.get(a.name + ':' + flat) || '';
          const cls = `cell ${v === null ? 'none' : ''} ${own ? 'hot' : bad ? 'bad' : how}`;
          const cell = make(byCell.has(flat) && a === out ? 'button' : 'div', cls, number(v));
          const want = a.want ? `, right is ${number(a.want[k])}` : '';
          cell.title = `${a.name}[${flat}] = ${v === null ? 'never written' : v}${bad ? want : ''}`;
          if (a === out && byCell.has(flat)) {
            cell.dataset.k = byCell.get(flat);
            cell.setAttribute('aria-pressed', String(own));
            cell.setAttribute('aria-label', cell.title + ', wrong');
          }
          cell.dataset.at = a.name + ':' + flat;
          return cell;
        }, a.heads),
      );
    scene.replaceChildren(box);
    scene.scrollLeft = left;
    lines(over(box), box, cause);
    words(cause);
  };
  const value = (name, flat) => {
    const a = T.arrays.find((one) => one.name === name);
    const row = Math.floor(flat / a.of[1]) - a.from[0], column = (flat % a.of[1]) - a.from[1];
    return a.values[row * a.shape[1] + column];
  };
  const lines = (svg, box, cause) => {
    const end = box.querySelector(`[data-at="${out.name}:${cause.cell}"]`);
    if (!end || cause.terms.length > 12 || T.arrays.some((a) => a.shape[0] > 1)) return;
    const to = spot(end, box, -1);
    for (const [, how, , cells] of cause.terms) {
      // The line begins at the cell of the array that is closest to the output's shape.
      const ends = cells.filter(([name]) => name !== out.name);
      const main = ends.find(([name]) => name === T.main) || ends[0];
      const e = main && box.querySelector(`[data-at="${main[0]}:${main[1]}"]`);
      if (!e) continue;
      const from = spot(e, box, 1);
      const red = how !== 'added';
      draw(svg, 'path', {
        d: `M${from}L${to}`,
        style: `stroke:var(--${red ? 'red' : 'orange'});stroke-width:${how === 'surplus' ? 5 : red ? 3 : 2};fill:none` +
          (how === 'missing' ? ';stroke-dasharray:7 5' : ''),
      });
      if (cause.terms.length > 5) continue;
      const at = (part) => [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part + 4];
      const label = (part, text, anchor) => {
        const [x, y] = at(part), fill = `fill:var(--${red ? 'red' : 'orange'});text-anchor:${anchor}`;
        draw(svg, 'text', { x: x + (anchor === 'end' ? -8 : 0), y, style: fill }, text);
      };
      const factors = cells.filter((c) => c !== main).map(([name, k]) => value(name, k));
      if (factors.length) label(0.2, '·' + factors.map(number).join('·'), 'middle');
      if (red) label(0.5, how === 'missing' ? 'missing' : 'too much', 'end');
    }
  };
  const words = (cause) => {
    const sum = make('div', 'sum');
    const row = (name, terms, end) => {
      const text = make('span');
      terms.forEach(([t, how], k) => {
        if (k) text.append(' + ');
        text.append(make('span', 'term ' + how, t));
      });
      text.append(end);
      sum.append(make('b', '', name), text);
    };
    const total = (other, v) => {
      const terms = cause.terms.filter((t) => t[1] !== other);
      return [terms, (terms.length ? ' = ' : '') + number(v)];
    };
    row('your kernel', ...(cause.got === null ? [[], 'never stored'] : total('missing', cause.got)));
    row('right', ...total('surplus', cause.want));
    const src = source(T.src, T.line0, (line) => {
      const hit = cause.lines.includes(line);
      const cls = hit ? 'hit' : cause.skip.includes(line) ? 'skip' : '';
      const beside = cause.beside[line] || '';
      return [cls, beside, line === cause.lines[0] ? cause.note : ''];
    });
    part.replaceChildren(sum, rich('p', 'soft', cause.who), src);
  };
  root.addEventListener('click', (e) => {
    const b = e.target.closest('[data-k]');
    if (b) pick(+b.dataset.k, true);
  });
  root.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    e.stopPropagation();
    if (!e.target.closest('[data-k]')) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (step) {
      pick(at + step, true);
      e.preventDefault();
    }
  });
  show();
  inner().querySelector('.hot')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  new ResizeObserver(() => lines(over(inner()), inner(), T.causes[at])).observe(scene);
};
