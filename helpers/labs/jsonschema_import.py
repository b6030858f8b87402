"""Import this module before nbformat or Kernel Tuner, whose import then takes 2 s less.

Both import jsonschema, and that imports rfc3987_syntax if it is there, for addresses with letters
of all alphabets (IRIs). It builds a parser from their grammar, which takes 2 s. Neither notebooks
nor records of Kernel Tuner have such a field. Python takes None in sys.modules for a package that
is not installed, and jsonschema does without.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
