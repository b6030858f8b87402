def choose(ms, lines, within):
    """Return the tool that costs the least work and is fast enough.

    ms: the time of each tool by its name, None where nobody measured it. lines: how many lines
    you write with each tool. within: fast enough is a time of at most `within` times the best.
    """
    #> Leave out what was not measured. Keep the tools that are fast enough. Of these return the
    #> one with the fewest lines; of equally few, the faster one.
    #= return min(ms)
    measured = {tool: time for tool, time in ms.items() if time is not None}
    best = min(measured.values())
    enough = [tool for tool, time in measured.items() if time <= within * best]
    return min(enough, key=lambda tool: (lines[tool], measured[tool]))
    #<
