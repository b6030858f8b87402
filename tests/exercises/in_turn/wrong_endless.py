def in_turn(pipe):
    while True:
        pass
