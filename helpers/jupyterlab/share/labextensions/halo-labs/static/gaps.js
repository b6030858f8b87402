// Two buttons below each cell that is an exercise: "Reset" puts the stub back, and "Next exercise"
// goes to the cell of the next one. The same acts are commands, for the palette and for shortcuts.
//
// The kernel knows the stubs (helpers/jupyterlab/gaps.py) and sends them by a comm. A reset is an
// edit like others: Ctrl + Z brings the student's text back, and so does the button, which is
// "Undo reset" until the cell is changed.

export const TARGET = 'halo-labs:gaps';

export const STYLE = `
  .halo-gap { display: flex; align-items: center; gap: 8px; padding: 2px 0 4px;
    margin-left: calc(var(--jp-cell-prompt-width) + var(--jp-cell-padding) + 10px);
    font-family: var(--jp-ui-font-family); font-size: var(--jp-ui-font-size1); }
  .halo-gap button { padding: 1px 10px; border: 1px solid var(--jp-border-color1);
    border-radius: 3px; background: var(--jp-layout-color1); color: var(--jp-ui-font-color1);
    font: inherit; cursor: pointer; }
  .halo-gap button:hover { background: var(--jp-layout-color2); }
  .halo-gap button:focus-visible { outline: 2px solid var(--jp-brand-color1); outline-offset: 1px; }
  .halo-gap button:disabled { color: var(--jp-ui-font-color3); cursor: default; }
  .halo-gap [role=status] { color: var(--jp-ui-font-color2); }
`;

