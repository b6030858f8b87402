// Predictions as cards: a number field or radio buttons below prediction.number(...) and
// prediction.choice(...). A guess is written into the cell in place of None, so that the notebook
// keeps it, and the same cell works as text where this extension is not.
//
// Until a guess is made or waived, the output of the cell that answers it,
// prediction.beside(KEY=...), is covered. What was measured comes from the kernel by the comm of
// bar.js.

import { errorOf } from './bar.js';

export const STYLE = `
  .halo-cards, .halo-cover { box-sizing: border-box; max-width: 900px;
    margin: 4px 8px 4px var(--halo-left);
    font: var(--jp-content-font-size1)/1.45 var(--jp-content-font-family);
    color: var(--jp-content-font-color1); }
  .halo-cards { display: grid; gap: 10px;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }
  .halo-card { border: 1px solid var(--jp-border-color1); border-radius: 8px; padding: 8px 14px 10px;
    margin: 0; min-width: 0; }
  .halo-card .halo-tag { color: var(--halo-blue); font-size: 12.5px; font-weight: 700; }
  .halo-card fieldset { border: 0; margin: 0; padding: 0; min-width: 0; }
  .halo-card legend { padding: 0; margin: 2px 0 6px; font-weight: 600; }
  .halo-card .halo-row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center;
    margin-top: 8px; }
  .halo-card label { display: flex; gap: 8px; align-items: center; margin: 3px 0; padding: 3px 8px;
    border: 1px solid var(--jp-border-color1); border-radius: 6px; cursor: pointer; }
  .halo-card input[type=text] { font: inherit; width: 110px; min-height: 28px; padding: 1px 8px;
    border: 1.5px solid var(--halo-grey); border-radius: 6px; background: var(--jp-layout-color0);
    color: var(--jp-content-font-color1); }
  .halo-card table { border-collapse: collapse; margin: 2px 0 4px; font-size: inherit; }
  .halo-card td { padding: 1px 14px 1px 0; }
  .halo-card .halo-hidden { margin: 6px 0 0; padding: 4px 8px; border: 1px dashed var(--halo-grey);
    border-radius: 6px; color: var(--jp-content-font-color2); font-size: 13px; }
  .halo-card .halo-right { color: var(--halo-green); font-weight: 600; }
  .halo-card .halo-off { color: var(--halo-amber); font-weight: 600; }
  .halo-cover { padding: 8px 14px; border: 1px dashed var(--halo-amber); border-radius: 8px;
    background: var(--halo-amber0); display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
  .halo-covered > .jp-Cell-outputWrapper { display: none; }
  :is(.halo-card, .halo-cover) button { font: inherit; font-size: 13px; min-height: 28px;
    padding: 2px 10px; border: 1px solid var(--halo-grey); border-radius: 6px; cursor: pointer;
    background: var(--jp-layout-color0); color: var(--jp-content-font-color1); }
  :is(.halo-card, .halo-cover) button.halo-main { background: var(--halo-blue);
    border-color: transparent; color: var(--halo-on-blue); font-weight: 600; }
  :is(.halo-card, .halo-cover) :focus-visible { outline: 3px solid var(--halo-blue);
    outline-offset: 1px; }
`;

const CALL = /\bprediction\.(number|choice)\(\s*"(\w+)"\s*,\s*(None|-?[\d.][\w.]*|"(?:[^"\\]|\\.)*")\s*,/g;
const STRING = /"(?:[^"\\]|\\.)*"/g;
const HIDDEN = 'The answer is hidden until you have guessed.';
const FIRST = 'Guess first: a wrong guess costs nothing.';

// The place behind the bracket that closes the one before `from`.
function closed(text, from) {
  let depth = 1;
  for (let k = from; k < text.length; k++) {
    if (text[k] === '"') {
      const [whole] = /^"(?:[^"\\]|\\.)*"/.exec(text.slice(k)) ?? ['"'];
      k += whole.length - 1;
    } else {
      depth += { '(': 1, ')': -1 }[text[k]] ?? 0;
      if (depth === 0) {
        return k + 1;
      }
    }
  }
  return text.length;
}

const strings = text => [...text.matchAll(STRING)].map(one => JSON.parse(one[0]));

// The questions in the text of a cell: {kind, key, guess, words, unit, among, from, to}; the guess
// stands from `from` to `to`, and the whole call from `begin` to `end`.
export function questions(text) {
  return [...text.matchAll(CALL)].map(call => {
    const [whole, kind, key, guess] = call;
    const end = closed(text, text.indexOf('(', call.index) + 1);
    const rest = text.slice(call.index + whole.length, end);
    const from = call.index + whole.lastIndexOf(guess);
    // What is not written out as strings, the kernel knows when the cell has run.
    const among = /among=\(((?:\s*"(?:[^"\\]|\\.)*"\s*,?)+)\s*\)/.exec(rest)?.[1];
    const [words = ''] = strings(rest.replace(/\b(among|unit)=[^]*/, ''));
    return {
      kind,
      key,
      guess: guess === 'None' ? null : JSON.parse(guess.replace(/^(-?)\./, '$10.').replace(/_/g, '')),
      words,
      unit: /\bunit="([^"]*)"/.exec(rest)?.[1] ?? '',
      among: among === undefined ? [] : strings(among),
      from,
      to: from + guess.length,
      begin: call.index,
      end
    };
  });
}

