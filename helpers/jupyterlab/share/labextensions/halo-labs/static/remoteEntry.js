// A JupyterLab extension (JupyterLab 4.1 or newer), written by hand so that no Node.js build is needed.
//
// It does three things:
//   1. A cell that begins with %%kernel holds CUDA C++, so it is highlighted as C++.
//   2. Printed text breaks between words. JupyterLab itself breaks anywhere ("word-break: break-all").
//   3. A link to a folder, whose text ends with a slash ("results/"), opens it in the file browser.
//      JupyterLab itself tries to open it as a file, and fails.
//
// JupyterLab loads this script and then calls two functions of the object at the end, which is the
// interface of webpack's module federation: init(scope) passes the modules that JupyterLab shares,
// get("./extension") must give a function that returns our module.

(() => {
  'use strict';

  const NAME = 'halo-labs';
  const CPP = 'text/x-c++src';
  const BEGINS_WITH_KERNEL = /^\s*%%kernel\b/;

  const STYLE = `
    .jp-OutputArea-output pre { word-break: normal; overflow-wrap: anywhere; }
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
  function follow(cell) {
    if (cell.type !== 'code') {
      return;
    }
    let other = null; // the MIME type that the notebook gave the cell
    const update = () => {
      if (cell.mimeType !== CPP) {
        other = cell.mimeType;
      }
      const isKernel = BEGINS_WITH_KERNEL.test(cell.sharedModel.getSource());
      const wanted = isKernel ? CPP : other ?? cell.mimeType;
      if (cell.mimeType !== wanted) {
        cell.mimeType = wanted;
      }
    };
    cell.contentChanged.connect(update);
    cell.mimeTypeChanged.connect(update); // the notebook sets it again when the Python kernel is ready
    update();
  }

  function followNotebook(notebook) {
    const known = new WeakSet();
    const followAll = () => {
      for (const cell of notebook.model?.cells ?? []) {
        if (!known.has(cell)) {
          known.add(cell);
          follow(cell);
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
        app.commands.execute('filebrowser:open-path', { path });
      }
    };
    document.addEventListener('click', open, true);
  }

  async function extension() {
    const { INotebookTracker } = await module('@jupyterlab/notebook');
    const plugin = {
      id: `${NAME}:plugin`,
      description: 'Shows %%kernel cells as CUDA C++, keeps printed words whole, opens linked folders.',
      autoStart: true,
      requires: [INotebookTracker],
      activate: (app, tracker) => {
        const style = document.createElement('style');
        style.textContent = STYLE;
        document.head.append(style);
        followFolders(app);
        tracker.forEach(panel => followNotebook(panel.content));
        tracker.widgetAdded.connect((_, panel) => followNotebook(panel.content));
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
