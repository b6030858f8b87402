"""A launch: its limits, arguments, rehearsal and run, and the counters of its profile."""
