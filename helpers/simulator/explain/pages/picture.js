// What both pictures are made of: cells of arrays, lines over them, and the lines of a source.
const HALO = (root) => {
  const $ = (q) => root.querySelector(q);
  const make = (tag, cls, text, more) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined && text !== '') e.textContent = text;
    for (const k in more || {}) e.setAttribute(k, more[k]);
    return e;
  };
  // An element with a text in which `...` is code.
  const rich = (tag, cls, text) => {
    const e = make(tag, cls);
    text.split('`').forEach((part, k) => e.append(k % 2 ? make('code', '', part) : part));
    return e;
  };
  const number = (v) => {
    if (v === null || v === undefined) return '?';
    if (typeof v !== 'number') return String(v);
    if (Number.isInteger(v)) return String(v);
    const short = Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(1) : String(+v.toFixed(2));
    return short;
  };
  // A number in the four letters for which a small cell has room, where fewer decimals bring it there.
  const short = (text) =>
    [2, 1, 0].map((k) => (+text).toFixed(k)).find((one) => one.length < 5 && text.length > 4 && one !== 'NaN') ?? text;
  // An array as a grid of cells. a: {shape: [rows, columns], from: [row, column] with which their
  // numbers begin, of: [rows, columns] of the whole array}; without `from` they have no numbers; cell(k, flat): an element for cell k of the window.
  const array = (name, what, a, cell, heads) => {
    const [rows, cols] = a.shape;
    const box = make('div', 'array');
    const title = make('b', '', name);
    title.append(make('small', '', what));
    const isWide = cols > 14 || rows > 6;
    const grid = make('div', isWide ? 'grid wide' : 'grid');
    const side = rows > 1;
    grid.style.gridTemplateColumns = (side && a.from ? 'max-content ' : '') + `repeat(${cols},max-content)`;
    if (heads) {
      if (side) grid.append(make('span'));
      for (const [text, span] of heads) {
        const e = make('span', 'blk', text);
        e.style.gridColumn = `span ${span}`;
        grid.append(e);
      }
    }
    if (side && a.from) grid.append(make('span'));
    for (let c = 0; a.from && c < cols; c++) grid.append(make('span', 'n', String(a.from[1] + c)));
    for (let r = 0; r < rows; r++) {
      if (side && a.from) grid.append(make('span', 'n row', String(a.from[0] + r)));
      for (let c = 0; c < cols; c++) {
        const e = cell(r * cols + c, a.from ? (a.from[0] + r) * a.of[1] + a.from[1] + c : 0);
        if (isWide && !e.childElementCount) e.textContent = short(e.textContent);
        if (e.textContent.length > 3) e.classList.add('long');
        grid.append(e);
      }
    }
    box.append(title, grid);
    return box;
  };
  // The middle of an element within the scene, at its top (-1), middle (0) or bottom (1).
  const spot = (e, inner, where) => {
    const p = e.getBoundingClientRect(), q = inner.getBoundingClientRect();
    return [p.left - q.left + p.width / 2, p.top - q.top + (p.height / 2) * (1 + where)];
  };
  const NS = 'http://www.w3.org/2000/svg';
  // What lines are drawn into, over the cells; their words stand in a second layer, over the numbers.
  const over = (box) => {
    box.querySelectorAll(':scope > svg.over').forEach((one) => one.remove());
    const layers = [0, 1].map(() => document.createElementNS(NS, 'svg'));
    for (const one of layers) one.setAttribute('class', 'over');
    box.append(...layers);
    return layers[0];
  };
  const draw = (svg, tag, more, text) => {
    const e = document.createElementNS(NS, tag);
    for (const k in more) e.setAttribute(k, more[k]);
    if (text) e.textContent = text;
    (tag === 'text' ? svg.closest('svg').nextSibling : svg).append(e);
    return e;
  };
  // Lines of the source. mark(line): [class, text beside it, note below it].
  const source = (src, first, mark) => {
    const box = make('div', 'src', '', { tabindex: 0, 'aria-label': 'source' });
    src.forEach((text, k) => {
      const [cls, beside, note] = mark(first + k);
      const line = make('div', cls);
      line.append(make('i', '', String(first + k)), make('span', '', text || ' '));
      if (beside) line.append(make('u', '', beside));
      box.append(line);
      if (note) {
        box.append(rich('div', 'hit note', note));
      }
    });
    return box;
  };
  return { $, make, rich, number, array, spot, over, draw, source };
};
