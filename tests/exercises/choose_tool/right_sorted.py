def choose(ms, lines, within):
    known = sorted((time, tool) for tool, time in ms.items() if time is not None)
    limit = known[0][0] * within
    chosen = None
    for time, tool in known:
        if time <= limit and (chosen is None or lines[tool] < lines[chosen]):
            chosen = tool
    return chosen
