"""Write the reference part of the site from the code, so that it cannot disagree with it.

    python -m railyard.reference FOLDER

One module per kind of thing. Each has a function `page` that returns the page's Markdown, and a function
`undocumented` that returns the names without a description. A test fails if any is left. Leaves out how the pages
become HTML (docs/conf.py).
"""
