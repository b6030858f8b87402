// The lines of a finding or of a compile error, marked in the cell itself: the line and its number
// are coloured, and its message is shown where the mouse rests on either. An edit of the cell removes
// its marks.
//
// The kernel sends them by a comm (helpers/jupyterlab/cell_marks.py), so that they are no output: nothing is
// stored in the notebook, and without this extension everything else works.

export const TARGET = 'halo-labs:marks';

export const STYLE = `
  .cm-editor .cm-line.halo-mark-error { box-shadow: inset 3px 0 var(--jp-error-color1);
    background: color-mix(in srgb, var(--jp-error-color1) 14%, transparent); }
  .cm-editor .cm-line.halo-mark-warning { box-shadow: inset 3px 0 var(--jp-warn-color1);
    background: color-mix(in srgb, var(--jp-warn-color1) 14%, transparent); }
  .cm-editor .cm-gutterElement.halo-mark-gutter { color: var(--jp-ui-font-color0);
    font-weight: bold; background: color-mix(in srgb, var(--jp-error-color1) 30%, transparent); }
  .cm-tooltip:has(.halo-mark-words), .cm-tooltip.halo-mark-words { pointer-events: none; }
  .halo-mark-words { max-width: 46rem; padding: 4px 8px; white-space: pre-wrap;
    font-family: var(--jp-code-font-family); font-size: var(--jp-code-font-size); }
`;

const NAME = /^\s*%%kernel\s+(\w+)/;

export function marks({ state, view }) {
  const { RangeSet, StateEffect, StateField } = state;
  const { Decoration, EditorView, GutterMarker, ViewPlugin, gutterLineClass, showTooltip } = view;
  const change = StateEffect.define();
  const rest = StateEffect.define();
  // By the shared model of a cell. An editor that JupyterLab makes anew, when its cell comes near
  // the window again, finds its marks here.
  const kept = new WeakMap();

  const gutterMarker = new (class extends GutterMarker {
    elementClass = 'halo-mark-gutter';
  })();
  const ofKind = {
    error: Decoration.line({ class: 'halo-mark-error' }),
    warning: Decoration.line({ class: 'halo-mark-warning' })
  };

  function value(document, list) {
    const there = list.filter(one => one.line >= 1 && one.line <= document.lines);
    const byLine = new Map(there.map(one => [one.line, one])); // one mark a line is enough
    const sorted = [...byLine.values()].sort((a, b) => a.line - b.line);
    const at = one => document.line(one.line).from;
    return {
      list: there,
      lines: Decoration.set(sorted.map(one => ofKind[one.severity].range(at(one)))),
      gutters: RangeSet.of(sorted.map(one => gutterMarker.range(at(one))))
    };
  }

  // The extension of one editor.
  function extension(model) {
    const field = StateField.define({
      create: start => value(start.doc, kept.get(model) ?? []),
      update(old, transaction) {
        for (const effect of transaction.effects) {
          if (effect.is(change)) {
            return value(transaction.state.doc, effect.value);
          }
        }
        return transaction.docChanged ? value(transaction.state.doc, []) : old;
      },
      provide: self => [
        EditorView.decorations.from(self, found => found.lines),
        gutterLineClass.from(self, found => found.gutters)
      ]
    });
    const forget = EditorView.updateListener.of(update => {
      if (update.docChanged) {
        kept.delete(model);
      }
    });
    const wordsOf = (editor, line) => {
      const here = editor.state.field(field).list.filter(one => one.line === line.number);
      return [...new Set(here.map(one => one.text))].join('\n\n');
    };
    // Where the mouse rests: {pos, words}. CodeMirror's own hints know the text of a line alone, and
    // neither the rest of its band nor its number.
    const shown = StateField.define({
      create: () => null,
      update(old, transaction) {
        const effect = transaction.effects.find(one => one.is(rest));
        return effect ? effect.value : transaction.docChanged ? null : old;
      },
      provide: self => showTooltip.from(self, one => one && { pos: one.pos, above: true, create: () => {
        const dom = document.createElement('div');
        dom.className = 'halo-mark-words';
        dom.textContent = one.words;
        return { dom };
      } })
    });
    const mouse = ViewPlugin.define(editor => {
      const show = next => {
        if (next?.pos !== editor.state.field(shown)?.pos) {
          editor.dispatch({ effects: rest.of(next) });
        }
      };
      const move = event => {
        const block = editor.lineBlockAtHeight(event.clientY - editor.documentTop);
        const words = wordsOf(editor, editor.state.doc.lineAt(block.from));
        show(words ? { pos: block.from, words } : null);
      };
      const leave = () => show(null);
      editor.dom.addEventListener('mousemove', move);
      editor.dom.addEventListener('mouseleave', leave);
      return {
        destroy: () => {
          editor.dom.removeEventListener('mousemove', move);
          editor.dom.removeEventListener('mouseleave', leave);
        }
      };
    });
    return [field, forget, shown, mouse];
  }

  // Mark what the kernel says of a cell: {kernel: NAME, marks: [{line, code, text, severity}]}.
  function apply(notebook, { kernel, marks: list }) {
    for (const cell of notebook.widgets) {
      const source = cell.model.sharedModel.getSource();
      if (cell.model.type !== 'code' || NAME.exec(source)?.[1] !== kernel) {
        continue;
      }
      // Only where the line still is what the message is about.
      // Blank lines above %%kernel do not count for the compiler.
      const above = source.slice(0, source.indexOf('%%kernel')).split('\n').length - 1;
      const lines = source.split('\n');
      const moved = list.map(one => ({ ...one, line: one.line + above }));
      const fitting = moved.filter(one => lines[one.line - 1]?.trim() === one.code);
      kept.set(cell.model.sharedModel, fitting);
      cell.editor?.editor?.dispatch({ effects: change.of(fitting) });
    }
  }

  return { extension, apply };
}

// Listen to the kernels of a notebook.
export function listen(panel, apply) {
  const { sessionContext } = panel;
  const register = kernel => {
    kernel?.registerCommTarget(TARGET, (comm, message) => {
      apply(panel.content, message.content.data);
    });
  };
  register(sessionContext.session?.kernel);
  sessionContext.kernelChanged.connect((_, change) => register(change.newValue));
}
