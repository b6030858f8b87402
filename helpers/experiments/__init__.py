"""Measurements that a lab shows, one module each: the measurement, its record, its figure."""
