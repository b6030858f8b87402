// The exercise bar: Run & check, Hint, Solution, Reset or Undo, Next, in the output of each check.
//
// The check's output says how it went, with metadata (helpers/exercises/judge/bar.py); the bar adds what
// a notebook cannot do by itself. The kernel knows stubs, hints and solutions and sends them by a
// comm (helpers/jupyterlab/bar.py). A reset is an edit like others: Ctrl + Z brings the student's
// text back, and so does the button, which is "Undo reset" until the cell is changed.

import { Cards } from './cards.js';

export const TARGET = 'halo-labs:bar';
export const OURS = 'halo_labs'; // our metadata of an output

export const STYLE = `
  .halo-bar, .halo-cards, .halo-cover, .jp-OutputArea .halo-verdict {
    --halo-ink: var(--jp-content-font-color1); --halo-soft: var(--jp-content-font-color2);
    --halo-line: var(--jp-border-color1);
    --halo-blue: #1d5fae; --halo-on-blue: #fff; --halo-red: #b3261e; --halo-red0: #fde8e6;
    --halo-green: #17692f; --halo-green0: #e2f3e6; --halo-amber: #7d5200; --halo-amber0: #fdf1d3;
    --halo-grey: #868e96; }
  body[data-jp-theme-light="false"] :is(.halo-bar, .halo-cards, .halo-cover, .jp-OutputArea .halo-verdict) {
    --halo-blue: #82b7f7; --halo-on-blue: #0b1622; --halo-red: #ff8f86; --halo-red0: #4b1814;
    --halo-green: #74d290; --halo-green0: #12351d; --halo-amber: #ecc05a; --halo-amber0: #3a2c08;
    --halo-grey: #7d8590; }
  /* Below the text of the cell. On a narrow page JupyterLab puts the prompt above that. */
  .jp-Notebook { --halo-left: calc(var(--jp-cell-collapser-width) + var(--jp-cell-prompt-width)); }
  @media (width <= 760px) { .jp-Notebook {
    --halo-left: calc(var(--jp-cell-collapser-width) + var(--jp-cell-padding)); }
    .halo-quiet .jp-OutputPrompt { display: none; } }
  .halo-bar { box-sizing: border-box; max-width: 900px; margin: 4px 8px 0 var(--halo-left);
    color: var(--halo-ink);
    font: var(--jp-content-font-size1)/1.45 var(--jp-content-font-family);
    border: 1px solid var(--halo-line); border-left: 5px solid var(--halo-grey);
    border-radius: 0 8px 8px 0; }
  .halo-bar[data-state=run] { border-left-color: var(--halo-blue); }
  .halo-bar[data-state=fail] { border-left-color: var(--halo-red); }
  .halo-bar[data-state=near] { border-left-color: var(--halo-amber); }
  .halo-bar[data-state=pass] { border-left-color: var(--halo-green); }
  .halo-bar[data-state=stale] { border-left: 5px dashed var(--halo-amber); }
  .halo-bar :is(.halo-buttons, .halo-say) { display: flex; flex-wrap: wrap; gap: 6px;
    align-items: center; padding: 6px 10px; }
  .halo-bar .halo-next { margin-left: auto; }
  .halo-bar .halo-tick { color: var(--halo-green); font-weight: 600; }
  .halo-bar button { font: inherit; font-size: 13px; min-height: 28px; padding: 2px 10px;
    border: 1px solid var(--halo-grey); border-radius: 6px; cursor: pointer; white-space: nowrap;
    background: var(--jp-layout-color0); color: var(--halo-ink); }
  .halo-bar button:hover { background: var(--jp-layout-color2); }
  .halo-bar button:focus-visible { outline: 3px solid var(--halo-blue); outline-offset: 1px; }
  .halo-bar button[aria-disabled=true] { color: var(--halo-soft); border-style: dashed; }
  .halo-bar button.halo-main { background: var(--halo-blue); border-color: transparent;
    color: var(--halo-on-blue); font-weight: 600; }
  .halo-bar button.halo-offer { border: 2px solid var(--halo-amber);
    background: var(--halo-amber0); }
  .halo-bar .halo-say { border-top: 1px solid var(--halo-line); }
  .halo-bar .halo-say:empty { display: none; }
  .halo-bar[data-state=fail] .halo-say { background: var(--halo-red0); }
  .halo-bar[data-state=stale] .halo-say { background: var(--halo-amber0); }
  .halo-bar .halo-hints { margin: 0; padding: 6px 14px 6px 34px; background: var(--halo-amber0);
    border-top: 1px solid var(--halo-line); }
  .halo-bar .halo-hints:empty { display: none; }
  .halo-bar .halo-solution { padding: 0 10px; border-top: 1px solid var(--halo-line);
    overflow-x: auto; }
  .halo-bar .halo-solution:empty { display: none; }
  @media (pointer: coarse) { .halo-bar button { min-height: 44px; } }
  /* The code of a check is behind a button, and its number tells nothing. */
  .halo-quiet:not(.halo-open) > .jp-Cell-inputWrapper { display: none; }
  .halo-quiet .jp-OutputPrompt { visibility: hidden; }
  .jp-OutputArea .halo-verdict { box-sizing: border-box; max-width: 900px; margin: 0 8px 6px 0;
    border-radius: 0 8px 8px 0; color: var(--halo-ink); border-left-width: 5px !important; }
  .jp-OutputArea .halo-verdict[data-status] { border-left-color: var(--halo-red) !important;
    background: var(--halo-red0); }
  .jp-OutputArea .halo-verdict[data-status=pass] { border-left-color: var(--halo-green) !important;
    background: var(--halo-green0); }
  .jp-OutputArea .halo-verdict[data-status=budget] { border-left-color: var(--halo-amber) !important;
    background: var(--halo-amber0); }
  .jp-OutputArea .halo-verdict[data-status=not_begun] { border-left-color: var(--halo-grey) !important;
    background: none; }
  .jp-OutputArea .halo-verdict p { margin: 2px 0 4px; }
  .jp-OutputArea .halo-verdict summary { cursor: pointer; width: fit-content; }
  .jp-OutputArea .halo-verdict pre { margin: 6px 0; padding: 8px 10px; white-space: pre-wrap;
    background: var(--jp-layout-color0); border: 1px solid var(--halo-line); border-radius: 6px; }
  .halo-barred .halo-verdict .halo-hints { display: none; } /* the bar has them */
  .halo-stale .halo-verdict { opacity: .45; }
  @media (prefers-reduced-motion: no-preference) {
    .halo-bar[data-state=pass] .halo-tick { animation: halo-pop .45s cubic-bezier(.3, 1.8, .5, 1); }
    @keyframes halo-pop { from { transform: scale(0); } } }
`;

