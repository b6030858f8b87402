import numpy as np


def program(pid, x, BLOCK):
    """Return the places that program number pid writes, and their new values.

    The programs write y = max(2 * x + 1, 0) * 0.5, BLOCK places each.
    """
    x = np.asarray(x)
    #> 1. All places of this program, an array of BLOCK numbers, and which of them lie in x.
    #= place = np.arange(BLOCK)
    #= inside = place < 0
    place = pid * BLOCK + np.arange(BLOCK)
    inside = place < len(x)
    #<
    cells = x[place[inside]]    # in Triton: cells = tl.load(x + place, mask=inside)
    #> 2. The new values.
    #= y = cells
    y = np.maximum(2 * cells + 1, 0) * 0.5
    #<
    return place[inside].tolist(), y.tolist()    # tl.store(y + place, ..., mask=inside)
