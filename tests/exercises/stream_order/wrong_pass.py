def mend(pipe):
    pass
