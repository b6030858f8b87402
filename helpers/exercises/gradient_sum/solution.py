def total(cards):
    added = None
    for k in range(1, cards.count):
        if added is not None:
            cards.streams[k].wait_for_event(added)  # the inbox is free again
        cards.streams[0].wait_for_event(cards.give(k, 0))
        added = cards.add(0)
    for k in range(1, cards.count):
        cards.streams[k].wait_for_event(cards.put(0, k))
