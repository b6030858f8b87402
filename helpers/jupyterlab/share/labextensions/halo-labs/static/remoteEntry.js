// A JupyterLab extension (JupyterLab 4.1 or newer), written by hand so that no Node.js build is needed.
//
// It does these things:
//   1. A cell that begins with %%kernel holds CUDA C++: it is highlighted as C++ with CUDA's names,
//      which the Tab key also completes (cuda.js).
//   2. The lines of a finding or compile error are marked in the cell (marks.js).
//   3. Work that takes long says so in the corner (notices.js).
//   4. An exercise has a bar: run and check, hint, solution, reset, next (bar.js); a prediction is a
//      card (cards.js).
//   5. Printed text breaks between words. JupyterLab itself breaks anywhere ("word-break: break-all").
//   6. A figure's description is its alt text.
//   7. A link to a folder, whose text ends with a slash ("results/"), opens it in the file browser.
//      JupyterLab itself tries to open it as a file, and fails.
//   8. A link to a heading of the same notebook leads there.
//   9. A long name in the file browser breaks behind an underscore.
//  10. The start page follows a lab that is saved.
// Where this JupyterLab lacks what one of them needs, the others work.
//
// JupyterLab loads this script and then calls two functions of the object at the end, which is the
// interface of webpack's module federation: init(scope) passes the modules that JupyterLab shares,
// get("./extension") must give a function that returns our module.

