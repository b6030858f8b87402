def total(cards):
    for k in range(1, cards.count):
        cards.give(k, 0).synchronize()
        cards.add(0).synchronize()
    for k in range(1, cards.count):
        cards.put(0, k).synchronize()
