def both(cards):
    """Leave the sum of the vectors of cards 0 and 1 on both."""
    #> Call give(1, 0), add(0) and put(0, 1), and let streams wait where they must: two waits.
    #= cards.give(1, 0)
    cards.streams[0].wait_for_event(cards.give(1, 0))
    cards.add(0)
    cards.streams[1].wait_for_event(cards.put(0, 1))
    #<
