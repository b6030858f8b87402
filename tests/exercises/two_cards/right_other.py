def both(cards):
    cards.streams[1].wait_for_event(cards.give(0, 1))
    cards.add(1)
    cards.streams[0].wait_for_event(cards.put(1, 0))
