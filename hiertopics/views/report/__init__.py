"""``report``: a run as one page that needs no network, and the data behind it.

writing: the command. gathering: the parts of the data (docs/report.md, "The data"), of which
topics, documents, sides, card and matching make one each. fitting_in: what stays where the page
would be too large. assembling: from parts and the files under ``page`` to HTML.
"""
