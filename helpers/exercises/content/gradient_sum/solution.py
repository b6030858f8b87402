def total(cards):
    #>
    #= for k in range(1, cards.count):
        #= cards.give(k, 0)  # card k's vector into card 0's inbox, on card k's stream
        #= cards.add(0)  # card 0's vector += its inbox, on card 0's stream
    #= for k in range(1, cards.count):
        #= cards.put(0, k)  # card 0's vector over card k's, on card 0's stream
    added = None
    for k in range(1, cards.count):
        if added is not None:
            cards.streams[k].wait_for_event(added)  # the inbox is free again
        cards.streams[0].wait_for_event(cards.give(k, 0))
        added = cards.add(0)
    for k in range(1, cards.count):
        cards.streams[k].wait_for_event(cards.put(0, k))
    #<
