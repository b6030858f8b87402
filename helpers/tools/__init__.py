"""The maintainers' commands: run the labs, make the records, compare counters and findings with NVIDIA's tools."""