(() => {
  'use strict';

  const NAME = 'halo-labs';
  const CPP = 'text/x-c++src';
  const START_PAGE = 'my_labs/0_START.md';
  const HERE = new URL('./', document.currentScript.src);

  const STYLE = `
    .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
    /* On a narrow page the words in a figure stay large enough, and the figure scrolls. */
    @media (width <= 760px) { .jp-OutputArea .jp-RenderedImage { overflow-x: auto; }
      .jp-OutputArea .jp-RenderedImage img { max-width: max(100%, 640px); } }
    /* Names of labs are whole in the file browser, and most of them in a tab. */
    @media (width > 760px) { body { --jp-private-horizontal-tab-width: 310px; } }
    .jp-DirListing-itemText { white-space: normal; overflow-wrap: anywhere; }
    /* A line of text has at most about 90 characters. */
    .jp-Notebook .jp-MarkdownOutput { max-width: 46em; }
    .jp-MarkdownViewer .jp-RenderedMarkdown > * { max-width: 46em; }
    .jp-MarkdownViewer .jp-RenderedMarkdown > table { margin-left: 0; display: block; overflow-x: auto;
      width: fit-content; max-width: min(100%, 46em); }
    .jp-MarkdownViewer { background: var(--jp-layout-color0); } /* Notebook 7's page is grey */
    /* A heading that is a link, as on the start page, is a button. */
    .jp-MarkdownViewer h2 > a:first-of-type:not(.jp-InternalAnchorLink) { display: inline-block;
      padding: 0.6em 1.2em; border-radius: 6px; background: #1a5fb4; color: #ffffff;
      font-size: 1.15rem; font-weight: 600; text-decoration: none; }
    .jp-MarkdownViewer h2 > a:first-of-type:not(.jp-InternalAnchorLink):is(:hover, :focus-visible) {
      background: #134a8e; color: #ffffff; }
    /* Listings of kernels and figures bring a white ground; a dark theme turns their lightness
       round, and keeps the hues. A photograph stays as it is. */
    body[data-jp-theme-light="false"] :is(
      .jp-RenderedHTML > [style*="background:#f8f8f8"], .jp-RenderedHTML > div.highlight,
      .halo-solution > *,
      .jp-OutputArea .jp-RenderedImage img:not(.jp-needs-light-background)
    ) { filter: invert(0.9) hue-rotate(180deg); }
  `;

  let shared = {};

  async function module(name) {
    const versions = Object.values(shared[name] ?? {});
    if (!versions.length) {
      throw new Error(`${NAME}: JupyterLab does not share ${name}`);
    }
    return (await versions[0].get())();
  }

  // Keep the language of one cell in step with its first line.
  function follow(cell, isKernelText) {
    if (cell.type !== 'code') {
      return;
    }
    let other = null; // the MIME type that the notebook gave the cell
    const update = () => {
      if (cell.mimeType !== CPP) {
        other = cell.mimeType;
      }
      const isKernel = isKernelText.test(cell.sharedModel.getSource());
      const wanted = isKernel ? CPP : other ?? cell.mimeType;
      if (cell.mimeType !== wanted) {
        cell.mimeType = wanted;
      }
    };
    cell.contentChanged.connect(update);
    cell.mimeTypeChanged.connect(update); // the notebook sets it again when the Python kernel is ready
    update();
  }

  function followNotebook(notebook, isKernelText) {
    const known = new WeakSet();
    const followAll = () => {
      for (const cell of notebook.model?.cells ?? []) {
        if (!known.has(cell)) {
          known.add(cell);
          follow(cell, isKernelText);
        }
      }
    };
    const connect = () => {
      notebook.model?.cells.changed.connect(followAll);
      followAll();
    };
    notebook.modelChanged.connect(connect);
    connect();
  }

  // Open folders that are linked from rendered Markdown.
  function followFolders(app) {
    const files = new URL('files/', app.serviceManager.serverSettings.baseUrl).href;
    const open = event => {
      const link = event.target.closest?.('.jp-RenderedMarkdown a');
      const address = link?.href.split(/[?#]/)[0] ?? '';
      const isFolder = link?.textContent.endsWith('/') && !/[.][^/]*$/.test(address);
      if (isFolder && address.startsWith(files)) {
        event.preventDefault();
        event.stopPropagation();
        const path = decodeURIComponent(address.slice(files.length));
        if (document.getElementById('filebrowser')) {
          app.commands.execute('filebrowser:open-path', { path });
        } else { // a page of Jupyter Notebook
          window.open(new URL(`../tree/${path}`, files));
        }
      }
    };
    document.addEventListener('click', open, true);
  }

  // Follow links to headings of the same notebook. JupyterLab itself does not find a heading whose
  // name has other characters than ASCII, because a link encodes them.
  function followHeadings(tracker) {
    const open = event => {
      const link = event.target.closest?.('.jp-Notebook a[href^="#"]');
      const panel = link && tracker.find(one => one.content.node.contains(link));
      if (panel) {
        event.preventDefault();
        event.stopPropagation();
        panel.content.setFragment(decodeURIComponent(link.hash));
      }
    };
    document.addEventListener('click', open, true);
  }

  // Read the open start page anew after a notebook is saved: the server has written into it how far
  // each lab is (helpers/jupyterlab/__init__.py). JupyterLab itself does not look.
  function refreshStartPage(app, panel) {
    panel.context.saveState.connect((_, state) => {
      for (const { context } of app.shell.widgets('main')) {
        if (state === 'completed' && context?.path === START_PAGE && !context.model.dirty) {
          context.revert();
        }
      }
    });
  }

  // Let a long name in the file browser break behind an underscore. A zero-width space stands there, in
  // the page alone: the name itself stays. JupyterLab writes into the page only what has changed
  // since it wrote last, so that most of ours stay, too.
  async function breakNames(app) {
    await app.restored;
    const browser = document.getElementById('filebrowser');
    if (!browser) {
      return; // a page of Jupyter Notebook
    }
    const soften = () => {
      for (const name of browser.querySelectorAll('.jp-DirListing-itemText')) {
        const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const soft = texts.currentNode.data.replace(/_(?!\u200b)/g, '_\u200b');
          if (soft !== texts.currentNode.data) {
            texts.currentNode.data = soft;
          }
        }
      }
    };
    const parts = { childList: true, characterData: true, subtree: true };
    new MutationObserver(soften).observe(browser, parts);
    soften();
  }

  // Give pictures in outputs their text form as alt text, for screen readers.
  function describePictures(rendermime, { imageRendererFactory }) {
    const createRenderer = options => {
      const renderer = imageRendererFactory.createRenderer(options);
      const render = renderer.renderModel.bind(renderer);
      renderer.renderModel = async model => {
        await render(model);
        const words = model.data['text/plain'];
        const picture = renderer.node.querySelector('img');
        if (picture && words) {
          picture.alt = Array.isArray(words) ? words.join('') : words;
        }
      };
      return renderer;
    };
    const rank = (imageRendererFactory.defaultRank ?? 90) - 1;
    rendermime.addFactory({ ...imageRendererFactory, createRenderer }, rank);
  }

  // Do one of the things above; a failure of it is no failure of the others.
  async function attempt(what, act) {
    try {
      await act();
    } catch (error) {
      console.warn(`${NAME}: no ${what} in this JupyterLab`, error);
    }
  }

  async function extension() {
    const [cuda, bar, cards, marks, notices] = await Promise.all(
      ['cuda.js', 'bar.js', 'cards.js', 'marks.js', 'notices.js'].map(file => import(new URL(file, HERE)))
    );
    const { INotebookTracker, NotebookActions } = await module('@jupyterlab/notebook');
    const { IEditorExtensionRegistry, EditorExtensionRegistry } = await module(
      '@jupyterlab/codemirror'
    );
    const { IRenderMimeRegistry, ...rendering } = await module('@jupyterlab/rendermime');
    const { ICompletionProviderManager } = await module('@jupyterlab/completer');
    const { ICommandPalette } = await module('@jupyterlab/apputils').catch(() => ({}));
    const plugin = {
      id: `${NAME}:plugin`,
      description: 'CUDA C++ in %%kernel cells, findings at their lines, bars of exercises, alt texts.',
      autoStart: true,
      requires: [INotebookTracker],
      optional: [
        IEditorExtensionRegistry,
        IRenderMimeRegistry,
        ICompletionProviderManager,
        ...(ICommandPalette ? [ICommandPalette] : [])
      ],
      activate: async (app, tracker, editors, rendermime, completer, palette) => {
        const style = document.createElement('style');
        style.textContent = STYLE + cuda.STYLE + bar.STYLE + cards.STYLE + marks.STYLE;
        document.head.append(style);
        bar.keepShortcuts();
        followFolders(app);
        followHeadings(tracker);
        attempt('room on a narrow page', async () => {
          await app.restored;
          if (window.innerWidth < 700) {
            app.shell.collapseLeft();
          }
        });
        attempt('breaks in names of files', () => breakNames(app));
        const marking = {};
        const each = act => {
          tracker.forEach(act);
          tracker.widgetAdded.connect((_, panel) => act(panel));
        };
        each(panel => followNotebook(panel.content, cuda.BEGINS_WITH_KERNEL));
        each(panel => refreshStartPage(app, panel));
        attempt('alt texts', () => describePictures(rendermime, rendering));
        attempt('completion', async () => {
          completer.registerProvider(cuda.completions);
          await app.restored; // the providers of others are there, too
          cuda.completeAlone(completer);
        });
        attempt('bars of exercises', () => bar.addCommands(app, tracker, palette, NotebookActions, marking));
        attempt('notices', async () => {
          const { Notification } = await module('@jupyterlab/apputils');
          each(panel => notices.listen(panel, Notification));
        });
        attempt('marks', async () => {
          const [state, view, language] = await Promise.all(
            ['state', 'view', 'language'].map(part => module(`@codemirror/${part}`))
          );
          const marked = Object.assign(marking, marks.marks({ state, view }));
          const coloured = cuda.colours({ view, language });
          editors.addExtension({
            name: NAME,
            factory: ({ model }) =>
              EditorExtensionRegistry.createImmutableExtension([
                coloured,
                marked.extension(model.sharedModel)
              ])
          });
          each(panel => marks.listen(panel, marked.apply));
        });
      }
    };
    return () => ({ __esModule: true, default: plugin });
  }

  (globalThis._JUPYTERLAB ??= {})[NAME] = {
    init: scope => {
      shared = scope;
    },
    get: async name => {
      if (name !== './extension') {
        throw new Error(`${NAME} has no module ${name}`);
      }
      return extension();
    }
  };
})();