const ASKED = /\bexercises\.find\(\s*["'](\w+)["']\s*\)/g;
const HEADING = /^#{2,3} +(.+)$/m;
const UNDO = 'The stub is back. Ctrl + Z brings your text back, and so does Undo reset.';
const LOCKED = 'The solution opens after the last hint, or after a PASS.';
const SIGNS = { pass: '\u2713', fail: '\u2717', near: '\u25d0' };

// By the shared model of a cell: the text that a reset has replaced, and the hints that are open.
const replaced = new WeakMap();
const opened = new WeakMap();

// The CRC-32 of a cell's text, as helpers/exercises/judge/bar.py computes it.
function checksum(text) {
  let sum = -1;
  for (const byte of new TextEncoder().encode(text.trim())) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
  }
  return ~sum >>> 0;
}

function outputsOf(cell) {
  const { outputs } = cell.model;
  return Array.from({ length: outputs.length }, (_, k) => outputs.get(k));
}

// The first line of an error that a cell has shown, without the colours of a terminal.
export function errorOf(cell) {
  const error = outputsOf(cell).find(one => one.type === 'error')?.toJSON();
  return error && { name: error.ename, text: error.traceback.join('\n').replace(/\x1b\[[\d;]*m/g, '') };
}

const isRunning = cell => cell.model.executionState === 'running';

// The bars of one notebook.
export class Bars {
  // marking.apply: marks lines of a cell (marks.js), once that is there.
  constructor(panel, actions, marking) {
    this.panel = panel;
    this.actions = actions;
    this.marking = marking;
    this.list = [];
    this.bars = new Map(); // by the cell of an exercise
    this.cards = new Cards(this);
    const { sessionContext } = panel;
    const meet = kernel => kernel && this.listen(kernel);
    panel.context.ready.then(() => {
      const follow = () => panel.content.model?.contentChanged.connect(() => this.placeSoon());
      panel.content.modelChanged.connect(follow);
      follow();
      this.placeSoon();
      sessionContext.kernelChanged.connect((_, change) => meet(change.newValue));
      meet(sessionContext.session?.kernel);
    });
  }

  listen(kernel) {
    kernel.registerCommTarget(TARGET, (comm, message) => {
      const { list, data } = message.content.data;
      if (list) {
        this.renew(list, data);
      } else {
        this.know(message.content.data);
      }
    });
    const texts = this.cells().map(cell => cell.model.sharedModel.getSource());
    const asked = texts.flatMap(text => [...text.matchAll(ASKED)].map(found => found[1]));
    if (asked.length) {
      this.ask(kernel, { asked }, answer => this.know(answer));
    }
  }

  ask(kernel, question, act) {
    const comm = kernel.createComm(TARGET);
    comm.onMsg = message => act(message.content.data);
    comm.open(question);
  }

  know({ exercises = [], predictions }) {
    if (predictions) {
      this.cards.know(predictions);
    }
    const fresh = new Set(exercises.map(one => one.name));
    this.list = [...this.list.filter(one => !fresh.has(one.name)), ...exercises];
    this.place();
  }

  // The list of exercises, anew: JupyterLab itself has forgotten after a reload where it stands.
  renew(list, data) {
    for (const cell of this.cells()) {
      for (const [k, one] of outputsOf(cell).entries()) {
        if (one.metadata[OURS]?.list === list) {
          cell.model.outputs.set(k, { ...one.toJSON(), data });
        }
      }
    }
  }

  cells() {
    return this.panel.content.widgets.filter(cell => cell.model.type === 'code');
  }

  // The exercises from top to bottom: {exercise, cell, check}. As for a grader, the last cell of an
  // exercise counts. Where none has its first line, the cell above the check may have lost that: the
  // check then says so.
  found() {
    const cells = this.cells();
    const last = pattern => {
      const expression = new RegExp(pattern, 'm');
      return cells.findLast(cell => expression.test(cell.model.sharedModel.getSource()));
    };
    const found = this.list
      .map(exercise => ({ exercise, cell: last(exercise.cell), check: last(exercise.check) }))
      .filter(one => one.check);
    const known = new Set(found.flatMap(one => [one.cell, one.check]));
    for (const one of found) {
      const above = cells[cells.indexOf(one.check) - 1];
      one.cell ??= known.has(above) ? undefined : above;
    }
    return found
      .filter(one => one.cell)
      .sort((a, b) => cells.indexOf(a.cell) - cells.indexOf(b.cell));
  }

  // After what is typed, not at every letter.
  placeSoon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.place(), 150);
  }

  // Put the bars where they belong, and nowhere else.
  place() {
    if (this.panel.isDisposed || !this.panel.content.model) {
      return;
    }
    this.cards.place();
    const found = this.found();
    for (const [cell, bar] of this.bars) {
      if (!found.some(one => one.cell === cell && one.check === bar.check)) {
        bar.dispose();
        this.bars.delete(cell);
      }
    }
    for (const one of found) {
      const bar = this.bars.get(one.cell) ?? new Bar(this, one);
      this.bars.set(one.cell, bar);
      bar.exercise = one.exercise;
      bar.update();
    }
  }

  // The first heading below a cell: {cell, words}.
  headingBelow(cell) {
    const { widgets } = this.panel.content;
    for (const one of widgets.slice(widgets.indexOf(cell) + 1)) {
      const words = one.model.type === 'markdown' && HEADING.exec(one.model.sharedModel.getSource());
      if (words) {
        return { cell: one, words: words[1].replace(/[`*]/g, '') };
      }
    }
    return null;
  }

  // Run cells, and the set-up before them where they miss a name: what stands above the first step.
  async runWithAbove(cells) {
    const { content, sessionContext } = this.panel;
    await this.actions.runCells(content, cells, sessionContext);
    if (cells.some(one => errorOf(one)?.name === 'NameError')) {
      const step = this.headingBelow(content.widgets[0])?.cell;
      const above = content.widgets.slice(0, content.widgets.indexOf(step));
      const setUp = above.filter(one => one.model.type === 'code' && !cells.includes(one));
      await this.actions.runCells(content, [...setUp, ...cells], sessionContext);
    }
  }

  async go(cell, place = 'start') {
    const notebook = this.panel.content;
    notebook.deselectAll();
    notebook.activeCellIndex = notebook.widgets.indexOf(cell);
    notebook.mode = 'command';
    await notebook.scrollToItem(notebook.activeCellIndex, place);
    document.activeElement.blur(); // a notebook leaves the focus in its active cell as it is
    notebook.activate();
  }

  // Let Escape in our own parts below a cell lead back to the cell.
  leadBack(node, cell) {
    node.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        this.go(cell, 'smart');
      }
    });
  }

  // Go to the first exercise below a cell; below the last one, to the first of all.
  nextExercise(cell) {
    const { widgets } = this.panel.content;
    const found = this.found().map(one => one.cell);
    const below = found.find(one => widgets.indexOf(one) > widgets.indexOf(cell)) ?? found[0];
    return below && this.go(below, 'center');
  }
}

class Bar {
  constructor(bars, { exercise, cell, check }) {
    Object.assign(this, { bars, exercise, cell, check, words: '', running: 0 });
    this.parts = {};
    this.node = document.createElement('div');
    this.node.className = 'halo-bar';
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', `Exercise: ${exercise.title}`);
    bars.leadBack(this.node, cell);
    const row = this.part('buttons', 'div');
    for (const [name, act] of [
      ['run', () => this.run()],
      ['hint', () => this.hint()],
      ['solve', () => this.solve()],
      ['reset', () => this.reset()],
      ['code', () => check.node.classList.toggle('halo-open')],
      ['next', () => bars.go(bars.headingBelow(check).cell)]
    ]) {
      const button = this.part(name, 'button', row);
      button.type = 'button';
      button.onclick = () => {
        act();
        this.update();
      };
    }
    this.part('tick', 'span', row);
    this.parts.next.before(this.parts.tick);
    this.part('say', 'div').setAttribute('role', 'status');
    this.part('hints', 'ol');
    this.part('solution', 'div');
    this.parts.code.textContent = 'Code';
    this.parts.code.title = 'Show the code of the check, or hide it';
    check.addClass('halo-quiet');
    check.addClass('halo-barred');
    this.follow = () => this.update();
    for (const one of [cell, check]) {
      one.model.contentChanged.connect(this.follow);
      one.model.stateChanged.connect(this.follow);
      one.model.outputs.changed.connect(this.follow);
    }
    // A cell far from the window has no parts yet.
    check.ready.then(() => {
      if (!this.isDisposed) {
        check.inputArea.parent.node.after(this.node);
      }
    });
  }

  part(name, kind, parent = this.node) {
    const node = document.createElement(kind);
    node.className = `halo-${name}`;
    parent.append(node);
    this.parts[name] = node;
    return node;
  }

  dispose() {
    this.isDisposed = true;
    clearInterval(this.running);
    this.node.remove();
    for (const name of ['halo-quiet', 'halo-barred', 'halo-stale', 'halo-open']) {
      this.check.removeClass(name);
    }
    for (const { model } of [this.cell, this.check]) {
      if (!model.isDisposed) {
        model.contentChanged.disconnect(this.follow);
        model.stateChanged.disconnect(this.follow);
        model.outputs.changed.disconnect(this.follow);
      }
    }
  }

  get source() {
    return this.cell.model.sharedModel.getSource();
  }

  // What the output of the check says of the exercise; undefined before the first check.
  get said() {
    return outputsOf(this.check).map(one => one.metadata[OURS]).find(one => one?.status);
  }

  // {kind, words}: one of new, run, fail, near, pass, stale; and what the bar itself says.
  get state() {
    if (isRunning(this.cell) || isRunning(this.check)) {
      const seconds = Math.round((Date.now() - this.since) / 1000);
      const what = isRunning(this.check) ? 'Checking' : 'Running the cell';
      return { kind: 'run', words: `${what} \u2026 ${seconds} s` };
    }
    const failed = errorOf(this.cell) ?? (this.said ? undefined : errorOf(this.check));
    if (failed) {
      const [first, second = ''] = failed.text.split('\n').filter(line => line.trim());
      const said = first.endsWith(':') ? `${first} ${second}` : first;
      return { kind: 'fail', words: `${SIGNS.fail} FAIL: ${said}` };
    }
    if (!this.said || this.said.status === 'not_begun') {
      return { kind: 'new', words: this.said ? '' : '\u25cb Not checked yet.' };
    }
    const kind = { pass: 'pass', budget: 'near' }[this.said.status] ?? 'fail';
    if (this.said.text !== checksum(this.source)) {
      const before = { pass: 'PASS', near: 'NOT YET', fail: 'FAIL' }[kind];
      const words = `\u25d0 The cell has changed since it was checked. Before: ${SIGNS[kind]} ${before}.`;
      return { kind: 'stale', words };
    }
    return { kind, words: '' }; // the verdict is below
  }

  get hasPassed() {
    return this.exercise.passed || Boolean(this.said?.passed);
  }

  get openHints() {
    return opened.get(this.cell.model.sharedModel) ?? 0;
  }

  update() {
    const { exercise, parts } = this;
    const { kind, words } = this.state;
    exercise.passed = this.hasPassed;
    this.mark(kind);
    this.count(kind === 'run');
    this.node.dataset.state = kind;
    this.check[kind === 'stale' ? 'addClass' : 'removeClass']('halo-stale');
    const every = exercise.hints.length;
    const isOpen = exercise.passed || this.openHints >= every;
    this.name('run', kind === 'run' ? '\u25a0 Stop' : '\u25b6 Run & check', kind === 'pass' ? '' : 'main');
    const number = Math.min(this.openHints + 1, every);
    const offers = ['fail', 'near'].includes(kind) && this.openHints < every;
    this.name('hint', `Hint ${number}/${every}`, offers ? 'offer' : '', this.openHints >= every);
    this.name('solve', 'Solution', '', !isOpen);
    parts.solve.hidden = !exercise.solution;
    const model = this.cell.model.sharedModel;
    const isStub = this.source === exercise.stub;
    if (!isStub) {
      replaced.delete(model);
    }
    const canUndo = replaced.has(model);
    this.name('reset', canUndo ? 'Undo reset' : 'Reset', '', isStub && !canUndo);
    parts.reset.title = canUndo ? 'Put your text back' : 'Put the text back with which it began';
    const below = this.bars.headingBelow(this.check);
    parts.next.hidden = !below;
    this.name('next', 'Next \u2192', kind === 'pass' ? 'main' : '');
    parts.next.setAttribute('aria-label', `Next: ${below?.words ?? ''}`);
    parts.next.title = below?.words ?? '';
    parts.tick.textContent = exercise.passed ? `\u2713 passed${kind === 'pass' ? '' : ' before'}` : '';
    const say = [words, this.note ?? '', canUndo ? UNDO : ''].filter(Boolean).join(' ');
    if (parts.say.textContent !== say) {
      parts.say.textContent = say;
    }
    if (parts.hints.childElementCount !== this.openHints) {
      parts.hints.innerHTML = exercise.hints.slice(0, this.openHints).map(hint => `<li>${hint}</li>`).join('');
    }
  }

  // Mark the lines that the verdict is about, until the cell is changed.
  mark(kind) {
    const { said, exercise, source } = this;
    if (said === this.marked || kind === 'run' || kind === 'stale') {
      return;
    }
    this.marked = said;
    const lines = source.slice(source.indexOf('%%kernel')).split('\n');
    const marks = Object.entries(said?.lines ?? {}).map(([line, text]) => ({
      line: Number(line), code: lines[line - 1]?.trim(), text, severity: 'error'
    }));
    this.bars.marking.apply?.(this.bars.panel.content, { kernel: exercise.kernel, marks });
  }

  name(part, text, kind = '', isOff = false) {
    const button = this.parts[part];
    button.textContent = text;
    button.className = `halo-${part} ${kind && `halo-${kind}`}`;
    button.setAttribute('aria-label', `${text.replace(/^\W+/, '')}: ${this.exercise.title}`);
    button.setAttribute('aria-disabled', isOff);
  }

  // Count the seconds while something runs.
  count(isBusy) {
    if (isBusy && !this.running) {
      this.since = Date.now();
      this.running = setInterval(this.follow, 1000);
    } else if (!isBusy && this.running) {
      clearInterval(this.running);
      this.running = 0;
    }
  }

  async run() {
    const { sessionContext } = this.bars.panel;
    this.note = '';
    this.parts.solution.replaceChildren();
    if (this.state.kind === 'run') {
      sessionContext.session?.kernel?.interrupt();
      return;
    }
    this.since = Date.now();
    this.check.model.outputs.clear(); // of the text before
    const cells = this.cell === this.check ? [this.cell] : [this.cell, this.check];
    await this.bars.runWithAbove(cells);
    if (this.state.kind === 'pass') {
      opened.delete(this.cell.model.sharedModel); // a PASS is short
    }
    this.update();
    this.check.node.scrollIntoView({ block: 'nearest' });
    this.parts[this.state.kind === 'pass' && !this.parts.next.hidden ? 'next' : 'run'].focus();
  }

  hint() {
    const model = this.cell.model.sharedModel;
    opened.set(model, Math.min(this.openHints + 1, this.exercise.hints.length));
  }

  solve() {
    this.note = '';
    if (this.parts.solve.getAttribute('aria-disabled') === 'true') {
      const { length } = this.exercise.hints;
      this.note = `${LOCKED} You have seen ${this.openHints} of ${length} hints.`;
    } else if (this.parts.solution.childElementCount) {
      this.parts.solution.replaceChildren();
    } else {
      const kernel = this.bars.panel.sessionContext.session?.kernel;
      this.bars.ask(kernel, { solution: this.exercise.name }, ({ solution }) => {
        this.parts.solution.innerHTML = solution;
        this.node.scrollIntoView({ block: 'nearest' });
      });
    }
  }

  reset() {
    const model = this.cell.model.sharedModel;
    const mine = replaced.get(model);
    if (mine === undefined && this.source === this.exercise.stub) {
      return;
    }
    // A step of its own in the history of edits.
    model.undoManager?.stopCapturing();
    if (mine === undefined) {
      replaced.set(model, this.source);
    }
    model.setSource(mine ?? this.exercise.stub);
    model.undoManager?.stopCapturing();
  }
}

// In our own parts, plain keys press buttons and write: JupyterLab's shortcuts would take them. Those
// with Ctrl, Alt or Meta stay JupyterLab's, and so does Shift + Enter, which runs a cell and goes on.
// The mark is on the very element that has the focus, because JupyterLab's selectors end with that.
export function keepShortcuts() {
  const OWN = '.halo-bar, .halo-cards, .halo-cover';
  const decide = event => {
    const goesOn = event.shiftKey && event.key === 'Enter';
    const isPlain = !(event.ctrlKey || event.altKey || event.metaKey || goesOn);
    if (event.target.closest?.(OWN)) {
      event.target.toggleAttribute('data-lm-suppress-shortcuts', isPlain);
    }
  };
  window.addEventListener('keydown', decide, true); // before the document, where JupyterLab listens
}

// The commands of the palette, which act on the notebook that has the focus. marking: as Bars has it.
export function addCommands(app, tracker, palette, actions, marking) {
  const known = new WeakMap();
  const follow = panel => known.set(panel, new Bars(panel, actions, marking));
  tracker.forEach(follow);
  tracker.widgetAdded.connect((_, panel) => follow(panel));
  const current = () => {
    const panel = tracker.currentWidget;
    const bars = panel && known.get(panel);
    const cell = panel?.content.activeCell;
    const here = [...(bars?.bars.values() ?? [])].find(one => one.cell === cell || one.check === cell);
    return { bars, cell, here };
  };
  const acts = {
    'run-and-check': ['Run This Exercise and Check It', here => here.run()],
    'show-hint': ['Show the Next Hint of This Exercise', here => here.hint()],
    'show-solution': ['Show the Solution of This Exercise', here => here.solve()],
    'reset-exercise': ['Put the Stub of This Exercise Back, or Your Text', here => here.reset()]
  };
  const add = (name, label, isEnabled, execute) => {
    const command = `halo-labs:${name}`;
    app.commands.addCommand(command, { label, isEnabled, execute });
    palette?.addItem({ command, category: 'Halo Labs' });
  };
  for (const [name, [label, act]] of Object.entries(acts)) {
    add(name, label, () => Boolean(current().here), () => {
      const { here } = current();
      act(here);
      here.update();
    });
  }
  add(
    'next-exercise',
    'Go to the Next Exercise',
    () => Boolean(current().bars?.found().length),
    () => current().bars.nextExercise(current().cell)
  );
  app.commands.addKeyBinding({
    command: 'halo-labs:run-and-check',
    keys: ['Accel Shift Enter'],
    selector: '.jp-Notebook'
  });
}
