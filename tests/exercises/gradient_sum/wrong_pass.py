def total(cards):
    pass
