"""What stops a command of the course; `python -m helpers.course` shows the message alone."""


class CourseError(Exception):
    """The message says what was wrong, and what to type."""
