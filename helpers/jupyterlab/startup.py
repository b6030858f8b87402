"""What each kernel of JupyterLab runs first (PYTHONSTARTUP): %%kernel, and short errors.

So a %%kernel cell works right after a restart, and a check cell whose cells above were not run says
so. A lab's own `%load_ext helpers` does it once more.
"""

from contextlib import suppress


def _load() -> None:
    from IPython import get_ipython

    import helpers

    shell = get_ipython()
    if shell is not None:
        # Not by the extension manager: %load_ext would say then that there is nothing to load.
        helpers.load_ipython_extension(shell)


with suppress(ImportError):  # a plain Python, in a terminal of JupyterLab
    _load()
