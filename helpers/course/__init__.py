"""The course: students' copies of the labs.

`python -m helpers.course update` makes them in my_labs/, or brings new versions beside changed ones.
"""
