def total(cards):
    cards.streams[0].wait_for_event(cards.give(1, 0))
    cards.add(0)
    cards.streams[1].wait_for_event(cards.put(0, 1))
