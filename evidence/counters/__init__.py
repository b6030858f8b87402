"""The counters of the simulator beside those of Nsight Compute."""
