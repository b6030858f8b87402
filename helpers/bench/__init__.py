"""What a lab measures: timings, records, predictions, and their statistics."""
