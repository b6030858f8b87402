def mend(pipe):
    while True:
        pass
