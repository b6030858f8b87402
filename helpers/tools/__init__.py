"""The maintainers' commands: they run the labs, make records, and compare with NVIDIA's tools."""
