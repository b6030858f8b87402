def total(cards):
    for k in range(cards.count - 1):
        cards.streams[k + 1].wait_for_event(cards.give(k, k + 1))
        cards.add(k + 1)
    last = cards.count - 1
    for k in range(last):
        cards.streams[k].wait_for_event(cards.put(last, k))
