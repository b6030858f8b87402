"""Measurements that a lab shows, one module each: what is timed or counted, the record it makes, and its figure."""
