def both(cards):
    first, second = cards.streams
    given = cards.give(1, 0)
    first.wait_for_event(given)
    cards.add(0)
    back = cards.put(0, 1)
    second.wait_for_event(back)
