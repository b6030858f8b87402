"""Findings: what the machine reports, as records, and the sentences that tell them."""
