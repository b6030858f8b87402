def total(cards):
    streams = cards.streams
    for k in range(1, cards.count):
        streams[k].wait_for_event(cards.event(streams[0]))
        cards.give(k, 0)
        streams[0].wait_for_event(cards.event(streams[k]))
        cards.add(0)
    for k in range(1, cards.count):
        cards.put(0, k)
    done = cards.event(streams[0])
    for k in range(1, cards.count):
        streams[k].wait_for_event(done)