const ASKED = /\bexercises\.find\(\s*["'](\w+)["']\s*\)/g;
const UNDO = 'The stub is back. Ctrl + Z brings your text back, and so does Undo reset.';

// By the shared model of a cell: the text that a reset has replaced.
const replaced = new WeakMap();

// The exercises of one notebook.
export class Gaps {
  constructor(panel) {
    this.panel = panel;
    this.list = [];
    this.bars = new Map(); // by cell
    const { sessionContext } = panel;
    const meet = kernel => kernel && this.listen(kernel);
    panel.context.ready.then(() => {
      const follow = () => panel.content.model?.cells.changed.connect(() => this.place());
      panel.content.modelChanged.connect(follow);
      follow();
      sessionContext.kernelChanged.connect((_, change) => meet(change.newValue));
      meet(sessionContext.session?.kernel);
    });
  }

  listen(kernel) {
    kernel.registerCommTarget(TARGET, (comm, message) => this.know(message.content.data.gaps));
    const texts = this.cells().map(cell => cell.model.sharedModel.getSource());
    const asked = texts.flatMap(text => [...text.matchAll(ASKED)].map(found => found[1]));
    if (asked.length) {
      const comm = kernel.createComm(TARGET);
      comm.onMsg = message => this.know(message.content.data.gaps);
      comm.open({ asked });
    }
  }

  know(gaps) {
    const fresh = new Set(gaps.map(gap => gap.pattern));
    this.list = [...this.list.filter(gap => !fresh.has(gap.pattern)), ...gaps];
    this.place();
  }

  cells() {
    return this.panel.content.widgets.filter(cell => cell.model.type === 'code');
  }

  // The cells of exercises from top to bottom: {cell, gap}. As for a grader, the last cell of an
  // exercise counts.
  found() {
    const cells = this.cells();
    const at = gap => {
      const pattern = new RegExp(gap.pattern, 'm');
      return cells.findLastIndex(cell => pattern.test(cell.model.sharedModel.getSource()));
    };
    return this.list
      .map(gap => ({ gap, k: at(gap) }))
      .filter(({ k }) => k >= 0)
      .sort((a, b) => a.k - b.k)
      .map(({ gap, k }) => ({ gap, cell: cells[k] }));
  }

  // Put the buttons where they belong, and nowhere else.
  place() {
    const found = this.found();
    const kept = new Set(found.map(({ cell }) => cell));
    for (const [cell, bar] of this.bars) {
      if (!kept.has(cell)) {
        bar.remove();
        this.bars.delete(cell);
      }
    }
    for (const { cell, gap } of found) {
      if (!this.bars.has(cell)) {
        this.bars.set(cell, this.bar(cell, gap));
      }
    }
    for (const [k, { cell }] of found.entries()) {
      const next = this.bars.get(cell).querySelector('.halo-gap-next');
      next.hidden = k + 1 === found.length;
      if (!next.hidden) {
        next.setAttribute('aria-label', `Next exercise: ${found[k + 1].gap.title}`);
      }
    }
  }

  bar(cell, gap) {
    const bar = document.createElement('div');
    bar.className = 'halo-gap';
    bar.setAttribute('role', 'group');
    bar.setAttribute('aria-label', `Exercise: ${gap.title}`);
    // JupyterLab's shortcuts would take the Enter and Space that press a button.
    bar.setAttribute('data-lm-suppress-shortcuts', 'true');
    const button = (name, act) => {
      const made = document.createElement('button');
      made.type = 'button';
      made.className = `halo-gap-${name}`;
      made.addEventListener('click', act);
      bar.append(made);
      return made;
    };
    const reset = button('reset', () => this.reset({ cell, gap }));
    const next = button('next', () => this.next(cell));
    next.textContent = 'Next exercise';
    const status = document.createElement('span');
    status.setAttribute('role', 'status');
    bar.append(status);
    const update = () => {
      const model = cell.model.sharedModel;
      const isStub = model.getSource() === gap.stub;
      if (!isStub) {
        replaced.delete(model);
      }
      const canUndo = replaced.has(model);
      reset.textContent = canUndo ? 'Undo reset' : 'Reset';
      reset.setAttribute('aria-label', `${reset.textContent}: ${gap.title}`);
      reset.title = canUndo ? 'Put your text back' : 'Put the text back with which it began';
      reset.disabled = isStub && !canUndo;
      status.textContent = canUndo ? UNDO : '';
    };
    cell.model.contentChanged.connect(update);
    update();
    // A cell far from the window has no parts yet.
    cell.ready.then(() => {
      if (this.bars.get(cell) === bar) {
        cell.inputArea.parent.node.after(bar);
      }
    });
    return bar;
  }

  reset({ cell, gap }) {
    const model = cell.model.sharedModel;
    const before = model.getSource();
    const mine = replaced.get(model);
    if (mine === undefined && before === gap.stub) {
      return;
    }
    // A step of its own in the history of edits.
    model.undoManager?.stopCapturing();
    if (mine === undefined) {
      replaced.set(model, before);
    }
    model.setSource(mine ?? gap.stub);
    model.undoManager?.stopCapturing();
  }

  // Go to the first exercise below a cell; below the last one, to the first of all.
  async next(cell) {
    const notebook = this.panel.content;
    const place = one => notebook.widgets.indexOf(one);
    const found = this.found().map(one => place(one.cell));
    const index = found.find(k => k > place(cell)) ?? found[0];
    if (index !== undefined) {
      notebook.deselectAll();
      notebook.activeCellIndex = index;
      notebook.mode = 'command';
      await notebook.scrollToItem(index, 'center');
      notebook.activate();
    }
  }
}

// The commands of the palette, which act on the notebook that has the focus.
export function addCommands(app, tracker, palette) {
  const known = new WeakMap();
  const follow = panel => known.set(panel, new Gaps(panel));
  tracker.forEach(follow);
  tracker.widgetAdded.connect((_, panel) => follow(panel));
  const current = () => {
    const panel = tracker.currentWidget;
    const gaps = panel && known.get(panel);
    const cell = panel?.content.activeCell;
    return { gaps, cell, here: gaps?.found().find(one => one.cell === cell) };
  };
  const commands = {
    'halo-labs:reset-exercise': {
      label: 'Put the Stub of This Exercise Back, or Your Text',
      isEnabled: () => Boolean(current().here),
      execute: () => {
        const { gaps, here } = current();
        gaps.reset(here);
      }
    },
    'halo-labs:next-exercise': {
      label: 'Go to the Next Exercise',
      isEnabled: () => Boolean(current().gaps?.found().length),
      execute: () => {
        const { gaps, cell } = current();
        return gaps.next(cell);
      }
    }
  };
  for (const [command, options] of Object.entries(commands)) {
    app.commands.addCommand(command, options);
    palette?.addItem({ command, category: 'Halo Labs' });
  }
}
