def total(cards):
    while True:
        pass
