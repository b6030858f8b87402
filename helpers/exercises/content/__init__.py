"""The exercises themselves, a folder for each, in that of its lab where it has one."""
