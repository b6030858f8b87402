// What the pages of the site do in a browser: copy a listing, enlarge a figure, save a notebook, wrap
// outputs.

(() => {
  'use strict';

  function button(holder, text, label, act) {
    const made = document.createElement('button');
    made.type = 'button';
    made.className = 'halo-button';
    made.textContent = text;
    made.setAttribute('aria-label', label);
    made.addEventListener('click', () => act(made));
    holder.classList.add('halo-holder');
    holder.append(made);
    return made;
  }

  async function copy(listing, made) {
    try {
      await navigator.clipboard.writeText(listing.textContent.replace(/\n$/, ''));
      made.textContent = 'copied';
    } catch {
      // Without HTTPS a browser keeps its clipboard; the text is selected, so that Ctrl-C copies it.
      getSelection().selectAllChildren(listing);
      made.textContent = 'press Ctrl-C';
    }
    setTimeout(() => (made.textContent = 'copy'), 2000);
  }

  function enlarge(picture) {
    const dialog = document.createElement('dialog');
    dialog.className = 'halo-large';
    dialog.setAttribute('aria-label', 'The figure, enlarged');
    const close = button(dialog, 'close', 'Close the figure', () => dialog.close());
    close.autofocus = true;
    const large = document.createElement('img');
    large.src = picture.src;
    large.alt = picture.alt;
    large.className = picture.className;
    dialog.append(large);
    dialog.addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => dialog.remove());
    // The theme takes the key itself for its search field.
    dialog.addEventListener('keydown', event => event.key === 'Escape' && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  }

  // Lines wrap where no line in columns, of a table, is too long for the box.
  const pen = document.createElement('canvas').getContext('2d');
  function wrap(output) {
    pen.font = getComputedStyle(output).font;
    const columns = output.textContent.split('\n').filter(line => /\S {3,}\S/.test(line));
    const widest = Math.max(0, ...columns.map(line => pen.measureText(line).width));
    const { paddingLeft, paddingRight } = getComputedStyle(output);
    const room = output.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    output.classList.toggle('halo-wraps', widest <= room);
  }

  // What scrolls sideways must be reached by the keyboard.
  function focusable(box) {
    if (box.scrollWidth > box.clientWidth + 1 && !box.hasAttribute('tabindex')) {
      box.tabIndex = 0;
    }
  }

  for (const listing of document.querySelectorAll('.bd-article div.highlight > pre')) {
    button(listing.parentElement, 'copy', 'Copy this listing', made => copy(listing, made));
  }
  for (const picture of document.querySelectorAll('.bd-article img')) {
    const holder = document.createElement('div');
    picture.replaceWith(holder);
    holder.append(picture);
    picture.loading = 'lazy';
    button(holder, 'enlarge', 'Enlarge this figure', () => enlarge(picture));
  }
  for (const link of document.querySelectorAll('.article-header-buttons a[href$=".ipynb"]')) {
    if (!/^https?:.*(binder|colab)/.test(link.href)) {
      link.download = '';
      link.removeAttribute('target');
    }
  }
  // The theme leaves its side bar out of the landmarks that a screen reader jumps between.
  const side = document.querySelector('.bd-sidebar-primary');
  side?.setAttribute('role', 'complementary');
  side?.setAttribute('aria-label', 'Pages');
  // Nor does it name the buttons that unfold a lab's deeper notebook.
  for (const toggle of document.querySelectorAll('.bd-sidebar-primary summary')) {
    toggle.setAttribute('aria-label', 'Deeper notebook');
  }
  const boxes = '.bd-article pre, .bd-article table, .bd-article div.output';
  const look = () => {
    document.querySelectorAll('.bd-article div.cell_output pre').forEach(wrap);
    document.querySelectorAll(boxes).forEach(focusable);
  };
  look();
  addEventListener('resize', look);
  addEventListener('toggle', look, true);
})();
