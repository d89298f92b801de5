"""Write the reference part of the site from the code, so that it cannot disagree with it.

    python -m railyard.reference FOLDER

One module per kind of thing. Each has a function `page` that returns the page's Markdown. A test fails if anything has
no description. Leaves out the commands, which sphinx-click describes, and how the pages become HTML (docs/conf.py).
"""
