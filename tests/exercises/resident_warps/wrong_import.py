from helpers.limits import resident_warps  # noqa: F401