// The keys that a cell answers, of those that are known.
function answered(text, keys) {
  const at = text.indexOf('prediction.beside(');
  const call = at < 0 ? '' : text.slice(at, closed(text, text.indexOf('(', at) + 1));
  return keys.filter(key => new RegExp(`\\b${key}\\s*=[^=]`).test(call));
}

function element(kind, className = '', text = '') {
  const node = document.createElement(kind);
  node.className = className;
  node.textContent = text;
  return node;
}

// Keep in the new cards of a cell what is typed or chosen in the old ones.
function keepGuesses(old, node) {
  const before = old.querySelectorAll('form');
  for (const [k, card] of node.querySelectorAll('form').entries()) {
    const was = before[k]?.elements.guess?.value;
    if (was && card.elements.guess) {
      card.elements.guess.value = was;
    }
  }
}

// The cards of one notebook. bars: its exercise bars, which know the kernel.
export class Cards {
  constructor(bars) {
    this.bars = bars;
    this.rows = {}; // by key: what the kernel knows of a question
    this.nodes = new Map(); // by cell: {node, drawn}
  }

  know(rows) {
    this.rows = rows;
    this.place();
  }

  place() {
    const cells = this.bars.cells();
    const asked = new Map(); // by key: {cell, question}
    for (const cell of cells) {
      for (const question of questions(cell.model.sharedModel.getSource())) {
        asked.set(question.key, { cell, question });
      }
    }
    const wanted = new Map();
    for (const cell of cells) {
      const text = cell.model.sharedModel.getSource();
      const mine = questions(text);
      if (mine.length) {
        wanted.set(cell, this.cards(cell, mine));
        const rest = mine.reduceRight((left, one) => left.slice(0, one.begin) + left.slice(one.end), text);
        this.hideCode(cell, !rest.replace(/#.*/g, '').trim());
      } else {
        const open = answered(text, [...asked.keys()])
          .map(key => asked.get(key))
          .filter(one => one.question.guess === null && !this.isWaived(one.cell));
        const isCovered = open.length > 0 && cell.model.outputs.length > 0;
        cell.node.classList.toggle('halo-covered', isCovered);
        if (isCovered) {
          wanted.set(cell, this.cover(open));
        }
      }
    }
    for (const [cell, { node }] of this.nodes) {
      if (!wanted.has(cell)) {
        node.remove();
        this.nodes.delete(cell);
      }
    }
    for (const [cell, { state, draw }] of wanted) {
      const known = this.nodes.get(cell);
      if (known?.drawn === state) {
        continue; // what is being typed stays
      }
      const node = draw();
      this.bars.leadBack(node, cell);
      const hadFocus = known?.node.contains(document.activeElement);
      if (known) {
        keepGuesses(known.node, node);
        known.node.remove();
      }
      this.nodes.set(cell, { node, drawn: state });
      cell.ready.then(() => {
        if (this.nodes.get(cell)?.node === node) {
          cell.inputArea.parent.node.after(node);
          if (hadFocus) {
            this.focus(cell);
          }
        }
      });
    }
  }

  hideCode(cell, isQuiet) {
    cell.node.classList.toggle('halo-quiet', isQuiet);
  }

  isWaived(cell) {
    return Boolean(cell.model.getMetadata('halo_labs')?.waived);
  }

  // What stands below the cell of some questions: its state as a text, and how to draw it.
  cards(cell, mine) {
    const all = mine.map(question => ({ question, row: this.rows[question.key] }));
    const draw = () => {
      const node = element('div', 'halo-cards');
      node.append(...all.map(({ question, row }) => this.card(cell, question, row)));
      return node;
    };
    return { state: JSON.stringify([all, this.isWaived(cell)]), draw };
  }

  card(cell, question, row) {
    const card = element('form', 'halo-card');
    const among = question.among.length ? question.among : row?.among ?? [];
    const unit = question.unit || row?.unit || '';
    const group = element('fieldset');
    const head = element('legend', '', `${question.words}${unit ? ` (${unit})` : ''}`);
    group.append(head);
    card.append(element('div', 'halo-tag', 'Predict'), group);
    const note = element('div', 'halo-hidden', HIDDEN);
    note.setAttribute('role', 'status');
    const button = (text, act, kind = 'button', main = '') => {
      const made = element('button', main, text);
      made.type = kind;
      if (act) {
        made.onclick = act;
      }
      return made;
    };
    const code = button('Code', () => cell.node.classList.toggle('halo-open'));
    code.title = 'Show the code of this question, or hide it';
    const isDone = question.guess !== null || this.isWaived(cell);
    const row2 = element('div', 'halo-row');
    if (isDone) {
      group.append(this.result(question, row));
      row2.append(button('Guess again', () => this.write(cell, question, 'None')), code);
      card.append(row2);
      return card;
    }
    if (question.kind === 'number') {
      const field = element('input');
      field.type = 'text';
      field.inputMode = 'decimal';
      field.name = 'guess';
      field.setAttribute('aria-label', question.words);
      row2.append(field, unit);
    } else if (among.length) {
      for (const answer of among) {
        const label = element('label');
        const radio = element('input');
        Object.assign(radio, { type: 'radio', name: 'guess', value: answer });
        label.append(radio, answer);
        group.append(label);
      }
    } else {
      row2.append(button('Show the answers to choose from', () => this.run(cell)));
    }
    row2.append(button('Guess', null, 'submit', 'halo-main'), button('Skip', () => this.waive(cell)), code);
    group.append(row2);
    card.append(note);
    card.onkeydown = event => {
      if (event.key === 'Enter' && event.target.tagName === 'INPUT') {
        event.preventDefault(); // in a notebook, the browser's own way does not come through
        card.requestSubmit();
      }
    };
    card.onsubmit = event => {
      event.preventDefault();
      const guess = new FormData(card).get('guess')?.trim();
      if (!guess) {
        note.textContent = FIRST;
      } else if (question.kind === 'choice') {
        this.write(cell, question, JSON.stringify(guess));
      } else {
        const number = Number(guess.replace(/,(?=\d{3}\b)/g, '').replace(/%$/, ''));
        if (Number.isFinite(number)) {
          this.write(cell, question, String(number));
        } else {
          note.textContent = `Type a number, such as 12 or 0.5; "${guess}" is none.`;
        }
      }
    };
    return card;
  }

  // You beside measured, and how they compare.
  result(question, row) {
    const unit = question.unit ? ` ${question.unit}` : '';
    const you = question.guess === null ? 'no guess' : row?.you ?? `${question.guess}${unit}`;
    const isMeasured = row && row.measured !== '-';
    const measured = isMeasured ? row.measured : 'comes with a cell below';
    const table = element('table');
    for (const [name, value] of [['you', you], ['measured', measured]]) {
      const line = table.insertRow();
      line.insertCell().textContent = name;
      line.insertCell().textContent = value;
    }
    const part = document.createDocumentFragment();
    part.append(table);
    if (isMeasured && row.verdict) {
      const isRight = row.verdict === 'right';
      const sign = isRight ? '\u2713' : '\u2260';
      const words = isRight || row.verdict === 'not quite' ? row.verdict : `not quite: ${row.verdict}`;
      part.append(element('div', isRight ? 'halo-right' : 'halo-off', `${sign} ${words}`));
    }
    return part;
  }

  // What covers the output of a cell that answers open questions.
  cover(open) {
    const draw = () => {
      const node = element('div', 'halo-cover');
      const many = open.length > 1 ? `${open.length} predictions are` : 'a prediction is';
      node.append(element('span', '', `Guess first: ${many} open, and this output has the answer.`));
      const guess = element('button', 'halo-main', 'Guess');
      guess.onclick = () => this.bars.go(open[0].cell, 'center').then(() => this.focus(open[0].cell));
      const show = element('button', '', 'Show it without a guess');
      show.onclick = () => this.waive(...new Set(open.map(one => one.cell)));
      node.append(guess, show);
      return node;
    };
    return { state: JSON.stringify(open.map(one => one.question.key)), draw };
  }

  // Give the focus to the first question that is open; where none is, to the first button.
  focus(cell) {
    const node = this.nodes.get(cell)?.node;
    const first = ['input:checked', 'input', 'button'].map(one => node?.querySelector(one)).find(Boolean);
    (first ?? cell.node).focus();
  }

  // Put a text in the place of a guess, and run the cell.
  async write(cell, question, text) {
    const model = cell.model.sharedModel;
    if (text === 'None' && this.isWaived(cell)) {
      cell.model.deleteMetadata('halo_labs');
    }
    // The guesses of a cell are written one after another: each has moved the next one's place.
    const { from, to } = questions(model.getSource()).find(one => one.key === question.key);
    model.updateSource(from, to, text);
    if (text !== 'None') {
      await this.run(cell);
    }
    this.place();
    await this.settle(cell);
    this.focus(cell);
  }

  async run(cell) {
    await this.bars.runWithAbove([cell]);
    this.place();
  }

  async waive(...cells) {
    for (const cell of cells) {
      cell.model.setMetadata('halo_labs', { waived: true });
    }
    this.place();
    await this.settle(...cells);
  }

  // Run once more what has failed because these cells had asked nothing yet.
  async settle(...asking) {
    const keys = asking.flatMap(cell => questions(cell.model.sharedModel.getSource())).map(one => one.key);
    for (const cell of this.bars.cells()) {
      const isMine = answered(cell.model.sharedModel.getSource(), keys).length > 0;
      if (isMine && errorOf(cell)?.name === 'PredictionError') {
        await this.bars.runWithAbove([...asking, cell]);
      }
    }
    this.place();
  }
}
