"""Several cards: a batch split over them, and copies and sums between them.

    with cards.Cards() as group:              # all that the driver lists
        with cards.Batch(group, work, images=10_000, piece=250) as batch:
            batch.load(x)                     # into pinned memory, each card's share
            print(batch.run())                # who did what, and who failed
            y = batch.result()

One process, one thread a card: a context is current in the thread that pushed it and in no other,
and PyCUDA frees memory only in the thread of its context. `shares` splits a number of images;
`Exchange` copies between cards, and sums over them.
"""

from helpers.cards.batch import Batch, CardFailed, CardsFailedError, speeds
from helpers.cards.exchange import Exchange
from helpers.cards.group import Card, Cards, CardsError, is_real, simulated, words
from helpers.cards.shares import shares
from helpers.cards.work import Work
